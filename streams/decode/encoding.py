"""Which encoding a text is in: BOM, HTTP, declaration inside, then how the candidates read (R-DEC-3, R-DEC-4)."""

from __future__ import annotations

import codecs
import math
import re
from pathlib import Path

import msgspec

from streams.decode.escapes import escaped
from streams.decode.judge import READINGS, Reading, judge
from streams.decode.labels import codec_of, resolve
from streams.decode.opinions import second_opinions
from streams.decode.survey import Survey, count_errors, survey
from streams.decode.wide import without_bom
from streams.records import Candidate

MAX_CANDIDATES = 5
SURE = 0.8
"""Confidence below which other detectors are asked for candidates."""
GUESS = 0.5
"""Confidence below which an encoding is a guess, and says so (R-DEC-4)."""
ABOUT_AS_GOOD = 0.3
"""Difference of two readings' scores that a damaged character in the whole file outweighs."""
SEVEN_BITS = frozenset({"utf-7", "hz-gb-2312", "iso-2022-kr", "iso-2022-jp"})

_HIGH = bytes(range(128, 256))
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose BOM it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_META = re.compile(rb"""<meta\b[^>]{0,400}?charset\s*=\s*["']?\s*([^\s"'/>;]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([^"']{1,40})["']""")
_CSS = re.compile(rb"""^@charset "([^"]{1,40})";""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';]{1,40})""", re.IGNORECASE)


class Encoding(msgspec.Struct, frozen=True, kw_only=True):
    """The encoding of a text, who said so, how sure that is (0..1); `judged`: how well it reads, where that decided."""

    name: str
    source: str  # bom, http, xml, meta, detected, default
    confidence: float
    candidates: list[Candidate] = []
    warnings: list[str] = []
    judged: float | None = None


