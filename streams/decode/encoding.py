"""Which encoding a text is in: BOM, HTTP, declaration inside, then how the candidates read (R-DEC-3, R-DEC-4)."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from streams.decode.judge import READINGS, Reading, judge, read_as
from streams.decode.labels import codec_of, resolve
from streams.records import Candidate

CHUNK = 1 << 20
SAMPLE = 16_384
"""Bytes that the candidates are judged by: the lines with bytes beyond ASCII, from all over the file."""
MAX_CANDIDATES = 5

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
_ISO_2022_JP = re.compile(rb"\x1b\$[@B][\x21-\x7e]{2,}\x1b\([BJ]")


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


def utf16_without_bom(head: bytes) -> str | None:
    """UTF-16 that lacks a BOM, by where its zero bytes stand; None when they stand elsewhere."""
    sample = head[:4096]
    if len(sample) < 4 or sample.count(0) < len(sample) * 0.15:
        return None
    pairs = len(sample) // 2
    even, odd = sample[0 : pairs * 2 : 2].count(0), sample[1 : pairs * 2 : 2].count(0)
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros > pairs * 0.3 and others <= pairs * 0.02:
            text = sample[: pairs * 2].decode(name, "replace")
            odd_ones = sum(1 for c in text if (c < " " and c not in "\t\n\r\f") or c == "\ufffd")
            if odd_ones <= len(text) * 0.02:
                return name
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


def chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces of bounded size."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


class _Survey(msgspec.Struct):
    """One pass over the file: is it ASCII, is it UTF-8, and the lines that say which encoding it is otherwise."""

    ascii: bool = True
    valid_to: int | None = None  # offset of the first byte that is no UTF-8
    cut_at_end: bool = False  # the last character is incomplete
    good: int = 0  # multi-byte UTF-8 characters, counted only where there are errors
    bad: int = 0
    sample: bytes = b""


def _survey(path: Path, size: int) -> _Survey:
    seen = _Survey()
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    share = max(256, SAMPLE * CHUNK // max(size, CHUNK))
    for chunk in chunks(path):
        if not chunk.isascii():
            seen.ascii = False
            if len(seen.sample) < SAMPLE:
                seen.sample += _telling_lines(chunk, min(share, SAMPLE - len(seen.sample)))
        if seen.valid_to is None:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                seen.valid_to = offset + error.start
        offset += len(chunk)
    if seen.valid_to is None:
        try:
            decoder.decode(b"", True)
        except UnicodeDecodeError:
            seen.cut_at_end = True
    else:
        for chunk in chunks(path):
            text = chunk.decode("utf-8", "replace")
            seen.bad += text.count("\ufffd")
            seen.good += sum(1 for c in text[:200_000] if c > "\x7f" and c != "\ufffd")
            if seen.bad > 1000 and seen.bad * 20 > seen.good:
                break  # no UTF-8 with some damage, but another encoding
    return seen


def _telling_lines(chunk: bytes, budget: int) -> bytes:
    """Lines with bytes beyond ASCII; of a line that is too long, the surroundings of such bytes."""
    found: list[bytes] = []
    for line in chunk.split(b"\n"):
        if line.isascii():
            continue
        if len(line) > budget:
            start = next(i for i, byte in enumerate(line) if byte > 127)
            # Blanks are never the second byte of a character in any of the encodings: a safe place to cut.
            left = line.rfind(b" ", 0, start) + 1
            right = line.rfind(b" ", start, max(start, left) + budget)
            line = line[max(left, start - 200) : right if right > start else start + budget]
        found.append(line)
        budget -= len(line) + 1
        if budget <= 0:
            break
    return b"\n".join(found) + b"\n"


def count_errors(path: Path, encoding: str) -> int:
    """How many times the file does not fit the encoding; reads it in pieces."""
    decoder = codecs.getincrementaldecoder(codec_of(encoding))("replace")
    errors = 0
    for chunk in chunks(path):
        errors += decoder.decode(chunk).count("\ufffd")
    return errors + decoder.decode(b"", True).count("\ufffd")


def determine(path: Path, size: int, head: bytes, media_type: str, http_content_type: str | None) -> Encoding:
    """The encoding of the text at `path`.

    Args:
        head: its first bytes (4 KiB or more).
        media_type: what the text seems to be, for where a declaration inside may stand.

    Order: BOM, HTTP charset, declaration inside, detection. UTF-8 that is valid over the whole file beats a label; a
    label that does not fit the bytes loses; both leave the warning `encoding_conflict`.
    """
    if bom := bom_of(head):
        errors = count_errors(path, bom[0])
        return Encoding(
            name=bom[0], source="bom", confidence=1.0 if not errors else 0.9, warnings=["invalid_bytes"] * bool(errors)
        )
    if name := utf16_without_bom(head):
        errors = count_errors(path, name)
        return Encoding(
            name=name, source="detected", confidence=0.95, judged=3.0, warnings=["invalid_bytes"] * bool(errors)
        )
    labels: list[tuple[str, str]] = []
    if label := http_charset(http_content_type):
        labels.append((label, "http"))
    if inside := declared_inside(head, media_type):
        labels.append(inside)
    warnings: list[str] = []
    named: list[tuple[str, str]] = []
    for label, source in labels:
        meant = resolve(label)
        if meant is None:
            warnings.append("unknown_charset")
        elif meant.startswith(("utf-16", "utf-32")):
            named.append(("utf-8", source))  # it can't be: the label itself was read as ASCII (WHATWG HTML 13.2.3.2)
        else:
            named.append((meant, source))
    survey = _survey(path, size)
    if survey.ascii and _ISO_2022_JP.search(head) and not survey.valid_to:
        source = next((s for n, s in named if n == "iso-2022-jp"), "detected")
        return Encoding(name="iso-2022-jp", source=source, confidence=0.95, judged=3.0, warnings=warnings)
    if survey.ascii:
        if named:
            return Encoding(name=named[0][0], source=named[0][1], confidence=1.0, warnings=warnings)
        return Encoding(name="utf-8", source="detected", confidence=1.0, warnings=warnings)
    if survey.valid_to is None:
        if survey.cut_at_end:
            warnings.append("truncated_character")
        source = next((s for n, s in named if n == "utf-8"), "detected")
        if any(n != "utf-8" for n, _ in named):
            warnings.append("encoding_conflict")
        return Encoding(name="utf-8", source=source, confidence=0.99, warnings=warnings)
    for name, source in named:
        errors = survey.bad if name == "utf-8" else count_errors(path, name)
        if errors * 1000 <= size and (name != "utf-8" or errors * 20 <= survey.good):
            # A few damaged characters do not refute a label; one that misses every twentieth does.
            warnings += ["invalid_bytes"] * bool(errors) + ["encoding_conflict"] * (len({n for n, _ in named}) > 1)
            return Encoding(name=name, source=source, confidence=0.9 if errors else 0.95, warnings=warnings)
    if named:
        warnings.append("encoding_conflict")
    if survey.good >= 20 * max(1, survey.bad):
        return Encoding(name="utf-8", source="detected", confidence=0.9, warnings=[*warnings, "invalid_bytes"])
    return _detect(path, survey.sample, warnings)


def _detect(path: Path, sample: bytes, warnings: list[str]) -> Encoding:
    readings = judge(sample)
    if not readings:
        return Encoding(
            name="windows-1252", source="default", confidence=0.1, judged=-5.0, warnings=[*warnings, "encoding_guess"]
        )
    best = readings[0]
    evidence = sum(1 for byte in sample if byte > 127)
    rivals = _rivals(readings)
    confidence = _confidence(best, rivals, evidence)
    if confidence < 0.8 and (other := _second_opinion(sample)) is not None and other != best.encoding:
        voted = next((r for r in readings if r.encoding == other), None)
        if voted is not None and voted.text != best.text and best.score - voted.score < 0.4 and voted.score > 0:
            best, rivals = voted, [best, *(r for r in rivals if r.encoding != other)]
            confidence = min(confidence, 0.6)
    source, name = "detected", best.encoding
    if best.score <= 0:
        source, name, confidence = "default", "windows-1252", min(confidence, 0.2)  # as browsers do
    if confidence < 0.5:
        warnings = [*warnings, "encoding_guess"]
    if count_errors(path, name):
        warnings = [*warnings, "invalid_bytes"]
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


def _second_opinion(sample: bytes) -> str | None:
    """charset-normalizer's answer, where it is among the encodings that are tried here."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample[:4096]).best()
    name = resolve(best.encoding) if best is not None else None
    if name == "gbk":
        name = "gb18030"
    return name if name in READINGS else None


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


__all__ = ["Encoding", "bom_of", "chunks", "determine", "http_charset", "read_as", "read_text", "utf16_without_bom"]
