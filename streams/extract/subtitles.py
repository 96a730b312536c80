"""Subtitles (SubRip, WebVTT, SubStation Alpha): a paragraph for each cue, its times as the marker, without styling."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from streams.errors import DocumentError
from streams.extract.outcome import Draft, Request
from streams.extract.text import source_text
from streams.records import Block, BlockKind, BlockSource, Dropped

_TIME = r"(?:\d{1,4}:)?\d{1,3}:\d{1,2}(?:[.,]\d{1,3})?"
_TIMES = re.compile(rf"[ \t]*({_TIME})[ \t]*-->[ \t]*({_TIME})[^\n]*")
_BLANK = re.compile(r"\n[ \t]*\n")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>\n]{1,200})>")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,500}>|<\d[\d:.]*>|\{\\[^}\n]{0,500}\}")
_SSA_BREAK = re.compile(r"\\[Nn]")
_SSA_HARD_BLANK = re.compile(r"\\h")


def extract(request: Request) -> Draft:
    """The cues of subtitles, and their number in the metadata.

    Errors: DocumentError `parser_error` when there is no cue. Remarks are comments; styles are dropped and counted;
    what stands between cues without a time is a paragraph of its own (warning `bad_cues`).
    """
    text, warnings, metadata = source_text(request, "utf-8")
    reader = _Reader()
    reading: Callable[[str], None] = reader.script if request.detection.media_type == "text/x-ssa" else reader.cues
    reading(text)
    if not reader.count:
        raise DocumentError("parser_error", "It has no cue with a time.")
    return Draft(
        blocks=reader.blocks,
        title=reader.title,
        warnings=warnings + ["bad_cues"] * reader.bad,
        metadata=metadata | {"cues": str(reader.count)},
        dropped=[Dropped(what="style", count=reader.styles)] if reader.styles else [],
    )


class _Reader:
    """Cues as blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.title: str | None = None
        self.count = self.styles = 0
        self.bad = False

    def _cue(self, start: str, end: str, text: str) -> None:
        self.count += 1
        if text.strip():
            marker = f"{start} --> {end}"
            self.blocks.append(
                Block(kind=BlockKind.PARAGRAPH, text=text.strip(), marker=marker, source=BlockSource.MARKUP)
            )

    def cues(self, text: str) -> None:
        """SubRip and WebVTT: parts between blank lines, each with its times in one of its first two lines."""
        for part in _BLANK.split(text.strip("\n")):
            lines = part.strip("\n").split("\n")
            at = next((n for n, line in enumerate(lines[:2]) if _TIMES.fullmatch(line)), None)
            if at is None:
                self._remark(part.strip(), lines[0])
                continue
            times = _TIMES.fullmatch(lines[at])
            if times is not None:
                self._cue(times[1], times[2], plain("\n".join(lines[at + 1 :])))

    def _remark(self, part: str, first: str) -> None:
        """What is no cue: the head of WebVTT, notes, styles, and damage."""
        if first.startswith("WEBVTT") and not self.blocks:
            self.title = first[6:].strip(" \t-") or None
        elif first.startswith("NOTE"):
            self.blocks.append(Block(kind=BlockKind.COMMENT, text=part[4:].strip(), source=BlockSource.MARKUP))
        elif first.strip() in ("STYLE", "REGION"):
            self.styles += 1
        elif part and not part.isdecimal():
            self.bad = True
            self.blocks.append(Block(kind=BlockKind.PARAGRAPH, text=plain(part), source=BlockSource.MARKUP))

    def script(self, text: str) -> None:
        """SubStation Alpha: the dialogue lines of [Events], by the names in their Format line."""
        columns = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]
        for line in text.split("\n"):
            key, colon, value = line.partition(":")
            key = key.strip().lower()
            if not colon:
                continue
            if key == "title":
                self.title = value.strip() or None
            elif key == "style":
                self.styles += 1
            elif key == "format" and "text" in value.lower():
                columns = [name.strip().lower() for name in value.split(",")]
            elif key in ("dialogue", "comment"):
                cells = dict(zip(columns, value.lstrip().split(",", len(columns) - 1), strict=False))
                said = _SSA_HARD_BLANK.sub(" ", _SSA_BREAK.sub("\n", plain(cells.get("text", ""))))
                speaker = cells.get("name", "").strip()
                if key == "comment":
                    self.blocks.append(Block(kind=BlockKind.COMMENT, text=said, source=BlockSource.MARKUP))
                else:
                    said = f"{speaker}: {said}" if speaker and said.strip() else said
                    self._cue(cells.get("start", "").strip(), cells.get("end", "").strip(), said)


def plain(text: str) -> str:
    """A cue without its tags; the speaker of a voice tag stands before what is said."""
    return html.unescape(_TAG.sub("", _SPEAKER.sub(r"\1: ", text)))
