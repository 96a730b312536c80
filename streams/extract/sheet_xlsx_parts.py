"""The parts of an XLSX workbook beside its sheets: shared strings, styles, comments, and the tables' own headers."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from lxml import etree

from streams.errors import DocumentError
from streams.extract.ooxml import BOMB_RATIO, Package
from streams.extract.sheet_formats import BUILT_IN
from streams.extract.sheet_model import MAX_COMMENTS, Area, Budget, Remark, area_of, cell_place
from streams.extract.sheet_xlsx_stream import FAULTS, parse

MAX_UNPACKED = 1024**3
"""Bytes of all sheets and strings together, unpacked. A million rows of ten columns have some 400 million."""
MAX_STRINGS = 256 * 1024**2
"""Characters of all shared strings."""

_SPACES = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main}",
    "http://purl.oclc.org/ooxml/spreadsheetml/main}",
    "",
)
_Any = TypeVar("_Any")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
"""What zipfile raises on a member that is damaged, encrypted or packed in a way that it does not know."""


class PartStream:
    """A part of the package as a stream that never gives more than the limit, whatever its directory says."""

    def __init__(self, path: Path, part: str, budget: Budget) -> None:
        self._zip = zipfile.ZipFile(path)
        wanted = part.replace("\\", "/").lstrip("/").lower()
        members = [m for m in self._zip.infolist() if m.filename.replace("\\", "/").lstrip("/").lower() == wanted]
        if not members:
            self._zip.close()
            raise zipfile.BadZipFile(f"There is no part {part}.")
        self._member = members[-1]
        try:
            self._stream = self._zip.open(self._member)
        except BaseException:
            self._zip.close()
            raise
        self._budget = budget

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._zip.close()

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Errors: DocumentError `bomb` or `too_large`; those of zipfile."""
        data = self._stream.read(size if size >= 0 else 1 << 20)
        self._budget.counts["unpacked"] += len(data)
        if self._budget.counts["unpacked"] > MAX_UNPACKED:
            tight = self._member.file_size > BOMB_RATIO * max(1, self._member.compress_size)
            raise DocumentError(
                "bomb" if tight else "too_large", f"The workbook unpacks to more than {MAX_UNPACKED} bytes."
            )
        return data


def in_namespaces(named: Mapping[str, _Any]) -> dict[str, _Any]:
    """What belongs to an element's name, by that name in each of the namespaces that sheets are written in."""
    return {space + name: value for space in _SPACES for name, value in named.items()}


