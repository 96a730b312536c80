"""The plain text of a mail as blocks: what is new, what it quotes, and the signature.

Sources: RFC 3676 (format=flowed, DelSp, the signature separator), RFC 9580 6 and 7 (ASCII armour, cleartext
signatures), RFC 1896 (text/enriched).
"""

from __future__ import annotations

import re

from streams.extract.mail_history import (
    MAX_SIGNATURE_LINES,
    Line,
    history_start,
    is_attribution,
    is_sent_from,
)
from streams.extract.text import paragraphs
from streams.records import Block, BlockKind, BlockSource

_QUOTE = re.compile(r"((?:>[ \t]?)+)(.*)", re.DOTALL)
_ARMOUR = re.compile(
    r"^-----BEGIN PGP (MESSAGE|PUBLIC KEY BLOCK|PRIVATE KEY BLOCK)[^\n]{0,40}-----[ \t]*\n.*?"
    r"(?:^-----END PGP \1[^\n]{0,40}-----[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_SIGNED = "-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE = "-----BEGIN PGP SIGNATURE-----"
_SIGNATURE_END = "-----END PGP SIGNATURE-----"
_ARMOUR_HEAD = re.compile(r"[ \t]*\n(?:[A-Za-z][A-Za-z-]{0,30}:[^\n]*\n)*\n?")
_DASHED = re.compile(r"^- ", re.MULTILINE)
_LIST_FOOTER = re.compile(r"_{40,}\s*")
_URL = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_ENRICHED = re.compile(r"<<|<(/?)([A-Za-z-]{1,60})>")
_PARAM = re.compile(r"<param>.*?</param>", re.IGNORECASE | re.DOTALL)
_LONE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
MAX_QUOTES = 100
"""Depth of quotes that is told; deeper ones count as this deep."""


def unflowed(text: str, *, delete_space: bool) -> list[Line]:
    """Lines of a text in format=flowed, those that go on joined (RFC 3676 4.2).

    Args:
        delete_space: DelSp=yes: the blank at the end of a line is not part of the text.
    """
    found: list[Line] = []
    waiting: list[str] = []
    depth = 0

    def end() -> None:
        if waiting:
            found.append(Line(depth, "".join(waiting)))
            waiting.clear()

    for raw in text.split("\n"):
        content = raw.lstrip(">")
        level = len(raw) - len(content)
        content = content.removeprefix(" ")
        is_signature = content == "-- "
        if level != depth or is_signature:
            end()
            depth = level
        if is_signature:
            found.append(Line(depth, content))
        elif content.endswith(" "):
            waiting.append(content[:-1] if delete_space else content)
        else:
            waiting.append(content)
            end()
    end()
    return found


def quoted_lines(text: str) -> list[Line]:
    """Lines of a text without flow, with the depth of their `>`."""
    found = []
    for raw in text.split("\n"):
        match = _QUOTE.match(raw)
        if match is None or raw.startswith(">From "):
            found.append(Line(0, raw.removeprefix(">") if raw.startswith(">From ") else raw))
        else:
            found.append(Line(min(match[1].count(">"), MAX_QUOTES), match[2]))
    return found


def text_blocks(text: str, *, flowed: bool = False, delete_space: bool = False) -> list[Block]:
    """The blocks of a text body: `paragraph`, `quote` (level: its depth, from 1) and `signature`."""
    lines = unflowed(text, delete_space=delete_space) if flowed else quoted_lines(text)
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].depth == lines[at].depth:
            end += 1
        run = [line.text for line in lines[at:end]]
        if lines[at].depth:
            _add(blocks, run, BlockKind.QUOTE, lines[at].depth)
        else:
            _own(blocks, run, quoted_next=end < len(lines), last=end == len(lines))
        at = end
    return blocks


def _own(blocks: list[Block], run: list[str], *, quoted_next: bool, last: bool) -> None:
    """Lines that are not quoted: text, the line above a quote, a signature, and an earlier message without marks."""
    start = history_start(run)
    history = run[start:] if start is not None else []
    run = run[:start] if start is not None else run
    above: list[str] = []
    if quoted_next and start is None:
        run, above = _attribution(run)
    at = _signature(run, last=last and start is None)
    _add(blocks, run[:at], BlockKind.PARAGRAPH, None)
    signature = run[at:]
    if signature and signature[0].strip() in ("--", "—"):
        signature = signature[1:]
    _add(blocks, signature, BlockKind.SIGNATURE, None)
    _add(blocks, [*history, *above], BlockKind.QUOTE, 1)


