"""JSON and JSON Lines as sections: members as `key: value`, objects as headings, arrays of like objects as tables."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from streams.errors import DocumentError
from streams.extract.grids import MAX_CELLS, add_table, grid
from streams.extract.json_values import Members, Reading, TooDeep, check_size, compact, cut_off, is_scalar, plain, read
from streams.extract.notebook import is_notebook, notebook
from streams.extract.outcome import Draft, Request
from streams.extract.text import source_text
from streams.records import Block, BlockKind, BlockSource, Dropped, Table

MAX_LEVEL = 6
"""Headings deeper than this are paths: `a.b.c`."""
LONG = 1000
"""Characters from which a text is a paragraph of its own, and no table has it in a cell."""
MAX_BLOCKS = 600_000
"""Values that are no cells of tables; each is a block, which takes some 1.5 KB on its way through the screen."""
MAX_PATH = 300
"""Characters of a path or key."""
MAX_COLUMNS = 300
MIN_FILLED = 0.4
"""Share of the cells that like objects fill together."""
PROSE_WORDS = 6
"""Words from which a member's text is prose, which the screen judges as such."""
MAX_ITEMS = 500
"""Scalars of an array that are a list; more of them are one paragraph."""
MAX_COORDINATES = 400
"""Characters of a geometry's coordinates that are shown; longer ones are a drawing, not text."""

OWN = "#text"
"""Key of what a thing itself says, beside its members: the text of an element that has attributes."""

_POSITION = re.compile(r"\[\s*[-\d]")


def extract(request: Request) -> Draft:
    """The blocks of a JSON text; of a notebook (nbformat 3 and 4) its cells.

    Errors: DocumentError `parser_error` or `truncated`, with line and column, when it is no JSON; `too_large`.
    What is nested some thousand levels deep stays as it is, as one block of code (warning `too_deep`).
    """
    text, warnings, metadata = source_text(request, "utf-8")
    check_size(text)
    reading = Reading()
    try:
        value = read(text, reading)
    except TooDeep:
        block = Block(kind=BlockKind.CODE, text=text, source=BlockSource.MARKUP)
        return Draft(blocks=[block], warnings=[*warnings, "too_deep"], metadata=metadata)
    except json.JSONDecodeError as error:
        raise _unreadable(text, error) from error
    if is_notebook(value):
        draft = notebook(value)
    else:
        tree = Tree()
        tree.add(value)
        draft = tree.draft()
    draft.warnings = [*warnings, *draft.warnings, *_noted(reading)]
    draft.metadata = metadata | draft.metadata
    return draft


def extract_lines(request: Request) -> Draft:
    """The blocks of JSON Lines: like objects as one table, others as sections with their line's number.

    Errors: DocumentError `parser_error` when no line is JSON, `too_large`. Lines that are none are kept as code
    (warning `bad_lines`, their number in the metadata).
    """
    text, warnings, metadata = source_text(request, "utf-8")
    check_size(text)
    reading = Reading()
    values: list[Any] = []
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(read(line.strip("\x1e \t"), reading))
        except (json.JSONDecodeError, TooDeep):
            bad.append((number, line))
    if not values:
        raise DocumentError("parser_error", f"None of its {len(bad)} lines is JSON.")
    tree = Tree()
    tree.add(values)
    if bad:
        warnings.append("bad_lines")
        metadata = metadata | {"bad_lines": str(len(bad))}
        tree.heading("bad lines", 1)
        for number, line in bad:
            tree.paragraph(f"line {number}")
            tree.code(line)
    draft = tree.draft()
    draft.warnings = [*warnings, *draft.warnings, *_noted(reading)]
    draft.metadata = metadata
    return draft


def _unreadable(text: str, error: json.JSONDecodeError) -> DocumentError:
    problem = "truncated" if cut_off(text, error) else "parser_error"
    where = f"line {error.lineno}, column {error.colno} (character {error.pos} of {len(text)})"
    return DocumentError(problem, f"It is no JSON from {where} on: {error.msg}.")


def _noted(reading: Reading) -> list[str]:
    return ["duplicate_keys"] * bool(reading.duplicate_keys) + ["not_a_number"] * bool(reading.not_a_number)


class _Item(msgspec.Struct):
    """A plain value in an array that holds objects as well."""

    value: Any


