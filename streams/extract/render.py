"""A canon for readers: Markdown, plain text, JSON, and the two views of a table (R-CAN-3, R-CAN-9)."""

from __future__ import annotations

import html
import re

import msgspec

from streams.records import FURNITURE, Block, BlockKind, CanonBody, Table

MAX_POSITIONS = 2_000_000
"""Positions (rows x columns) up to which a grid is spread out; beyond, its cells are listed row by row."""

_SPECIAL = re.compile(r"([\\`*_\[\]<])")
_BETWEEN_CELLS = "\x00"  # in no text of a canon
_LINE_START = re.compile(r"^(\s*)([#>+-]|\d+[.)])(?=\s|$)", re.MULTILINE)
_SAFE_TARGET = re.compile(r"(?:https?|mailto|ftp|tel):|[^:]*$|[/.#?]", re.IGNORECASE)


def table_rows(table: Table) -> list[list[str]]:
    """The grid as lists of text: a merged cell's text once, at its first position, "" elsewhere.

    A grid beyond `MAX_POSITIONS` is not padded: each row holds its own cells only.
    """
    if table.n_rows * table.n_cols > MAX_POSITIONS:
        sparse: dict[int, list[str]] = {}
        for cell in sorted(table.cells, key=lambda c: (c.row, c.col)):
            sparse.setdefault(cell.row, []).append(cell.text)
        return [sparse.get(row, []) for row in range(min(table.n_rows, max(sparse, default=-1) + 1))]
    rows = [[""] * table.n_cols for _ in range(table.n_rows)]
    for cell in table.cells:
        if 0 <= cell.row < table.n_rows and 0 <= cell.col < table.n_cols:
            rows[cell.row][cell.col] = cell.text
    return rows


def column_names(table: Table) -> list[str]:
    """One name per column: the texts of its header rows joined with " / ", a merged header naming all its columns.

    Columns without a name are called by their number; a name that comes again gets its number in brackets.
    """
    parts: list[list[str]] = [[] for _ in range(min(table.n_cols, MAX_POSITIONS))]
    for cell in sorted(table.cells, key=lambda c: (c.row, c.col)):
        if cell.row >= table.header_rows:
            continue
        text = " ".join(cell.text.split())
        for col in range(max(0, cell.col), min(cell.col + cell.col_span, len(parts))):
            if text and (not parts[col] or parts[col][-1] != text):
                parts[col].append(text)
    names: list[str] = []
    seen: dict[str, int] = {}
    for number, part in enumerate(parts, 1):
        name = " / ".join(part) or str(number)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def table_records(table: Table) -> list[dict[str, str]]:
    """Each body row as column=value; a cell over several rows stands in each, over several columns in the first."""
    if table.n_rows * table.n_cols > MAX_POSITIONS:
        return []
    names = column_names(table)
    rows = table_rows(table)
    for cell in table.cells:
        if cell.row >= table.header_rows and cell.row_span > 1 and 0 <= cell.col < table.n_cols:
            for row in range(cell.row, min(cell.row + cell.row_span, table.n_rows)):
                rows[row][cell.col] = cell.text
    return [dict(zip(names, row, strict=True)) for row in rows[table.header_rows :]]


def shown(body: CanonBody) -> list[Block]:
    """The blocks of the body text: neither furniture nor hidden."""
    return [block for block in body.blocks if block.kind not in FURNITURE and not block.hidden]


def to_text(body: CanonBody) -> str:
    """The body text in reading order: blocks apart by a blank line, list items by a line end."""
    out: list[str] = []
    previous: Block | None = None
    for block in shown(body):
        text = _list_line(block) if block.kind is BlockKind.LIST_ITEM else block.text
        if not text:
            continue
        if previous is not None:
            both = block.kind is BlockKind.LIST_ITEM and previous.kind is BlockKind.LIST_ITEM
            out.append("\n" if both else "\n\n")
        out.append(text)
        previous = block
    return "".join(out)


def _list_line(block: Block) -> str:
    indent = "  " * (min(block.level or 1, 20) - 1)
    marker = f"{block.marker} " if block.marker else ""
    return indent + marker + block.text if block.text or marker else ""


def to_json(body: CanonBody) -> str:
    """The canon as indented JSON, keys in the order of the schema."""
    return msgspec.json.format(msgspec.json.encode(body), indent=2).decode()