def bom_of(head: bytes) -> tuple[str, int] | None:
    """Encoding and length of the byte order mark at the start, if there is one."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name, len(mark)
    return None


def http_charset(content_type: str | None) -> str | None:
    """The label in an HTTP Content-Type."""
    match = _CHARSET.search(content_type or "")
    return match[1] if match else None


def declared_inside(head: bytes, media_type: str) -> tuple[str, str] | None:
    """(label, where: `xml` or `meta`) that an HTML, XML or CSS text declares of itself.

    The prescan reads 4096 bytes; browsers read 1024 (WHATWG HTML, 13.2.3.2), generators often put more before it.
    """
    if media_type in ("text/html", "application/xhtml+xml", "application/xml", "image/svg+xml"):
        if match := _XML.search(head[:1024]):
            return match[1].decode("ascii", "replace"), "xml"
        if media_type in ("text/html", "application/xhtml+xml") and (match := _META.search(head[:4096])):
            return match[1].decode("ascii", "replace"), "meta"
    if match := _CSS.search(head[:100]):
        return match[1].decode("ascii", "replace"), "meta"
    return None


def determine(path: Path, size: int, head: bytes, media_type: str, http_content_type: str | None) -> Encoding:
    """The encoding of the text at `path`.

    Args:
        head: its first bytes (4 KiB or more).
        media_type: what the text seems to be, for where a declaration inside may stand.

    Order: BOM, HTTP charset, declaration inside, detection (R-DEC-3). UTF-8 that is valid over the whole file beats a
    label; a label that does not fit the bytes loses; both leave the warning `encoding_conflict`.
    """
    if bom := bom_of(head):
        errors = count_errors(path, bom[0])
        return Encoding(
            name=bom[0], source="bom", confidence=1.0 if not errors else 0.9, warnings=["invalid_bytes"] * bool(errors)
        )
    named, warnings = _labels(head, media_type, http_content_type)
    if name := without_bom(head):
        errors = count_errors(path, name)
        source = next((source for meant, source in named if _is_wide(meant) and name.startswith(meant[:6])), "detected")
        warnings += ["invalid_bytes"] * bool(errors)
        return Encoding(name=name, source=source, confidence=0.95, judged=3.0, warnings=warnings)
    # No UTF-16 after all: a label inside was itself read as ASCII (WHATWG HTML 13.2.3.2)
    named = [("utf-8" if _is_wide(meant) else meant, source) for meant, source in named]
    seen = survey(path, size)
    if seen.ascii:
        return _seven_bits(path, head, seen, named, warnings)
    if seen.valid_to is None:
        if seen.cut_at_end:
            warnings.append("truncated_character")
        source = next((source for meant, source in named if meant == "utf-8"), "detected")
        if any(meant != "utf-8" for meant, _ in named):
            warnings.append("encoding_conflict")
        return Encoding(name="utf-8", source=source, confidence=0.99, warnings=warnings)
    damaged = seen.good >= 50 * max(1, seen.bad)  # UTF-8 but for a few bytes; no other encoding looks like it
    for name, source in named:
        errors = seen.bad if name == "utf-8" else count_errors(path, name)
        if (errors * 1000 <= size and not (damaged and name != "utf-8")) and (
            name != "utf-8" or errors * 20 <= seen.good
        ):
            # A few damaged characters do not refute a label; one that misses every twentieth does.
            warnings += ["invalid_bytes"] * bool(errors) + ["encoding_conflict"] * (len({n for n, _ in named}) > 1)
            return Encoding(name=name, source=source, confidence=0.9 if errors else 0.95, warnings=warnings)
    if named:
        warnings.append("encoding_conflict")
    if seen.good >= 20 * max(1, seen.bad):
        return Encoding(name="utf-8", source="detected", confidence=0.9, warnings=[*warnings, "invalid_bytes"])
    return _detect(path, size, seen, warnings)


def _labels(head: bytes, media_type: str, http_content_type: str | None) -> tuple[list[tuple[str, str]], list[str]]:
    """(encoding, source) for each label, and the warnings that they give."""
    labels: list[tuple[str, str]] = []
    if label := http_charset(http_content_type):
        labels.append((label, "http"))
    if inside := declared_inside(head, media_type):
        labels.append(inside)
    meant = [(resolve(label), source) for label, source in labels]
    return [(name, source) for name, source in meant if name], ["unknown_charset"] * any(not name for name, _ in meant)


def _is_wide(name: str) -> bool:
    return name.startswith(("utf-16", "utf-32"))


def _seven_bits(path: Path, head: bytes, seen: Survey, named: list[tuple[str, str]], warnings: list[str]) -> Encoding:
    """Bytes below 128 only: ASCII, or an encoding that switches between alphabets."""
    found = escaped(seen.switches) or escaped(head)
    for name, source in named:
        if name == found or (name in SEVEN_BITS and not count_errors(path, name)):
            return Encoding(name=name, source=source, confidence=0.95, judged=3.0, warnings=warnings)
    if found is not None:
        warnings += ["encoding_conflict"] * bool(named) + ["invalid_bytes"] * bool(count_errors(path, found))
        return Encoding(name=found, source="detected", confidence=0.95, judged=3.0, warnings=warnings)
    for name, source in named:
        if name not in SEVEN_BITS:
            return Encoding(name=name, source=source, confidence=1.0, warnings=warnings)
    return Encoding(
        name="utf-8", source="detected", confidence=1.0, warnings=[*warnings, *["encoding_conflict"] * bool(named)]
    )


def _detect(path: Path, size: int, seen: Survey, warnings: list[str]) -> Encoding:
    sample = seen.sample
    evidence = len(sample) - len(sample.translate(None, _HIGH))
    readings = judge(sample, torn=seen.torn)
    if not readings or _confidence(readings[0], _rivals(readings), evidence) < SURE:
        others = [name for name in second_opinions(sample) if name not in READINGS]
        readings = judge(sample, others, seen.torn) if others else readings
    readings = _that_fit(path, size, readings)
    if not readings:
        return Encoding(
            name="windows-1252", source="default", confidence=0.1, judged=-5.0, warnings=[*warnings, "encoding_guess"]
        )
    best, errors = readings[0], count_errors(path, readings[0].encoding)
    rivals = _rivals(readings)
    confidence = _confidence(best, rivals, evidence)
    source, name = "detected", best.encoding
    if best.score <= 0:
        source, name, confidence = "default", "windows-1252", min(confidence, 0.2)  # as browsers do
        errors = count_errors(path, name)
    warnings = [*warnings, *["encoding_guess"] * (confidence < GUESS), *["invalid_bytes"] * bool(errors)]
    return Encoding(
        name=name,
        source=source,
        confidence=confidence,
        judged=best.score,
        warnings=warnings,
        candidates=[
            Candidate(encoding=r.encoding, confidence=_confidence(r, [best], evidence))
            for r in rivals
            if r.encoding != name
        ][:MAX_CANDIDATES],
    )


def _that_fit(path: Path, size: int, readings: list[Reading]) -> list[Reading]:
    """The readings without those before the first one that fits the whole file, not only the sample.

    One damaged character in a thousand bytes is let pass, unless a reading that is about as good has none.
    """
    damaged: Reading | None = None
    for index, reading in enumerate(readings[:MAX_CANDIDATES]):
        if damaged is not None and damaged.score - reading.score > ABOUT_AS_GOOD:
            break
        errors = count_errors(path, reading.encoding)
        if errors == 0:
            return readings[index:] if damaged is None else [reading, *(r for r in readings if r is not reading)]
        if damaged is None and errors * 1000 <= size:
            damaged = reading
    return readings if damaged is None else readings[readings.index(damaged) :]


def _rivals(readings: list[Reading]) -> list[Reading]:
    """Readings with another text than the best one: encodings that agree on every character are no rivals."""
    seen, rivals = {readings[0].text}, []
    for reading in readings[1:]:
        if reading.text not in seen:
            seen.add(reading.text)
            rivals.append(reading)
    return rivals


def _confidence(reading: Reading, rivals: list[Reading], evidence: int) -> float:
    """From the margin to the next reading, the number of telling bytes, and how well it reads at all."""
    margin = reading.score - rivals[0].score if rivals else 3.0
    sure = 0.5 + 0.5 * math.tanh(margin * math.sqrt(max(1, evidence)) / 6)
    reads = max(0.0, min(1.0, (reading.score + 1) / 3))
    return round(sure * reads, 3)


def read_text(path: Path, encoding: str) -> tuple[str, int]:
    """The whole text at `path` without its BOM, and how many characters could not be decoded.

    Line ends become `\\n`.
    """
    data = path.read_bytes()
    bom = bom_of(data[:4])
    if bom is not None and bom[0] == encoding:
        data = data[bom[1] :]
    codec = codec_of(encoding)
    try:
        text, errors = data.decode(codec), 0
    except UnicodeDecodeError:
        text = data.decode(codec, "replace")
        errors = text.count("\ufffd")
    return text.replace("\r\n", "\n").replace("\r", "\n"), errors


__all__ = ["Encoding", "bom_of", "determine", "http_charset", "read_text"]
