"""Jupyter notebooks (nbformat 3 and 4): prose as Markdown, code as code, and the outputs that are text."""

from __future__ import annotations

from typing import Any

from streams.extract.json_values import Members, plain
from streams.extract.markdown import MarkdownPart, read_markdown
from streams.extract.outcome import Draft
from streams.records import Block, BlockKind, BlockSource, Dropped

_TEXT_OUTPUTS = ("text/markdown", "text/plain", "text")
"""Keys of an output's data that are text, in the order of preference; `text` in nbformat 3."""


def is_notebook(value: Any) -> bool:
    """Whether a JSON value is a notebook."""
    return isinstance(value, Members) and value.get("nbformat") is not None and bool(_cells(value))


def _cells(value: Members) -> list[Members]:
    cells = value.get("cells")
    if cells is None:  # nbformat 3
        sheets = value.get("worksheets")
        cells = [
            cell
            for sheet in (sheets if isinstance(sheets, list) else [])
            if isinstance(sheet, Members) and isinstance(sheet.get("cells"), list)
            for cell in sheet.get("cells")
        ]
    return [cell for cell in cells if isinstance(cell, Members)] if isinstance(cells, list) else []


def notebook(value: Members) -> Draft:
    """The cells in their order. Pictures and other outputs without text are dropped and counted."""
    parts = MarkdownPart()
    dropped = 0
    for cell in _cells(value):
        kind, source = cell.get("cell_type"), _text(cell.get("source") or cell.get("input"))
        if kind in ("markdown", "heading"):
            level = cell.get("level")
            parts.add(read_markdown(f"{'#' * int(plain(level))} {source}" if _is_level(level) else source))
        elif source.strip():
            parts.blocks.append(Block(kind=BlockKind.CODE, text=source, source=BlockSource.MARKUP))
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            dropped += _output(output, parts)
    metadata = value.get("metadata")
    language = metadata.get("language_info") if isinstance(metadata, Members) else None
    name = language.get("name") if isinstance(language, Members) else None
    title = metadata.get("title") if isinstance(metadata, Members) else None
    return Draft(
        blocks=parts.blocks,
        tables=parts.tables,
        refs=parts.refs,
        title=title if isinstance(title, str) else None,
        metadata={"notebook_language": name} if isinstance(name, str) else {},
        warnings=sorted(parts.warnings),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(parts.dropped.items())]
        + ([Dropped(what="output_without_text", count=dropped)] if dropped else []),
    )


def _is_level(value: Any) -> bool:
    return value is not None and plain(value) in ("1", "2", "3", "4", "5", "6")


def _text(value: Any) -> str:
    """A text, or the lines of one."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _output(output: Any, parts: MarkdownPart) -> int:
    """The text of one output; 1 when it has none."""
    if not isinstance(output, Members):
        return 1
    data = output.get("data")
    held = data if isinstance(data, Members) else output
    text = next((found for key in _TEXT_OUTPUTS if (found := _text(held.get(key)))), "")
    if not text and output.get("output_type") in ("error", "pyerr"):
        text = f"{plain(output.get('ename'))}: {plain(output.get('evalue'))}"
    if not text.strip():
        return 1
    parts.blocks.append(Block(kind=BlockKind.CODE, text=text, source=BlockSource.MARKUP))
    return 0