def to_markdown(body: CanonBody) -> str:
    """The body as Markdown (CommonMark with pipe tables); a table with merged cells as an HTML table."""
    out: list[str] = []
    previous: Block | None = None
    for block in shown(body):
        text = _markdown_block(block, body)
        if not text:
            continue
        if previous is not None:
            both = block.kind is BlockKind.LIST_ITEM and previous.kind is BlockKind.LIST_ITEM
            out.append("\n" if both else "\n\n")
        out.append(text)
        previous = block
    return "".join(out) + ("\n" if out else "")


def _markdown_block(block: Block, body: CanonBody) -> str:
    if block.kind is BlockKind.TABLE and block.table is not None and block.table < len(body.tables):
        return markdown_table(body.tables[block.table])
    if block.kind is BlockKind.CODE:
        longest = max((len(run) for run in re.findall(r"`+", block.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}\n{block.text}\n{fence}"
    text = _with_links(block)
    match block.kind:
        case BlockKind.TITLE:
            return "# " + _one_line(text)
        case BlockKind.HEADING:
            return "#" * max(1, min(block.level or 1, 6)) + " " + _one_line(text)
        case BlockKind.LIST_ITEM:
            indent = "    " * (min(block.level or 1, 20) - 1)
            marker = block.marker if block.marker and re.fullmatch(r"\d{1,9}[.)]", block.marker) else "-"
            return f"{indent}{marker} " + text.replace("\n", "\n" + indent + "  ")
        case BlockKind.QUOTE:
            return "> " + text.replace("\n", "\n> ")
        case BlockKind.FIGURE:
            return f"![{_one_line(text)}]()" if text else ""
        case BlockKind.CAPTION:
            return f"*{_one_line(text)}*" if text else ""
        case BlockKind.FOOTNOTE:
            return f"[{_SPECIAL.sub(r'', block.marker or '')}] {text}" if block.marker else text
        case _:
            return _LINE_START.sub(r"\1\\\2", text).replace("\n", "  \n")


def _with_links(block: Block) -> str:
    """The block's text, escaped, each link at the first place its text stands after the link before it."""
    out: list[str] = []
    at = 0
    for link in block.links:
        found = block.text.find(link.text, at) if link.text else -1
        if found < 0 or not _SAFE_TARGET.match(link.target) or link.target.lower().startswith(("javascript:", "data:")):
            continue
        out.append(_escape(block.text[at:found]))
        target = link.target.replace("<", "%3C").replace(">", "%3E").replace("\n", "").replace(" ", "%20")
        out.append(
            f"[{_escape(link.text)}](<{target}>)" if re.search(r"[()]", target) else f"[{_escape(link.text)}]({target})"
        )
        at = found + len(link.text)
    out.append(_escape(block.text[at:]))
    return "".join(out)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def markdown_table(table: Table) -> str:
    """A grid as a pipe table, or as an HTML table where cells are merged, which pipes can't say."""
    spans = any(cell.row_span > 1 or cell.col_span > 1 for cell in table.cells)
    if spans or table.header_rows > 1 or table.n_rows * table.n_cols > MAX_POSITIONS:
        return _html_table(table)
    rows = table_rows(table)
    if not rows:
        return ""
    head = rows[0] if table.header_rows else [""] * table.n_cols
    lines = [head, ["---"] * table.n_cols, *rows[1 if table.header_rows else 0 :]]
    return "\n".join(map(_pipe_row, lines))


def _pipe_row(row: list[str]) -> str:
    line = _escape(_BETWEEN_CELLS.join(row)).replace("|", "\\|").replace("\n", "<br>")
    return f"| {line.replace(_BETWEEN_CELLS, ' | ')} |"


def _html_table(table: Table) -> str:
    out = ["<table>"]
    if table.caption:
        out.append(f"<caption>{html.escape(table.caption, quote=False)}</caption>")
    row = -1
    for cell in sorted(table.cells, key=lambda c: (c.row, c.col)):
        if cell.row != row:
            out.append("<tr>" if row < 0 else "</tr>\n<tr>")
            row = cell.row
        tag = "th" if cell.header or cell.row < table.header_rows else "td"
        spans = f' colspan="{cell.col_span}"' if cell.col_span > 1 else ""
        spans += f' rowspan="{cell.row_span}"' if cell.row_span > 1 else ""
        out.append(f"<{tag}{spans}>{html.escape(cell.text, quote=False).replace(chr(10), '<br>')}</{tag}>")
    out.append("</tr>\n</table>" if row >= 0 else "</table>")
    return "".join(out)