class Tree:
    """Makes the blocks of values; also for formats that come to the same values by another syntax."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self.cells = 0
        self.coordinates = 0

    def draft(self) -> Draft:
        """What was found."""
        dropped = [Dropped(what="coordinates", count=self.coordinates)] if self.coordinates else []
        return Draft(blocks=self.blocks, tables=self.tables, dropped=dropped)

    def heading(self, text: str, level: int) -> None:
        self.blocks.append(Block(kind=BlockKind.HEADING, text=text, level=level, source=BlockSource.MARKUP))

    def paragraph(self, text: str) -> None:
        self.blocks.append(Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.MARKUP))

    def code(self, text: str) -> None:
        self.blocks.append(Block(kind=BlockKind.CODE, text=text, source=BlockSource.MARKUP))

    def add(self, value: Any) -> None:
        """The blocks of a value. Nesting costs no stack of ours: what is open stands in a list.

        Errors: DocumentError `too_large` for more blocks than a slot carries.
        """
        stack: list[tuple[str, Any, int]] = [("", value, 0)]
        while stack:
            path, top, level = stack.pop()
            inner = self._one(path, top, level)
            stack += reversed(inner)

    def _one(self, path: str, value: Any, level: int) -> list[tuple[str, Any, int]]:
        """The blocks of one value itself; returns what it holds: (path, value, level)."""
        if len(self.blocks) > MAX_BLOCKS:
            raise DocumentError("too_large", f"It has more than {MAX_BLOCKS} values beside each other.")
        if isinstance(value, _Item):  # between sections: it needs one of its own
            self.heading(path, level)
            return self._one("", value.value, level)
        if is_scalar(value):
            self.field(path, plain(value))
            return []
        if isinstance(value, Members) and not value.items:
            self.field(path, "{}")
            return []
        if isinstance(value, list) and all(map(is_scalar, value)):
            self._scalars(path, value)
            return []
        rows = self._records(value) if isinstance(value, list) else None
        shown = level < MAX_LEVEL or rows is not None
        if path and shown:
            self.heading(path, min(level, MAX_LEVEL))
        if rows is not None:
            add_table(self.blocks, self.tables, grid(rows, 1))
            return []
        prefix = "" if shown else path
        if isinstance(value, Members):
            # Plain members first: behind an object they would seem to belong to its section.
            named = sorted(value.items, key=lambda member: not _is_plain(member[1]))
        else:
            named = [(str(number), inner) for number, inner in enumerate(value, 1)]
        inside = min(level + 1, MAX_LEVEL)
        if isinstance(value, list) and level < MAX_LEVEL:
            return [(_path(prefix, key), _Item(inner) if _is_plain(inner) else inner, inside) for key, inner in named]
        return [(_path(prefix, key), inner, inside) for key, inner in named]

    def field(self, name: str, text: str) -> None:
        """A named value: a field when it is a word or a number, a paragraph when it is a text."""
        if not name:
            self.paragraph(text)
        elif len(text) > LONG or "\n" in text.strip():
            self.paragraph(f"{name}:")
            self.paragraph(text)
        elif len(text.split()) >= PROSE_WORDS:
            self.paragraph(f"{name}: {text}")
        else:
            self.blocks.append(Block(kind=BlockKind.FORM_FIELD, text=f"{name}: {text}", source=BlockSource.MARKUP))

    def _scalars(self, path: str, values: list[Any]) -> None:
        texts = list(map(plain, values))
        if not texts:
            self.field(path, "[]")
        elif len(texts) > MAX_ITEMS or not any(" " in text for text in texts):
            self.field(path, ", ".join(texts))
        else:
            if path:
                self.paragraph(f"{path}:")
            self.blocks += [
                Block(kind=BlockKind.LIST_ITEM, text=text, level=1, marker="•", source=BlockSource.MARKUP)
                for text in texts
            ]

    def _records(self, values: list[Any]) -> list[list[str]] | None:
        """Like objects as rows below their keys; None when they are not alike, or too long for cells."""
        if len(values) < 2 or not all(isinstance(value, Members) and value.items for value in values):
            return None
        columns: dict[str, int] = {}
        rows: list[dict[int, str]] = []
        filled = 0
        for value in values:
            row: dict[int, str] = {}
            for key, text in self._flat(value):
                at = columns.setdefault(key, len(columns))
                if at in row or len(text) > LONG or len(columns) > MAX_COLUMNS:
                    return None
                row[at] = text
            filled += len(row)
            rows.append(row)
        if filled < MIN_FILLED * len(rows) * len(columns) or self.cells + len(rows) * len(columns) > MAX_CELLS:
            return None
        self.cells += len(rows) * len(columns)
        return [list(columns), *([row.get(at, "") for at in range(len(columns))] for row in rows)]

    def _flat(self, value: Members) -> list[tuple[str, str]]:
        """Members by their paths; arrays as they stand in JSON, of scalars as a list with commas."""
        out: list[tuple[str, str]] = []
        stack = [(_path("", key) or "text", inner) for key, inner in reversed(value.items)]
        while stack:
            path, top = stack.pop()
            if isinstance(top, Members) and top.items:
                stack += [(_path(path, key), inner) for key, inner in reversed(top.items)]
            elif is_scalar(top):
                out.append((path, plain(top)))
            elif isinstance(top, list) and top and all(map(is_scalar, top)):
                out.append((path, ", ".join(map(plain, top))))
            else:
                out.append((path, self._nested(path, top)))
        return out

    def _nested(self, path: str, value: Any) -> str:
        text = compact(value)
        if path.endswith("coordinates") and len(text) > MAX_COORDINATES:
            self.coordinates += 1
            return f"({len(_POSITION.findall(text))} positions)"
        return text


def _is_plain(value: Any) -> bool:
    """Whether a value needs no section: a scalar, some scalars, or nothing."""
    if isinstance(value, Members):
        return not value.items
    return not isinstance(value, list) or all(map(is_scalar, value))


def _path(above: str, key: str) -> str:
    """A key below others. Of very long paths the end is shown: else a small file could make a huge text of them."""
    if key == OWN:
        return above
    name = " ".join(key[:LONG].split()) or '""'
    path = f"{above}.{name}" if above else name
    return path if len(path) <= MAX_PATH else "…" + path[-MAX_PATH:]
