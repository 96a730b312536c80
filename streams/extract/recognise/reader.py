"""One page from pixels to lines: upright, straight, large enough, and in the right language, each only when in doubt.

Most pages lie as they should and are in the expected language, so a page is read first and doubted afterwards: a sure
reading ends the work, and an ordinary page costs one run of the engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from statistics import median

import msgspec
from PIL import Image

from streams.extract.boxes import around
from streams.extract.recognise import languages as by_language
from streams.extract.recognise.engine import Engine, Orientation, SeenLine, SeenWord
from streams.extract.recognise.leaders import without_leaders
from streams.extract.recognise.places import parts_of, placed, turned_lines
from streams.extract.recognise.rules import without_rules
from streams.extract.recognise.skew import WORTH_MENDING, is_blank, is_dark, skew
from streams.extract.recognise.unread import unread
from streams.extract.tools.pillow import inverted, resized, straightened, turned

SURE = 0.75
"""Mean confidence of a reading that is not doubted. Upright pages have 0.94, pages upside down 0.28 to 0.43."""

CLEAR = 0.88
"""Mean confidence of type that need not be larger."""

NOISE = 0.4
"""Mean confidence of a line below which it is taken for noise."""

NOISE_PARAGRAPH = 0.5
"""The same for a paragraph."""

WORD = 0.6
"""Confidence of a word that counts as read."""

_TRIAL_PIXELS = 2_200_000  # A4 at 150 dpi: enough to tell up from down
_LARGE_TYPE = 30.0  # pixels from descender to ascender: larger type is not read better; the models were made for 36
_TINY_TYPE = 13.0  # smaller type is read better enlarged, however sure the engine is
_FEW_PIXELS = 1_000_000  # of a whole page: A4 at 100 dpi
_SURE_OF_SCRIPT = 1.0
_SURE_OF_UPRIGHT = 5.0
_UNREAD_SHARE = 0.12  # of the letters, in paragraphs that could not be read: another script may be theirs
_UNREAD_LETTERS = 30
_AS_GOOD = 0.97  # of the evidence of a reading: one in the right language may be as sure as one in a wrong one
_MOST_PARTS = 6  # of a page, in other languages: the engine takes a tenth of a second to start
_MARGIN = 8  # pixels around a part of a page

Enlarge = Callable[[float], Image.Image | None]
"""The same page, so many times as large; None where that would be too many pixels."""

_Sized = tuple[Image.Image, float]
"""A page, and how many of its pixels are one of the page that was given."""


class Reading(msgspec.Struct, kw_only=True):
    """A page as read. Boxes are in pixels of the page turned and straightened, `size` is its width and height."""

    lines: list[SeenLine]
    size: tuple[int, int]
    factor: float = 1.0  # pixels of this reading for each pixel of the page that was given
    turn: int = 0  # degrees clockwise by which the page was turned to be upright
    skew: float = 0.0  # degrees clockwise by which its lines sank
    languages: tuple[str, ...] = ()
    seen: Image.Image | None = None  # the page as the engine saw it, while it is worked on

    @property
    def words(self) -> list[SeenWord]:
        return [word for line in self.lines for word in line.words]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def confidence(self) -> float | None:
        return confidence(self.words)

    @property
    def evidence(self) -> float:
        return evidence(self.words)

    @property
    def is_sure(self) -> bool:
        mean = self.confidence
        return mean is not None and mean >= SURE and any(_is_read(word) for word in self.words)


def letters(text: str) -> int:
    """Letters and digits of a text."""
    return sum(map(str.isalnum, text))


def confidence(words: Sequence[SeenWord]) -> float | None:
    """Mean confidence, weighted by letters; None where there are none."""
    total = sum(letters(word.text) for word in words)
    return sum(letters(word.text) * word.confidence for word in words) / total if total else None


def evidence(words: Sequence[SeenWord]) -> float:
    """Letters that were read for sure, less those that were guessed."""
    return sum(letters(word.text) * (word.confidence - 0.5) for word in words)


def _is_read(word: SeenWord) -> bool:
    return word.confidence >= 0.8 and letters(word.text) >= 3


class Reader:
    """Reads the pages of one document, one after the other; a language that a page was found in is the next guess."""

    def __init__(self, engine: Engine, wanted: Sequence[str], *, seconds: float) -> None:
        """
        Args:
            wanted: languages (ISO 639-1), best guess first.
            seconds: for all questions about one page.
        """
        self._engine = engine
        self._seconds = seconds
        self._until = 0.0  # of the page that is read now
        self._installed = engine.languages()
        self._wanted = tuple(wanted)
        self._now: tuple[str, ...] = (by_language.first_choice(wanted, self._installed),)
        self.missing: set[str] = set()  # languages of the document without a model

    def read(self, page: Image.Image, enlarge: Enlarge, *, dpi: int | None) -> tuple[Reading, bool]:
        """The best reading of a page, and whether a model for its language is missing.

        Args:
            page: grey, as displayed.
            enlarge: gives the page in more pixels, for small type.
            dpi: pixels per inch, where known.

        Raises:
            EngineFailed: an answer is missing. A reading without it may look whole, and another machine would have it.
        """
        self._until = time.monotonic() + self._seconds
        if is_blank(page):
            return Reading(lines=[], size=page.size, languages=self._now), False
        dark = is_dark(page)
        image = inverted(page) if dark else page
        reading = self._attempt(image, 0, self._now, dpi)
        script_missing: str | None = None
        if (lying := _lying(reading)) != 0:
            reading = self._stood_up(image, reading, lying, dpi)
        if not reading.is_sure:
            reading, script_missing = self._doubted(image, reading, dpi)
        reading = self._larger(reading, enlarge, dark, dpi)
        reading, missing = self._in_its_language(image, enlarge, dark, reading, dpi)
        reading = msgspec.structs.replace(self._with_rest(reading, dpi), seen=None)
        if missing is None and not reading.is_sure:
            missing = script_missing
        if missing is not None:
            self.missing.add(missing)
        return reading, missing is not None

    def _attempt(
        self, image: Image.Image, turn: int, languages: tuple[str, ...], dpi: int | None, factor: float = 1.0
    ) -> Reading:
        upright = turned(image, turn)
        angle = skew(upright)
        if abs(angle) < WORTH_MENDING:
            angle = 0.0
        else:
            upright = straightened(upright, -angle)
        seen = without_rules(upright)
        lines = without_leaders(self._engine.read(seen, languages, dpi=dpi, seconds=self._left()))
        return Reading(
            lines=lines,
            size=upright.size,
            factor=factor,
            turn=turn,
            skew=angle,
            languages=tuple(languages),
            seen=seen,
        )

    def _left(self) -> float:
        """Seconds that are left for the page."""
        return max(0.001, self._until - time.monotonic())

    # --- which way is up -----------------------------------------------------------------------------------------

    def _stood_up(self, image: Image.Image, reading: Reading, lying: int, dpi: int | None) -> Reading:
        """A page whose lines run up or down, turned so that they run to the right; up and down are often mistaken."""
        turn = (360 - lying) % 360
        if reading.is_sure and abs(skew(turned(image, turn))) < WORTH_MENDING:
            # the engine turned the lines itself, and reads them no better again
            return msgspec.structs.replace(
                reading,
                lines=turned_lines(reading.lines, reading.size, turn),
                size=reading.size[::-1],
                turn=turn,
                seen=reading.seen and turned(reading.seen, turn),
            )
        for degrees in (turn, (turn + 180) % 360) if reading.is_sure else ((turn + 180) % 360, turn):
            upright = self._attempt(image, degrees, self._now, dpi)
            if upright.is_sure:
                return upright
        return reading

    def _doubted(self, image: Image.Image, first: Reading, dpi: int | None) -> tuple[Reading, str | None]:
        """The page turned, or read as another script, where that reads better; a script that no model reads."""
        shrink = min(1.0, (_TRIAL_PIXELS / (image.width * image.height)) ** 0.5)
        small = resized(image, shrink) if shrink < 1 else image
        small_dpi = round(dpi * shrink) if dpi else None
        told = self._engine.orientation(small, seconds=self._left())
        scripts = self._languages_of(told)
        missing = None
        if told is not None and not scripts and told.script_confidence >= _SURE_OF_SCRIPT:
            missing = by_language.BY_SCRIPT.get(told.script, (None,))[0]
            if missing is not None and by_language.script_of(missing) in map(by_language.script_of, self._now):
                missing = None
        if told is not None and told.turn == 0 and told.confidence >= _SURE_OF_UPRIGHT and not scripts:
            return first, missing
        order = list(dict.fromkeys(([told.turn] if told else []) + [0, 180, 90, 270]))
        best = self._attempt(small, 0, self._now, small_dpi) if shrink < 1 else first
        chosen = best
        for turn in order:
            for languages in dict.fromkeys((self._now, *((code,) for code in scripts))):
                if turn == 0 and languages == self._now:
                    continue
                trial = self._attempt(small, turn, languages, small_dpi)
                if trial.evidence > max(chosen.evidence, 0.0) and _is_surer(trial, chosen):
                    chosen = trial
            if chosen.is_sure and chosen is not best:
                break
        if chosen is best:
            lying = _lying(best) if best.is_sure else 0
            if lying == 0:
                return first, missing
            chosen = msgspec.structs.replace(best, turn=(360 - lying) % 360)
            shrink = min(shrink, 0.99)  # lines were read as they lie, so the page has to be read again upright
        self._now = chosen.languages
        if shrink == 1:
            return chosen, missing
        whole = self._attempt(image, chosen.turn, chosen.languages, dpi)
        return (whole if whole.evidence > first.evidence else first), missing

    def _languages_of(self, told: Orientation | None) -> list[str]:
        """Installed languages of another script than the present one, the two most written."""
        if told is None or told.script in map(by_language.script_of, self._now):
            return []
        wanted = [code for code in self._wanted if by_language.script_of(code) == told.script]
        known = by_language.BY_SCRIPT.get(told.script, ("en",))
        return [code for code in dict.fromkeys((*wanted, *known)) if code in self._installed][:2]

    # --- how large -----------------------------------------------------------------------------------------------

    def _larger(self, reading: Reading, enlarge: Enlarge, dark: bool, dpi: int | None) -> Reading:
        sizes = [line.size for line in reading.lines if letters(line.text) >= 3]
        if not sizes:
            return reading
        type_size = median(sizes)  # of type that is hard to read, a guess
        mean = reading.confidence or 0.0
        if type_size >= (_TINY_TYPE if mean >= CLEAR else _LARGE_TYPE):
            return reading
        factor = 3.0 if reading.size[0] * reading.size[1] < _FEW_PIXELS else 2.0
        page = enlarge(factor)
        if page is None:
            return reading
        image = inverted(page) if dark else page
        again = self._attempt(image, reading.turn, reading.languages, dpi and round(factor * dpi), factor)
        return again if again.evidence > reading.evidence else reading

    # --- in which language ---------------------------------------------------------------------------------------

    def _in_its_language(
        self, image: Image.Image, enlarge: Enlarge, dark: bool, reading: Reading, dpi: int | None
    ) -> tuple[Reading, str | None]:
        """The page read with the models of the languages that its text is in; one that has no model."""
        languages = reading.languages
        missing: str | None = None
        own = by_language.written_in(_read_text(reading), languages)
        if own is not None and own in self._installed:
            languages = (own,)
        elif own is not None:
            missing = own
        elif (wanted := self._wanted[:1]) and wanted[0] not in (*languages, *self._installed):
            # nothing says that the text is in the language that was read instead of the expected one
            known = by_language.rate(reading.text, languages[0])
            missing = None if known is not None and known >= by_language.GOOD_RATE else wanted[0]
        paragraphs = paragraphs_of(reading)
        unread = [p for p in paragraphs if (confidence(_words(p)) or 0) < WORD]
        count = sum(letters(line.text) for part in unread for line in part)
        if count >= max(_UNREAD_LETTERS, _UNREAD_SHARE * letters(reading.text)) and len(unread) < len(paragraphs):
            more, lost = self._script_of_parts(reading, unread)
            languages = (*languages, *more)
            missing = missing or lost
        if languages != reading.languages:
            whole, factor = _as_read(image, enlarge, dark, reading)
            again = self._attempt(whole, reading.turn, languages, dpi and round(dpi * factor), factor)
            if again.evidence >= _AS_GOOD * reading.evidence:
                self._now = again.languages
                return self._with_parts(again, dpi), missing
        return self._with_parts(reading, dpi), missing

    def _with_parts(self, reading: Reading, dpi: int | None) -> Reading:
        """The reading with the paragraphs in other languages read once more: those alone, for that is half the work."""
        paragraphs = paragraphs_of(reading)
        texts = [" ".join(line.text for line in lines) for lines in paragraphs]
        told = by_language.of_parts(texts, reading.languages)
        parts = parts_of(paragraphs, [code if code in self._installed else None for code in told])
        upright = reading.seen
        if not parts or upright is None:
            return reading
        languages = list(reading.languages)
        for numbers in parts[:_MOST_PARTS]:
            before = [line for number in numbers for line in paragraphs[number]]
            x0, y0, x1, y1 = around([line.box for line in before])
            left, top = max(0, int(x0) - _MARGIN), max(0, int(y0) - _MARGIN)
            right, bottom = min(upright.width, int(x1) + _MARGIN), min(upright.height, int(y1) + _MARGIN)
            with_both = (told[numbers[0]] or "", *reading.languages)
            lines = self._engine.read(
                upright.crop((left, top, right, bottom)),
                with_both,
                dpi=dpi and round(dpi * reading.factor),
                seconds=self._left(),
            )
            lines = placed(without_leaders(lines), left, top, numbers[0])
            if evidence(_words(lines)) >= _AS_GOOD * evidence(_words(before)):
                for number in numbers:
                    paragraphs[number] = []
                paragraphs[numbers[0]] = lines
                languages.append(with_both[0])
        found = [line for lines in paragraphs for line in lines]
        return msgspec.structs.replace(reading, lines=found, languages=tuple(dict.fromkeys(languages)))

    def _with_rest(self, reading: Reading, dpi: int | None) -> Reading:
        """The reading, and what it has passed over: read as one block, for it may have been taken for a picture."""
        rest = unread(reading.seen, reading.lines) if reading.seen is not None else None
        if rest is None:
            return reading
        dpi = dpi and round(dpi * reading.factor)
        lines = self._engine.read(rest, reading.languages, dpi=dpi, seconds=self._left(), block=True)
        found = [line for line in without_leaders(lines) if (confidence(line.words) or 0.0) >= WORD]
        number = len(paragraphs_of(reading))
        return msgspec.structs.replace(reading, lines=[*reading.lines, *placed(found, 0, 0, number)])

    def _script_of_parts(self, reading: Reading, parts: list[list[SeenLine]]) -> tuple[tuple[str, ...], str | None]:
        """An installed language for the parts of a page that could not be read, or one that has no model."""
        assert reading.seen is not None  # it has lines
        x0, y0, x1, y1 = map(int, around([line.box for part in parts for line in part]))
        part = reading.seen.crop((x0 - _MARGIN, y0 - _MARGIN, x1 + _MARGIN, y1 + _MARGIN))
        told = self._engine.orientation(part, seconds=self._left())
        if told is None or told.script in map(by_language.script_of, reading.languages):
            return (), None
        found = self._languages_of(told)
        if found:
            return (found[0],), None
        known = by_language.BY_SCRIPT.get(told.script)
        return (), known[0] if known and told.script_confidence >= _SURE_OF_SCRIPT else None


def _as_read(image: Image.Image, enlarge: Enlarge, dark: bool, reading: Reading) -> _Sized:
    """The page in the size in which it was read."""
    larger = enlarge(reading.factor) if reading.factor != 1.0 else None
    return (image, 1.0) if larger is None else (inverted(larger) if dark else larger, reading.factor)


def _is_surer(trial: Reading, other: Reading) -> bool:
    return (trial.confidence or 0.0) >= (other.confidence or 0.0) + 0.05


def _lying(reading: Reading) -> int:
    """Degrees clockwise by which most lines lie on the page; 0 where they are upright or can't be told."""
    count: dict[int, int] = {}
    for line in reading.lines:
        if len(line.words) > 1:
            count[line.turn] = count.get(line.turn, 0) + letters(line.text)
    if not count:
        return 0
    turn = max(count, key=lambda key: (count[key], -key))
    return turn if count[turn] > 0.6 * sum(count.values()) else 0


