"""How well the tables of PDFs are found and read, on a folder of PDFs whose tables are known, beside PyMuPDF's finder.

A true table stands in NAME-str.xml beside NAME.pdf, in the format of the ICDAR 2013 table competition. The measure is
that competition's: relations between neighbouring cells (Göbel et al., "A methodology for evaluating algorithms for
table understanding in PDF documents", 2012; "ICDAR 2013 table competition", 2013), over all pages: a table where
none is counts as wrong.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import time
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pymupdf

from bench.report import Result, met, show
from streams.extract.outcome import Request
from streams.extract.pdf import extract
from streams.extract.tools import mupdf_layout
from streams.records import Detection

TARGET = 0.93
_LEADER = re.compile(r"[.·…]{2,}$")
_SPECIAL = re.compile(r"[^\w]|_")


class Area(NamedTuple):
    """A cell: rows and columns it covers (the ends too), and its text."""

    row: int
    col: int
    last_row: int
    last_col: int
    text: str


class Found(NamedTuple):
    """A table and the pages it stands on."""

    pages: frozenset[int]
    cells: list[Area]


Relations = Counter[tuple[str, str, str]]


def main(words: list[str]) -> int:
    """`python -m bench tables FOLDER`: prints the table; 0 when the target is met."""
    parser = argparse.ArgumentParser(prog="python -m bench tables", description=__doc__)
    parser.add_argument("folder", type=Path, help="NAME.pdf and NAME-str.xml, at any depth")
    parser.add_argument("--only", default="", help="only files whose name holds this")
    parser.add_argument("--files", action="store_true", help="list the figures of each file")
    parser.add_argument("--without-peer", action="store_true", help="leave PyMuPDF's finder out")
    args = parser.parse_args(words)
    pairs = labelled(args.folder, args.only)
    if not pairs:
        parser.error(f"{args.folder} has no PDF with its tables")
    result = measure(pairs, peer=not args.without_peer, files=args.files)
    show(result)
    return 0 if result.values["met"] else 1


def labelled(folder: Path, only: str = "") -> list[tuple[Path, Path]]:
    """The PDFs below `folder` and the files of their true tables."""
    pairs = [(pdf, pdf.with_name(f"{pdf.stem}-str.xml")) for pdf in sorted(folder.rglob("*.pdf")) if only in pdf.name]
    return [(pdf, truth) for pdf, truth in pairs if truth.is_file()]


def measure(pairs: list[tuple[Path, Path]], peer: bool = True, files: bool = False) -> Result:
    """Precision, recall and F1 of the relations of all tables, of Canonry and of PyMuPDF alone."""
    truths = [true_tables(truth) for _, truth in pairs]
    pages = sum(len(pymupdf.open(pdf)) for pdf, _ in pairs)
    readers: list[tuple[str, Callable[[Path], list[Found]]]] = [("canonry", canon_tables)]
    if peer:
        readers.append(("pymupdf find_tables", peer_tables))
    rows, lines, scores = [], [], {}
    candidates = peak = 0
    for name, read in readers:
        seconds, right, found_in_all, true_in_all, tables = 0.0, 0, 0, 0, 0
        for (pdf, _), truth in zip(pairs, truths, strict=True):
            started = time.process_time()
            found = read(pdf)
            seconds += time.process_time() - started
            hits, found_count, true_count = compare(truth, found)
            right, found_in_all, true_in_all = right + hits, found_in_all + found_count, true_in_all + true_count
            tables += len(found)
            if files:
                lines.append(f"{name} {pdf.name}: {hits} right of {found_count} found and {true_count} true relations")
        precision, recall, f1 = _scores(right, found_in_all, true_in_all)
        scores[name] = {"precision": precision, "recall": recall, "f1": f1, "pages_per_second": pages / seconds}
        figures = [f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}"]
        rows.append([name, str(tables), *figures, f"{pages / seconds:.1f}"])
        if name == "canonry":
            candidates, peak = mupdf_layout.pages_asked(), _peak_mib()
    true_count = sum(len(truth) for truth in truths)
    reached = scores["canonry"]["f1"] >= TARGET
    return Result(
        name="tables",
        title=f"{true_count} tables of {len(pairs)} PDFs with {pages} pages, relations between neighbouring cells",
        columns=["reader", "tables", "precision", "recall", "F1", "pages/s CPU"],
        rows=rows,
        values={"scores": scores, "pages": pages, "candidates": candidates, "peak_mib": peak, "met": reached},
        verdict=met(f"F1 of at least {TARGET}", reached),
        notes=[f"{candidates} of {pages} pages went to the layout model; peak memory {peak} MiB", *lines],
    )


def compare(truth: Sequence[Found], found: Sequence[Found]) -> tuple[int, int, int]:
    """Relations of a document that are right, that were found, and that are true.

    Each true table is compared with that found table of its pages which shares most relations with it. A found table is
    compared with one true table a page: one that goes over pages may answer for the tables of all of them, for the
    truth knows no tables over pages.
    """
    true_relations = [relations(table.cells) for table in truth]
    found_relations = [relations(table.cells) for table in found]
    shared = [
        ((true & other).total(), t, f)
        for t, true in enumerate(true_relations)
        for f, other in enumerate(found_relations)
        if truth[t].pages & found[f].pages
    ]
    taken: set[tuple[int, int]] = set()  # found table, page
    answered: dict[int, Relations] = {}
    matched: set[int] = set()
    for count, t, f in sorted(shared, key=lambda item: (-item[0], item[1], item[2])):
        places = {(f, page) for page in truth[t].pages}
        if count and t not in matched and not places & taken:
            matched.add(t)
            taken |= places
            answered[f] = answered.get(f, Counter()) + true_relations[t]
    right = sum((answered[f] & found_relations[f]).total() for f in sorted(answered))
    return right, sum(one.total() for one in found_relations), sum(one.total() for one in true_relations)


def relations(cells: Iterable[Area]) -> Relations:
    """Pairs of cells that are neighbours, to the right and below; blank cells are skipped (Göbel et al. 2012)."""
    areas = [area._replace(text=_normal(area.text)) for area in cells]
    places = {
        (row, col): number
        for number, area in enumerate(areas)
        if area.text
        for row in range(area.row, area.last_row + 1)
        for col in range(area.col, area.last_col + 1)
    }
    n_rows = max((row for row, _ in places), default=-1) + 1
    n_cols = max((col for _, col in places), default=-1) + 1
    across = {pair for row in range(n_rows) for pair in _neighbours([places.get((row, col)) for col in range(n_cols)])}
    down = {pair for col in range(n_cols) for pair in _neighbours([places.get((row, col)) for row in range(n_rows)])}
    found: Relations = Counter()
    for direction, pairs in (("right", across), ("below", down)):
        found.update((direction, areas[one].text, areas[other].text) for one, other in pairs)
    return found


def _neighbours(line: list[int | None]) -> set[tuple[int, int]]:
    filled = [number for number in line if number is not None]
    return {(one, other) for one, other in pairwise(filled) if one != other}


def _normal(text: str) -> str:
    """Without blanks, in one case, special characters alike, as the competition does it; and without dots that lead."""
    bare = "".join(unicodedata.normalize("NFKC", text).upper().split())
    return _SPECIAL.sub("_", _LEADER.sub("", bare) or bare)


def true_tables(path: Path) -> list[Found]:
    """The tables of a NAME-str.xml; the regions of a table stand beside or below one another by their increments."""
    tables = []
    for table in ET.parse(path).getroot().iter("table"):  # noqa: S314 - the truth of a benchmark, given by its user
        cells: list[Area] = []
        pages = set()
        for region in table.iter("region"):
            pages.add(int(region.get("page", "0")))
            rows, cols = int(region.get("row-increment", "0")), int(region.get("col-increment", "0"))
            for cell in region.iter("cell"):
                row, col = int(cell.get("start-row", "0")), int(cell.get("start-col", "0"))
                last_row, last_col = int(cell.get("end-row", row)), int(cell.get("end-col", col))
                cells.append(
                    Area(rows + row, cols + col, rows + last_row, cols + last_col, cell.findtext("content") or "")
                )
        tables.append(Found(frozenset(pages), cells))
    return tables


def canon_tables(path: Path) -> list[Found]:
    """The tables of the canon of a PDF."""
    draft = extract(Request(path=path, detection=Detection(media_type="application/pdf", detected_by="bench")))
    return [
        Found(
            frozenset(table.pages),
            [
                Area(cell.row, cell.col, cell.row + cell.row_span - 1, cell.col + cell.col_span - 1, cell.text)
                for cell in table.cells
            ],
        )
        for table in draft.tables
    ]


def peer_tables(path: Path) -> list[Found]:
    """The tables that PyMuPDF finds by lines alone, its default without the layout model."""
    found = []
    with pymupdf.open(path) as document:
        for page in document:
            finder = page.find_tables(use_layout=False)
            for table in finder.tables if finder is not None else ():
                cells = [
                    Area(row, col, row, col, text)
                    for row, texts in enumerate(table.extract())
                    for col, text in enumerate(texts)
                    if text
                ]
                found.append(Found(frozenset({page.number + 1}), cells))
    return found


def _scores(right: int, found: int, true: int) -> tuple[float, float, float]:
    precision, recall = right / max(1, found), right / max(1, true)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def _peak_mib() -> int:
    """Peak resident memory of this process: `ru_maxrss` is in KiB on Linux and in bytes on macOS (getrusage(2))."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024 if sys.platform == "darwin" else 1024)