def elements(stream: PartStream, events: Sequence[str], tag: str | Sequence[str]) -> Iterator[Any]:
    """Events and elements of a part as they come by; nothing outside is loaded, nothing huge is taken."""
    yield from etree.iterparse(
        stream,
        events=events,
        tag=tag,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


class Strings:
    """The shared strings, read when the first is asked for."""

    def __init__(self, path: Path, part: str | None, budget: Budget) -> None:
        self._path = path
        self._part = part
        self._budget = budget
        self._strings: list[str] | None = None

    def get(self, number: str) -> str:
        """The string of this number; a replacement character where there is none."""
        if self._strings is None:
            self._strings = []
            self._read()
        number = number.strip()
        at = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1
        if 0 <= at < len(self._strings):
            return self._strings[at]
        self._budget.warn("string_missing")
        return "\ufffd"

    def _read(self) -> None:
        if self._part is None or self._strings is None:
            return
        strings, size = self._strings, 0
        text: list[str] = []
        parts: list[str] = []
        phonetic = False

        def open_item(_: dict[str, str]) -> None:
            parts.clear()

        def close_item() -> None:
            nonlocal size
            string = unescaped("".join(parts))
            size += len(string)
            if size > MAX_STRINGS:
                raise DocumentError("too_large", f"The shared strings have more than {MAX_STRINGS} characters.")
            strings.append(string)

        def close_text() -> None:
            nonlocal parts
            if not phonetic:
                parts += text

        def in_guide(inside: bool) -> None:
            nonlocal phonetic
            phonetic = inside

        opened = {"si": open_item, "rPh": lambda _: in_guide(True)}
        closed = {"si": close_item, "t": close_text, "rPh": lambda: in_guide(False)}
        try:
            with PartStream(self._path, self._part, self._budget) as stream:
                parse(stream, text, in_namespaces(opened), in_namespaces(closed))
        except (*FAULTS, *ZIP_FAULTS):
            self._budget.warn("strings_damaged")


def forget_siblings(element: etree._Element) -> None:
    """Frees what stands before an element that was read, so that a stream does not become a tree."""
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def rich_text(element: etree._Element) -> str:
    """Text of a string item with runs, without the phonetic guides above it (18.4)."""
    parts: list[str] = []
    for found in element.iter():
        if isinstance(found.tag, str) and found.tag.rpartition("}")[2] == "t":
            parent = found.getparent()
            if parent is None or parent.tag.rpartition("}")[2] != "rPh":
                parts.append(found.text or "")
    return "".join(parts)


def unescaped(text: str) -> str:
    """Characters that XML can't hold are written `_x000D_` (ECMA-376 part 1, 22.9.2.19)."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


@dataclass(frozen=True, slots=True)
class CellStyle:
    """What of a cell's style changes what is read: its number format, and whether it is bold."""

    code: str = "General"
    bold: bool = False


class Styles:
    """The styles part (18.8)."""

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: list[CellStyle] = []
        self._default = CellStyle()
        if root is not None:
            self._read(root)

    def of(self, index: str | None) -> CellStyle:
        """The style of a cell with `s="index"`."""
        at = int(index) if index is not None and index.isascii() and index.isdigit() and len(index) < 9 else 0
        return self._styles[at] if at < len(self._styles) else self._default

    def _read(self, root: etree._Element) -> None:
        codes = dict(BUILT_IN)
        bold: list[bool] = []
        for part in root.iterchildren("*"):
            name = part.tag.rpartition("}")[2]
            if name == "numFmts":
                for element in part.iterchildren("*"):
                    number, code = element.get("numFmtId") or "", element.get("formatCode")
                    if number.isascii() and number.isdigit() and len(number) < 9 and code is not None:
                        codes[int(number)] = code or "General"
            elif name == "fonts":
                bold = [_is_bold(font) for font in part.iterchildren("*")]
            elif name == "cellXfs":
                for element in part.iterchildren("*"):
                    number, font = element.get("numFmtId") or "0", element.get("fontId") or "0"
                    at = int(font) if font.isdigit() and len(font) < 9 else 0
                    code = codes.get(int(number) if number.isdigit() and len(number) < 9 else 0, "General")
                    self._styles.append(CellStyle(_plain(code), at < len(bold) and bold[at]))


def _plain(code: str) -> str:
    return "General" if code.strip().lower() == "general" else code


def _is_bold(font: etree._Element) -> bool:
    return any(
        part.tag.rpartition("}")[2] == "b" and (part.get("val") or "1").lower() not in ("0", "false", "off")
        for part in font.iterchildren("*")
    )


def remarks_of(package: Package, part: str, main: str) -> list[Remark]:
    """Comments on the cells of a sheet, threads with all their answers (18.7; [MS-XLSX] 2.6.204)."""
    found: list[Remark] = []
    threads = _threads(package, part, main)
    root = package.optional_xml(package.related(part, "comments"))
    authors: list[str] = []
    for element in root.iter() if root is not None else ():
        name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if name == "author":
            authors.append((element.text or "").strip())
        elif name == "comment" and len(found) < MAX_COMMENTS:
            place = cell_place(element.get("ref") or "")
            author = element.get("authorId") or ""
            at = int(author) if author.isdigit() and len(author) < 9 else -1
            text = next((rich_text(t) for t in element.iterchildren("*") if t.tag.rpartition("}")[2] == "text"), "")
            if place is not None and place not in threads and text.strip():
                who = authors[at] if 0 <= at < len(authors) else ""
                # programs write ids of threads where the name of an author belongs
                found.append(Remark(*place, text.strip(), "" if who.startswith("tc={") else who))
    for place, remarks in threads.items():
        found += [Remark(*place, text, who) for who, text in remarks]
    return sorted(found, key=lambda remark: (remark.row, remark.col))[:MAX_COMMENTS]


def _threads(package: Package, part: str, main: str) -> dict[tuple[int, int], list[tuple[str, str]]]:
    root = package.optional_xml(package.related(part, "threadedComment"))
    if root is None:
        return {}
    persons = package.optional_xml(package.related(main, "person"))
    names = {
        element.get("id") or "": (element.get("displayName") or "").strip()
        for element in (persons.iterchildren("*") if persons is not None else ())
    }
    threads: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for element in root.iterchildren("*"):
        place = cell_place(element.get("ref") or "")
        text = next((t.text or "" for t in element.iterchildren("*") if t.tag.rpartition("}")[2] == "text"), "").strip()
        if place is not None and text:
            threads.setdefault(place, []).append((names.get(element.get("personId") or "", ""), text))
    return threads


def tables_of(package: Package, part: str) -> list[Area]:
    """Header rows of the tables that a sheet declares (18.5)."""
    found: list[Area] = []
    for relationship in list(package.relationships(part).values())[:1000]:
        if relationship.kind.lower() != "table" or relationship.external:
            continue
        root = package.optional_xml(relationship.target)
        area = area_of(root.get("ref") or "") if root is not None else None
        if root is None or area is None:
            continue
        said = root.get("headerRowCount") or "1"
        rows = int(said) if said.isdigit() and len(said) < 4 else 1
        if rows and area.top + rows - 1 < area.bottom:
            found.append(Area(area.top, area.left, area.top + rows - 1, area.right))
    return found