def paragraphs_of(reading: Reading) -> list[list[SeenLine]]:
    """Lines by the engine's paragraphs."""
    return [list(lines) for _, lines in groupby(reading.lines, key=lambda line: line.paragraph)]


def _words(lines: Sequence[SeenLine]) -> list[SeenWord]:
    return [word for line in lines for word in line.words]


def _read_text(reading: Reading) -> str:
    return " ".join(word.text for word in reading.words if word.confidence >= 0.3)


def without_noise(reading: Reading) -> tuple[list[SeenLine], int]:
    """Lines that say something, and the number of letters in those that are left out.

    A picture without text gives words that nobody wrote: short, and the engine is not sure of them. Where hardly any
    word of a page is sure, none of it is taken; elsewhere, the lines and paragraphs that were guessed. A doubtful line
    of a sure paragraph stays where all of its words are known: noise makes no words.
    """
    total = letters(reading.text)
    read = sum(letters(word.text) for word in reading.words if word.confidence >= WORD and letters(word.text) >= 2)
    if read < max(4, 0.15 * total):
        return [], total
    kept: list[SeenLine] = []
    for lines in paragraphs_of(reading):
        mean = confidence(_words(lines))
        if mean is None or mean < NOISE_PARAGRAPH:
            continue
        kept += [
            line
            for line in lines
            if (confidence(line.words) or 0.0) >= NOISE or by_language.all_known(line.text, reading.languages)
        ]
    return kept, total - sum(letters(line.text) for line in kept)