def _attribution(run: list[str]) -> tuple[list[str], list[str]]:
    """The run, and the line above the quote that follows it, of at most four lines."""
    end = len(run)
    while end and not run[end - 1].strip():
        end -= 1
    for count in range(1, 5):
        if count > end or not run[end - count].strip():
            break
        candidate = run[end - count : end]
        if is_attribution("\n".join(candidate)) and (
            count == 1
            or not is_attribution("\n".join(candidate[1:]))
            or candidate[0].lstrip().startswith(("On ", "Am "))
        ):
            longer = run[end - count - 1].strip() if end > count else ""
            if not longer or candidate[0].lstrip().startswith(
                ("On ", "Am ", "Le ", "El ", "Il ", "Op ", "W dniu", "Em ")
            ):
                return run[: end - count], candidate
    if end and is_attribution(run[end - 1]):
        return run[: end - 1], run[end - 1 : end]
    return run, []


def _signature(run: list[str], *, last: bool) -> int:
    """Where the signature begins; the length of the run where there is none."""
    after = 0  # lines with text below
    for index in range(len(run) - 1, -1, -1):
        line = run[index]
        if index + 1 < len(run) and run[index + 1].strip():
            after += 1
        if after > MAX_SIGNATURE_LINES:
            break
        if line in ("-- ", "--\u00a0") or (line.rstrip() == "--" and 0 < after <= 15):
            return index
        if last and _LIST_FOOTER.fullmatch(line) and 0 < after <= 10 and any(_URL.search(x) for x in run[index + 1 :]):
            before = _signature(run[:index], last=False)
            return min(before, index)
    for index in range(max(0, len(run) - 6), len(run)):
        if is_sent_from(run[index]) and sum(1 for each in run[index + 1 :] if each.strip()) <= 2:
            return index
    return len(run)


def _add(blocks: list[Block], lines: list[str], kind: BlockKind, level: int | None) -> None:
    text = "\n".join(lines)
    if not text.strip():
        return
    if kind is BlockKind.PARAGRAPH:
        blocks += paragraphs(text, None)
        return
    if kind is BlockKind.SIGNATURE:
        blocks.append(Block(kind=kind, text=text.strip("\n"), source=BlockSource.TEXT_LAYER))
        return
    blocks += [
        Block(kind=kind, text=part.text, level=level, source=BlockSource.TEXT_LAYER) for part in paragraphs(text, None)
    ]


def without_armour(text: str) -> tuple[str, int, int]:
    """The text without PGP's armour; how many encrypted messages and how many signatures it had.

    What is signed in clear text is the text. Keys are left out, too.
    """
    if "-----BEGIN PGP " not in text:
        return text, 0, 0
    text, signatures = _without_signatures(text)
    encrypted = sum(match[1] == "MESSAGE" for match in _ARMOUR.finditer(text))
    return _ARMOUR.sub("", text), encrypted, signatures


def _without_signatures(text: str) -> tuple[str, int]:
    """Cleartext signatures opened: their text stays, without the dashes that it was escaped with."""
    kept: list[str] = []
    at = count = 0
    while (begin := text.find(_SIGNED, at)) >= 0 and (middle := text.find(_SIGNATURE, begin)) >= 0:
        kept.append(text[at:begin])
        head = _ARMOUR_HEAD.match(text, begin + len(_SIGNED))
        kept.append(_DASHED.sub("", text[head.end() if head else begin + len(_SIGNED) : middle]))
        end = text.find(_SIGNATURE_END, middle)
        at = len(text) if end < 0 else end + len(_SIGNATURE_END)
        count += 1
    kept.append(text[at:])
    return "".join(kept), count


def from_enriched(text: str) -> str:
    """The text of text/enriched: commands out, single line breaks are blanks, of several one is none."""
    text = _PARAM.sub("", text)
    text = re.sub(r"\n+", lambda match: " " if len(match[0]) == 1 else match[0][1:], text)
    return _ENRICHED.sub(lambda match: "<" if match[0] == "<<" else "", text)


def from_richtext(text: str) -> str:
    """The text of the older text/richtext, in which `<nl>` breaks lines and `<lt>` is a `<` (RFC 1341 7.1.3)."""
    text = re.sub(r"<comment>.*?</comment>", "", text, flags=re.IGNORECASE | re.DOTALL)
    text = _LONE_BREAK.sub(" ", text)
    text = re.sub(r"<(?:nl|np)>", "\n", text, flags=re.IGNORECASE)
    text = re.sub(r"</?paragraph>", "\n\n", text, flags=re.IGNORECASE)
    return re.sub(r"<(/?[A-Za-z-]{1,60})>", lambda match: "<" if match[1].lower() == "lt" else "", text)
