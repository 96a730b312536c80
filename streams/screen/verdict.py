"""From numbers to a verdict: is this text fit to be served, and if not, what is wrong with it (R-SCR-2, R-SCR-3)."""

from __future__ import annotations

from streams.records import NEEDS_RECOGNITION, BlockSource, CanonBody, Method, Outcome, PageScores, Screening
from streams.screen import scores as numbers
from streams.screen import words
from streams.screen.decoding import double_decoding_share, impossible_combinations
from streams.screen.language import detect_language, is_spaced, scripts
from streams.screen.layout import impossible, reading_orders, table_confidence
from streams.screen.policy import Policy, Thresholds
from streams.screen.scores import Part
from streams.screen.seams import columns_across
from streams.screen.spelling import signs_in_words, spelling
from streams.screen.undoing import read_wrongly, turned_around
from streams.screen.unspaced import characters
from streams.screen.words import Words

_INSTEAD = {
    "login_page": "a login page",
    "captcha_page": "a captcha",
    "gate_page": "a consent or error page",
    "script_shell": "the empty shell of an application",
}
"""What extractors find in the place of a document, by their warning."""

SVG = "image/svg+xml"
IMAGE_WITHOUT_TEXT = "image_without_text"

UNREAD_CONFIDENCE = 0.5
"""Confidence of a page at most, when nobody was there to read its language."""

_MOST_LISTS = 3
"""Lists of other languages that the words of a document are looked up in."""

_PART_LEAST, _PART_CHARS, _MOST_PARTS, _MOST = 60, 600, 24, 0.75
"""Lines by which a doubtful text is asked again for other languages: their size, how many, words to be known."""

_DIGITS = 4
"""Decimals of a stored score."""


def screen(body: CanonBody, policy: Policy, *, size: int, source: str | None = None) -> Screening:
    """Judges a canon. Pure: the same body and policy always get the same screening.

    Args:
        body: the canon.
        policy: thresholds, see `streams.screen.policy`.
        size: bytes of the original.
        source: registered name, where the policy has exceptions for it.

    Returns:
        Ready without problems, or quarantined with their codes; scores in both cases, and the extractor's warnings.
    """
    limits = policy.thresholds(media_type=body.media_type, language=body.language, source=source)
    case = _Case(body, limits, size)
    case.judge()
    # A picture that was damaged, or that recognition could not read, may well have text.
    if not (case.ink or case.problems.keys() & {"truncated", NEEDS_RECOGNITION}) and (
        body.media_type == SVG or (body.method is Method.OCR and body.media_type.startswith("image/"))
    ):
        message = "There is no text in it." if body.media_type == SVG else "Recognition found no text in it."
        return Screening(outcome=Outcome.SKIPPED, rule=IMAGE_WITHOUT_TEXT, error=message, policy=policy.id)
    return Screening(
        outcome=Outcome.QUARANTINED if case.problems else Outcome.READY,
        problems=list(case.problems),
        error="; ".join(f"{code}: {why}" for code, why in case.problems.items()) or None,
        warnings=list(dict.fromkeys(code for code in (*body.warnings, *case.warnings) if code not in case.problems)),
        scores=_rounded(case.scores),
        pages=[PageScores(number=n, scores=_rounded(s)) for n, s in case.pages.items()],
        policy=policy.id,
    )


