"""Tesseract behind the protocol of engines: the one module that runs it; it is a process of its own for each image.

Where the library of the program is found, that process is a fork of one that has the models loaded; what it reads is
the same (tesseract_loaded.py).
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from lxml import etree
from PIL import Image

from streams.extract.recognise.engine import (
    EngineFailed,
    EngineTooSlow,
    EngineUnavailable,
    Orientation,
    PixelBox,
    SeenLine,
    SeenWord,
)
from streams.extract.tools.tesseract_process import loaded

PROGRAM = "tesseract"

MODELS: dict[str, tuple[str, ...]] = {
    "af": ("afr",), "am": ("amh",), "ar": ("ara",), "as": ("asm",), "az": ("aze",), "be": ("bel",), "bg": ("bul",),
    "bn": ("ben",), "bo": ("bod",), "br": ("bre",), "bs": ("bos",), "ca": ("cat",), "cs": ("ces",), "cy": ("cym",),
    "da": ("dan",), "de": ("deu",), "dv": ("div",), "dz": ("dzo",), "el": ("ell",), "en": ("eng",), "eo": ("epo",),
    "es": ("spa",), "et": ("est",), "eu": ("eus",), "fa": ("fas",), "fi": ("fin",), "fo": ("fao",), "fr": ("fra",),
    "fy": ("fry",), "ga": ("gle",), "gd": ("gla",), "gl": ("glg",), "gu": ("guj",), "he": ("heb",), "hi": ("hin",),
    "hr": ("hrv",), "ht": ("hat",), "hu": ("hun",), "hy": ("hye",), "id": ("ind",), "is": ("isl",), "it": ("ita",),
    "iu": ("iku",), "ja": ("jpn",), "jv": ("jav",), "ka": ("kat",), "kk": ("kaz",), "km": ("khm",), "kn": ("kan",),
    "ko": ("kor",), "ku": ("kmr",), "ky": ("kir",), "la": ("lat",), "lb": ("ltz",), "lo": ("lao",), "lt": ("lit",),
    "lv": ("lav",), "mi": ("mri",), "mk": ("mkd",), "ml": ("mal",), "mn": ("mon",), "mr": ("mar",), "ms": ("msa",),
    "mt": ("mlt",), "my": ("mya",), "nb": ("nor",), "ne": ("nep",), "nl": ("nld",), "nn": ("nor",), "no": ("nor",),
    "oc": ("oci",), "or": ("ori",), "pa": ("pan",), "pl": ("pol",), "ps": ("pus",), "pt": ("por",), "qu": ("que",),
    "ro": ("ron",), "ru": ("rus",), "sa": ("san",), "sd": ("snd",), "si": ("sin",), "sk": ("slk",), "sl": ("slv",),
    "sq": ("sqi",), "sr": ("srp", "srp_latn"), "su": ("sun",), "sv": ("swe",), "sw": ("swa",), "ta": ("tam",),
    "te": ("tel",), "tg": ("tgk",), "th": ("tha",), "ti": ("tir",), "tl": ("fil",), "to": ("ton",), "tr": ("tur",),
    "tt": ("tat",), "ug": ("uig",), "uk": ("ukr",), "ur": ("urd",), "uz": ("uzb",), "vi": ("vie",), "yi": ("yid",),
    "yo": ("yor",), "zh": ("chi_sim", "chi_tra"),
}  # fmt: skip
"""ISO 639-1 -> names of the models that serve the language; those of them that are installed are used together."""

_HEAD = 1 << 16  # bytes of a model that tell it from others, with its size
_BOX = re.compile(r"bbox (-?\d+) (-?\d+) (-?\d+) (-?\d+)")
_BASELINE = re.compile(r"baseline (-?[\d.]+) (-?[\d.]+)")
_SIZE = re.compile(r"x_size (-?[\d.]+)")
_CONFIDENCE = re.compile(r"x_wconf (\d+)")
_LINES = ("ocr_line", "ocr_header", "ocr_caption", "ocr_textfloat")
_MOST_ANSWER = 64 << 20  # bytes of hOCR; a page has less than one megabyte


class Tesseract:
    """The installed tesseract. Making one starts no process; the first question does."""

    name = "tesseract"

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program

    @property
    def version(self) -> str:
        """As it says itself: 5.3.0. Raises EngineUnavailable."""
        return _installed(self._program)[0]

    def languages(self) -> frozenset[str]:
        """ISO 639-1 codes of the installed models. Raises EngineUnavailable."""
        models = self.models()
        return frozenset(code for code, names in MODELS.items() if any(name in models for name in names))

    def models(self) -> frozenset[str]:
        """Names of the installed models, also of that for orientation (`osd`). Raises EngineUnavailable."""
        return _installed(self._program)[2]

    def identity(self) -> str:
        """16 hex digits of the version and of each model's name, size and first bytes. Raises EngineUnavailable."""
        return _identity(self._program)

    def read(
        self, image: Image.Image, languages: Sequence[str], *, dpi: int | None, seconds: float, block: bool = False
    ) -> list[SeenLine]:
        """Lines of a grey image, read with the models of these languages together; `block`: as one block of text.

        Raises:
            EngineFailed: it crashed, or took longer than so many seconds (EngineTooSlow).
            EngineUnavailable: it can't be started, or none of the languages is installed.
        """
        models = [name for code in languages for name in MODELS.get(code, ()) if name in _installed(self._program)[2]]
        if not models:
            raise EngineUnavailable(f"{self.name} has no model for {', '.join(languages) or 'any language'}.")
        names, layout = "+".join(dict.fromkeys(models)), 6 if block else 3
        version, folder, _ = _installed(self._program)
        ready = loaded(self._program, version, folder, names, _environment()) if folder else None
        if ready is not None:
            answer = ready.read(image, layout=layout, dpi=dpi, seconds=seconds, most=_MOST_ANSWER)
        else:
            resolution = ["--dpi", str(dpi)] if dpi else []
            # hocr_font_info would give guesses; the parameters of the output are those of the `hocr` configuration
            options = ["-l", names, "--psm", str(layout), *resolution, "-c", "tessedit_create_hocr=1"]
            answer = self._run(image, options, seconds)
        return list(parse_hocr(answer))

    def orientation(self, image: Image.Image, *, seconds: float) -> Orientation | None:
        """Which way is up, by its `osd` model; None without that model, and where it sees too few characters.

        Raises:
            EngineTooSlow: it took longer than so many seconds.
        """
        if "osd" not in _installed(self._program)[2]:
            return None
        try:
            answer = self._run(image, ["-l", "osd", "--psm", "0", "-c", "min_characters_to_try=16"], seconds)
        except EngineTooSlow:
            raise
        except EngineFailed:
            return None  # "Too few characters" ends as a failure
        found = {
            part[0].strip(): part[2].strip()
            for line in answer.decode("utf-8", "replace").splitlines()
            if (part := line.partition(":"))[1]
        }
        try:
            return Orientation(
                int(found["Rotate"]) % 360,
                float(found["Orientation confidence"]),
                found["Script"],
                float(found["Script confidence"]),
            )
        except (KeyError, ValueError):
            return None

    def _run(self, image: Image.Image, options: list[str], seconds: float) -> bytes:
        with tempfile.TemporaryFile(prefix="canonry.") as pixels:
            # Bare TIFF: leptonica reads PNM byte by byte, which costs a tenth of a page's whole time.
            image.save(pixels, "TIFF")
            pixels.seek(0)
            try:
                done = subprocess.run(
                    [self._program, "stdin", "stdout", *options],
                    stdin=pixels,
                    capture_output=True,
                    timeout=seconds,
                    env=_environment(),
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise EngineTooSlow(f"It took longer than {seconds:.0f} s.") from error
            except OSError as error:
                raise EngineUnavailable(f"{self._program} can't be started: {error.strerror or error}.") from error
        if done.returncode != 0 or len(done.stdout) > _MOST_ANSWER:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise EngineFailed(f"exit {done.returncode}: {said[-1][:200] if said else 'no message'}")
        return done.stdout


def _environment() -> dict[str, str]:
    """One thread for each process: pages run side by side, and more threads on one page gain nothing."""
    kept = {name: value for name in ("PATH", "TESSDATA_PREFIX", "LD_LIBRARY_PATH") if (value := os.environ.get(name))}
    return {**kept, "OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"}


@cache
def _installed(program: str) -> tuple[str, Path | None, frozenset[str]]:
    """Version, folder of the models, and their names."""
    said = []
    for option in ("--version", "--list-langs"):
        try:
            done = subprocess.run([program, option], capture_output=True, timeout=30, env=_environment(), check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineUnavailable(f"{program} can't be run: {error}.") from error
        said.append((done.stdout + b"\n" + done.stderr).decode("utf-8", "replace"))
    version = re.search(r"tesseract v?(\d[\w.\-]*)", said[0])
    if version is None:
        raise EngineUnavailable(f"{program} does not say its version.")
    folder = re.search(r'"([^"\n]+)"', said[1])
    names = frozenset(line.strip() for line in said[1].splitlines() if re.fullmatch(r"[\w/\-]+", line.strip()))
    return version[1], Path(folder[1]) if folder else None, names


@cache
def _identity(program: str) -> str:
    version, folder, names = _installed(program)
    digest = hashlib.sha256(version.encode())
    for name in sorted(names):
        digest.update(b"\0" + name.encode())
        path = folder / f"{name}.traineddata" if folder else None
        if path is not None and path.is_file():
            with path.open("rb") as file:
                digest.update(b"\0%d\0" % path.stat().st_size + file.read(_HEAD))
    return digest.hexdigest()[:16]


def parse_hocr(answer: bytes) -> Iterator[SeenLine]:
    """Lines of an hOCR page (hOCR 1.2: kba.github.io/hocr-spec). Words of white space only are left out."""
    if not answer.strip():
        return
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(answer, parser)
    except etree.XMLSyntaxError as error:
        raise EngineFailed(f"Its answer is no hOCR: {error}.") from error
    if root is None:
        return
    paragraph = 0
    for element in root.iter():
        kind = element.get("class") if isinstance(element.tag, str) else None
        if kind == "ocr_par":
            paragraph += 1
        elif kind in _LINES:
            line = _line(element, paragraph)
            if line is not None:
                yield line


def _line(element: etree._Element, paragraph: int) -> SeenLine | None:
    title = element.get("title") or ""
    box = _box(title)
    words = []
    for child in element.iter():
        if isinstance(child.tag, str) and child.get("class") == "ocrx_word":
            said = child.get("title") or ""
            text = "".join(str(part) for part in child.itertext()).strip()
            place, sure = _box(said), _CONFIDENCE.search(said)
            if text and place is not None:
                words.append(SeenWord(text, place, min(1.0, int(sure[1]) / 100) if sure else 0.0))
    if box is None or not words:
        return None
    slope, offset = (float(value) for value in found.groups()) if (found := _BASELINE.search(title)) else (0.0, 0.0)
    size = float(found[1]) if (found := _SIZE.search(title)) else box[3] - box[1]
    return SeenLine(
        words=words,
        box=box,
        base=box[3] + offset + slope * (box[2] - box[0]) / 2,
        size=max(1.0, size),
        turn=_turn(words),
        paragraph=paragraph,
    )


def _turn(words: list[SeenWord]) -> int:
    """How a line lies, by its words: upright ones are wider than high.

    hOCR's textangle would say it, but is missing more often than not. A line of one word tells nothing of up or down,
    and vertical lines of Chinese have square words.
    """
    (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = words[0].box, words[-1].box
    across, down = bx0 + bx1 - ax0 - ax1, by0 + by1 - ay0 - ay1
    letters = sum(len(word.text) for word in words)
    wide = sum(word.box[2] - word.box[0] for word in words)
    high = sum(word.box[3] - word.box[1] for word in words)
    if len(words) < 2 or letters < 2 * len(words):
        return 0
    if abs(down) > abs(across) and high > wide:
        return 90 if down > 0 else 270
    return 180 if across < 0 and abs(across) > abs(down) and wide > high and _runs_right(words) else 0


def _runs_right(words: list[SeenWord]) -> bool:
    """Whether most letters are of a script that runs from left to right."""
    text = "".join(word.text for word in words)
    return sum(unicodedata.bidirectional(character) == "L" for character in text) * 2 > len(text)


def _box(title: str) -> PixelBox | None:
    found = _BOX.search(title)
    if found is None:
        return None
    x0, y0, x1, y1 = (float(value) for value in found.groups())
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None