def _rounded(found: dict[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in found.items()}


class _Case:
    """One document before the screen."""

    def __init__(self, body: CanonBody, limits: Thresholds, size: int) -> None:
        self.body, self.limits, self.size = body, limits, size
        self.parts = numbers.parts(body)
        self.whole = Part(None, "\n".join(p.prose for p in self.parts), "\n".join(p.loose for p in self.parts))
        self.ink = 0  # characters that are no space
        self.problems: dict[str, str] = {}  # code -> why, for a person
        self.warnings: list[str] = []
        self.scores: dict[str, float] = {}
        self.pages: dict[int, dict[str, float]] = {}
        self.damaged: dict[str, set[int]] = {}  # code -> pages

    def judge(self) -> None:
        self.scores, found = numbers.part_scores(self.whole)
        self.ink = found.ink
        self.scores["characters_per_kib"] = found.ink / max(self.size / 1024, 1)
        for part in self.parts:
            if part.number is not None:
                self.pages[part.number] = numbers.part_scores(part)[0]
        self._pages()
        self._kind_of_page()
        self._damaged_picture()
        if not found.ink:
            if self.limits.require_text:
                self._hold("empty_extraction", f"no text in {self.size} bytes")
            else:
                self.warnings.append("no_text")
            return
        self._characters()
        self._decoding()
        self._words()
        self._repetition()
        self._language_missing()
        self._layout()
        self._damaged_pages()
        self._recognition()

    def _hold(self, code: str, why: str) -> None:
        self.problems.setdefault(code, why)

    # --- pages ---------------------------------------------------------------------------------------------------

    def _pages(self) -> None:
        limits, body = self.limits, self.body
        characters = {p.number: numbers.amount_of_writing(p.text) for p in self.parts if p.number is not None}
        if not characters:
            return
        empty = [n for n, count in characters.items() if count < limits.near_empty_page_characters]
        self.scores["near_empty_pages"] = share = len(empty) / len(characters)
        if len(characters) >= limits.min_pages_for_near_empty and share > limits.max_near_empty_pages:
            self._hold("near_empty_pages", f"{len(empty)} of {len(characters)} pages have hardly any text")
        elif 0 < sum(characters.values()) < limits.min_page_characters:
            self._hold("near_empty_pages", f"{sum(characters.values())} characters in all")
        unread = numbers.unread_pages(
            body, characters, below=limits.near_empty_page_characters, min_area=limits.min_image_area
        )
        for page in body.pages:
            self.pages[page.number]["image_area"] = page.image_area
        self.scores["image_only_pages"] = share = len(unread) / len(characters)
        if share > limits.max_image_only_pages:
            self._hold(NEEDS_RECOGNITION, f"no text that can be read on page {_listed(unread)}")

    def _damaged_pages(self) -> None:
        """A code that single pages have: it holds the document when there are too many of them, else it is said."""
        some: set[int] = set()
        for code, pages in self.damaged.items():
            if len(pages) > self.limits.max_damaged_pages * len(self.pages):
                self._hold(code, f"on page {_listed(sorted(pages))}")
            elif code not in self.problems:
                some |= pages
        if some:
            self.scores["damaged_pages"] = len(some) / len(self.pages)
            self.warnings.append("damaged_pages")

    # --- characters ----------------------------------------------------------------------------------------------

    def _characters(self) -> None:
        limits = self.limits
        if not self.pages:  # else its pages decide, see `_damaged_pages`
            for code in self._broken_characters(self.scores):
                self._hold(code, _described(code, self.scores))
        for number, found in self.pages.items():
            for code in self._broken_characters(found):
                self.damaged.setdefault(code, set()).add(number)
        if self.scores["replacement"] and "replacement_chars" not in self.problems:
            self.warnings.append("replacement_chars")
        ink, share = numbers.letters_and_digits(self.whole.prose)
        if ink >= limits.min_characters:
            self.scores["letters_and_digits"] = share
            if share < limits.min_letters_and_digits:
                self._hold("low_letter_ratio", f"only {share:.0%} of the characters are letters or digits")
        prose = numbers.count_characters(self.whole.prose)
        if prose.ink >= limits.min_characters and prose.space > limits.max_space * prose.total:
            self._hold("excessive_whitespace", f"{prose.space / prose.total:.0%} of the text is white space")

    def _broken_characters(self, found: dict[str, float]) -> list[str]:
        limits = self.limits
        codes: list[str] = []
        if not found["characters"]:
            return codes
        paged = bool(self.body.pages)
        replacement = found["replacement"]
        if (
            found["cid_per_1000"] > limits.max_cid_per_1000
            or found["private_use"] > limits.max_private_use
            or (paged and max(replacement / limits.max_replacement_on_page, found["control"] / limits.max_control) > 1)
        ):
            codes.append("cid_leak")
        if not paged and found["control"] > limits.max_control:
            codes.append("mojibake")
        if found["replacement_in_words"] > limits.max_replacement:
            codes.append("replacement_chars")
        return codes

    def _decoding(self) -> None:
        limits, text = self.limits, self.whole.text
        self.scores["double_decoding"] = share = double_decoding_share(text)
        # All that it counts has letters beyond ASCII, and it is the slowest of all measures.
        lines = "\n".join(line for line in text.replace("\ufffd", "?").split("\n") if not line.isascii())
        self.scores["badness_per_1000"] = bad = 1000 * impossible_combinations(lines) / len(text)
        if share > limits.max_double_decoding:
            self._hold("mojibake", f"{share:.0%} of the special characters read as UTF-8 that was decoded wrongly")
        elif bad > limits.max_badness_per_1000:
            self._hold("mojibake", f"{bad:.0f} impossible combinations in 1000 characters")

    # --- words ---------------------------------------------------------------------------------------------------

    def _words(self) -> None:
        limits, prose = self.limits, self.whole.prose
        likely = (self.body.language, None if self.body.language else detect_language(prose)[0])
        tokens = numbers.spaced_words(prose)
        rate = numbers.dictionary_rate(prose, tokens, likely, enough=limits.doubtful_dictionary_rate)
        self.scores["dictionary_words"] = float(rate.words)
        self._judge_rate(rate)
        if len(self.pages) > 1:
            self._words_by_page(likely)
        if rate.known is not None and rate.code is not None and tokens:
            bad = self.damaged.get("low_dictionary_rate", set())  # pages that are counted elsewhere
            rest = [part.prose for part in self.parts if part.number not in bad]
            self._spelling(numbers.spaced_words("\n".join(rest)) or tokens if bad else tokens, rate.code)
            self._undone(tokens, rate.code)
        elif tokens is None or not words.list_for(self.body.language):
            self._unspaced()
        if rate.words < limits.min_dictionary_tokens and self.body.pages and self.whole.loose:
            text = self.whole.loose
            loose = numbers.dictionary_rate(
                text, numbers.spaced_words(text), likely, enough=limits.min_dictionary_rate_loose
            )
            if loose.value is not None and loose.words >= limits.min_dictionary_tokens:
                self.scores["dictionary_rate_loose"] = loose.value
                if loose.value < limits.min_dictionary_rate_loose:
                    self._hold("low_dictionary_rate", f"{loose.value:.0%} of {loose.words} words are known")
        lengths = numbers.token_lengths(tokens)
        if lengths is None:
            return
        self.scores["token_mean"], self.scores["token_max"] = lengths.mean, float(lengths.longest)
        if lengths.words * lengths.mean < limits.min_characters:
            return
        if not limits.min_token_mean <= lengths.mean <= limits.max_token_mean:
            self._hold("token_length", f"words have {lengths.mean:.1f} letters on average")
        elif lengths.long_share > limits.max_long_tokens:
            self._hold("token_length", f"{lengths.long_share:.0%} of the letters stand in words of more than 40")

    def _judge_rate(self, rate: numbers.Rate) -> None:
        limits = self.limits
        if rate.value is None:
            if rate.no_language is not None and rate.words >= limits.min_dictionary_tokens:
                self.scores["no_language"] = rate.no_language
                if rate.no_language > limits.max_no_language:
                    self._hold("low_dictionary_rate", f"{rate.words} words of no language")
            return
        self.scores["dictionary_rate"] = rate.value
        if rate.value < self._min_rate(rate.words):
            self._hold("low_dictionary_rate", f"{rate.value:.0%} of {rate.words} words are known")
        elif rate.value < limits.doubtful_dictionary_rate and rate.words >= limits.min_dictionary_tokens:
            self.warnings.append("doubtful_words")

    def _spelling(self, tokens: Words, code: str) -> None:
        """Words that no language has, where too many others are known for the rate alone to tell."""
        limits, prose = self.limits, self.whole.prose
        found = spelling(tokens, code, self._other_lists(code))
        doubtful = (
            words.has_accents(code)
            and found.special_garbled >= limits.min_broken_accents
            and found.special_garbled > limits.max_broken_accents * found.special
        )
        if doubtful or found.broken(code) > limits.max_broken_words:
            found = spelling(tokens, code, self._lists_of_parts(code, prose))
        broken, signs = found.broken(code), signs_in_words(prose)
        self.scores["garbled_words"], self.scores["glued_words"] = (
            found.garbled / found.words,
            found.glued / found.words,
        )
        self.scores["broken_words"] = broken
        self.scores["odd_case_words"] = odd = found.odd_case / found.words
        special, wrong = found.special + signs, found.special_garbled + signs
        accents = wrong / special if special and words.has_accents(code) else 0.0
        self.scores["broken_accents"] = accents
        if self.problems.keys() & {"mojibake", "low_dictionary_rate", "replacement_chars", "cid_leak"}:
            return  # it is known why
        if found.words < limits.min_dictionary_tokens:
            return  # greetings in ten languages
        if wrong >= limits.min_broken_accents and accents > limits.max_broken_accents and 2 * wrong > found.garbled:
            self._hold("mojibake", f"{wrong} of {special} words with letters beyond ASCII are spelt as none are")
        elif found.garbled + found.glued >= limits.min_broken_words and broken > limits.max_broken_words:
            if found.glued > found.garbled:
                self._hold("token_length", f"{found.glued} of {found.words} words are two without a space")
            else:
                self._hold("low_dictionary_rate", f"{found.garbled} of {found.words} words are spelt as none are")
        elif found.odd_case >= limits.min_broken_words and odd > limits.max_odd_case:
            self._hold("low_dictionary_rate", f"{odd:.0%} of the words are in capitals and small letters at random")

    def _undone(self, tokens: Words, code: str) -> None:
        """Words that are words when their damage is undone: few of them say more than many that nobody knows."""
        limits = self.limits
        if self.problems.keys() & {"mojibake", "low_dictionary_rate", "replacement_chars", "cid_leak"}:
            return  # it is known why
        turned, unknown = turned_around(tokens, code)
        self.scores["turned_around"] = share = turned / max(unknown, 1)
        if turned >= limits.min_undone and share > limits.max_turned_around:
            self._hold("low_dictionary_rate", f"{turned} of {unknown} words that are none are words backwards")
        if not words.is_latin(code):
            return
        mended, special = read_wrongly(self.whole.prose, tokens, code)
        self.scores["wrong_code_page"] = share = mended / max(special, 1)
        if mended >= limits.min_undone and share > limits.max_wrong_code_page:
            self._hold(
                "mojibake", f"{mended} of {special} words with special characters are words in another code page"
            )

    def _other_lists(self, code: str) -> list[str]:
        """Lists of the other languages that the document says it has parts in."""
        said = {self.body.language, *(block.language for block in self.body.blocks)}
        lists = {found for language in said if (found := words.list_for(language)) is not None}
        return sorted(lists - {code})[:_MOST_LISTS]

    def _lists_of_parts(self, code: str, prose: str) -> list[str]:
        """The same with what its parts are found to be in, where a list knows most of their words: costs more."""
        found = set(self._other_lists(code))
        lines = [line[:_PART_CHARS] for line in prose.split("\n") if len(line) >= _PART_LEAST]
        parts = lines[:: max(1, -(-len(lines) // _MOST_PARTS))]
        if prose == self.whole.prose and self.pages:
            parts += [page.prose[:_PART_CHARS] for page in self.parts[:_MOST_PARTS]]
        for part in parts:
            rate = numbers.dictionary_rate(part, numbers.spaced_words(part), (detect_language(part)[0],), enough=_MOST)
            if rate.code not in (None, code) and (rate.value or 0.0) >= _MOST:
                found.add(rate.code)
        return sorted(found)

    def _unspaced(self) -> None:
        """The same where no words stand apart."""
        limits, found = self.limits, characters(self.whole.prose, self.body.language)
        if found is None:
            return
        if found.misspelt is not None:
            self.scores["misspelt"] = found.misspelt
            if found.misspelt > limits.max_misspelt:
                self._hold("low_dictionary_rate", f"{found.misspelt:.1%} of the letters stand where none can")
        if found.in_pairs is not None and found.rare is not None:
            self.scores["known_pairs"], self.scores["rare_characters"] = found.in_pairs, found.rare
            if found.in_pairs < limits.min_known_pairs:
                self._hold("low_dictionary_rate", f"{found.in_pairs:.0%} of the characters stand as in words")
            elif found.rare > limits.max_rare_characters:
                self._hold("low_dictionary_rate", f"{found.rare:.1%} of the characters are hardly ever used")

    def _min_rate(self, words: int) -> float:
        enough = words >= self.limits.min_dictionary_tokens
        return self.limits.min_dictionary_rate if enough else self.limits.min_dictionary_rate_short

    def _words_by_page(self, likely: tuple[str | None, ...]) -> None:
        for part in self.parts:
            if part.number is None:
                continue
            found = self.pages[part.number]
            tokens = numbers.spaced_words(part.prose)
            rate = numbers.dictionary_rate(part.prose, tokens, likely, enough=self.limits.min_dictionary_rate)
            if rate.value is not None:
                found["dictionary_rate"] = rate.value
                if rate.code is not None and tokens:
                    spelt = spelling(tokens, rate.code, self._other_lists(rate.code))
                    if spelt.broken(rate.code) > self.limits.max_broken_words_on_page:
                        spelt = spelling(tokens, rate.code, self._lists_of_parts(rate.code, part.prose))
                    found["broken_words"] = broken = spelt.broken(rate.code)
                    many = spelt.garbled + spelt.glued >= self.limits.min_broken_words
                    if many and broken > self.limits.max_broken_words_on_page:
                        self.damaged.setdefault("low_dictionary_rate", set()).add(part.number)
                if rate.value < self._min_rate(rate.words):
                    self.damaged.setdefault("low_dictionary_rate", set()).add(part.number)
            lengths = numbers.token_lengths(tokens)
            if lengths is not None:
                found["token_mean"], found["token_max"] = lengths.mean, float(lengths.longest)

    # --- the rest ------------------------------------------------------------------------------------------------

    def _repetition(self) -> None:
        limits, kept = self.limits, numbers.without_copies(self.parts)
        if len(kept) < len(self.parts):
            self.scores["repeated_pages"] = (len(self.parts) - len(kept)) / len(self.parts)
            self.warnings.append("repeated_pages")
        prose = "\n".join(part.prose for part in kept)
        self.scores["repeated_lines"] = lines = numbers.repeated_lines(prose)
        self.scores["repeated_ngrams"] = runs = numbers.repeated_ngrams(prose)
        if lines > limits.max_repeated_lines:
            self._hold("too_repetitive", f"{lines:.0%} of the text are lines that came before")
        elif runs > limits.max_repeated_ngrams:
            self._hold("too_repetitive", f"{runs:.0%} of the text came before, word for word")

    def _layout(self) -> None:
        limits, orders = self.limits, reading_orders(self.body)
        for number, sure in orders.items():
            self.pages[number]["reading_order"] = sure
            if sure < limits.min_reading_order:
                self.damaged.setdefault("reading_order", set()).add(number)
        if orders:
            self.scores["reading_order"] = min(orders.values())
        spaced = is_spaced(scripts(self.whole.prose))
        self.scores["columns_across"] = across = columns_across(numbers.stretches(self.body), spaced=spaced)
        if across > limits.max_columns_across:
            self._hold("reading_order", "text goes on after the next line, as where columns are read across")
        tables = self.body.tables
        if tables:
            wrong = impossible(tables)
            self.scores["impossible_tables"] = len(wrong) / len(tables)
            if (sure_of := table_confidence(tables)) is not None:
                self.scores["table_confidence"] = sure_of
            if len(wrong) > limits.max_impossible_tables * len(tables):
                shown = ", ".join(str(index + 1) for index in wrong[:10])
                self._hold("impossible_table", f"cells overlap or lie outside in table {shown} of {len(tables)}")

    def _kind_of_page(self) -> None:
        """The extractor saw that this is not the document, only what stands in its place."""
        if "not_content" in self.body.warnings:
            kinds = [code for code in self.body.warnings if code in _INSTEAD]
            self._hold("not_content", " and ".join(_INSTEAD[code] for code in kinds) or "no content of its own")

    def _damaged_picture(self) -> None:
        """What stood on the part that is missing, nobody can tell."""
        if self.body.media_type.startswith("image/") and "truncated" in self.body.warnings:
            self._hold("truncated", "the picture's data are damaged or end early")

    def _language_missing(self) -> None:
        """Pages that no installed model could read; recognition gives them no more than this confidence."""
        code = "recognition_language_missing"
        if code in self.body.warnings:
            self.damaged[code] = {
                page.number
                for page in self.body.pages
                if page.source is BlockSource.OCR and (page.confidence or 0.0) <= UNREAD_CONFIDENCE and page.characters
            }

    def _recognition(self) -> None:
        confidence = self.body.confidence
        if self.body.method in (Method.OCR, Method.MIXED) and confidence is not None:
            self.scores["confidence"] = confidence
            if confidence < self.limits.min_ocr_confidence:
                self._hold("low_ocr_confidence", f"recognition was {confidence:.0%} sure")


def _described(code: str, found: dict[str, float]) -> str:
    if code == "replacement_chars":
        return f"{found['replacement']:.1%} of the characters could not be decoded"
    if code == "mojibake":
        return f"{found['control']:.1%} of the characters are control characters"
    return "the font gives glyph numbers instead of characters"


def _listed(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:10]))
    return shown if len(pages) <= 10 else f"{shown} and {len(pages) - 10} more"
