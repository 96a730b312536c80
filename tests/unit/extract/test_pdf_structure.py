"""Tags: used where they agree with the page, ignored and said where they don't, never followed into the deep."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.records import BlockKind
from tests.unit.extract.pdf_files import Maker, run, texts

Piece = tuple[str, int, str]  # structure type, height of the baseline, text
BODY = "Body text of a page in its usual size, with words that fill the line to its end"


def tagged(pieces: list[Piece], levels: int = 1) -> Maker:
    """One page; each piece is marked content of an element of its own, all below `levels` nested sections.

    A piece of type "Artifact" is marked as none.
    """
    maker = Maker().new_page()
    document, page = maker.document, maker.page
    operators = b""
    elements: list[int] = []
    root, parents = document.get_new_xref(), document.get_new_xref()
    sections = [document.get_new_xref() for _ in range(levels)]
    for kind, y, text in pieces:
        show = f"BT /helv 11 Tf 1 0 0 1 72 {842 - y} Tm ({text}) Tj ET EMC\n".encode()
        if kind == "Artifact":
            operators += b"/Artifact BMC " + show
            continue
        operators += f"/{kind} <</MCID {len(elements)}>> BDC ".encode() + show
        element = document.get_new_xref()
        document.update_object(
            element,
            f"<</Type/StructElem/S/{kind}/P {sections[-1]} 0 R/Pg {page.xref} 0 R/K {len(elements)}>>",
        )
        elements.append(element)
    kids = " ".join(f"{element} 0 R" for element in elements)
    for index, section in enumerate(sections):
        above = sections[index - 1] if index else root
        below = f"[{sections[index + 1]} 0 R]" if index + 1 < levels else f"[{kids}]"
        document.update_object(section, f"<</Type/StructElem/S/Sect/P {above} 0 R/K {below}>>")
    document.update_object(parents, f"<</Nums[0 [{kids}]]>>")
    document.update_object(root, f"<</Type/StructTreeRoot/K [{sections[0]} 0 R]/ParentTree {parents} 0 R>>")
    document.xref_set_key(document.pdf_catalog(), "StructTreeRoot", f"{root} 0 R")
    document.xref_set_key(page.xref, "StructParents", "0")
    return maker.content(operators)


def body(top: int, lines: int = 4) -> list[Piece]:
    return [("P", top + 15 * n, f"{BODY} {n}") for n in range(lines)]


def test_headings_that_look_like_text_are_headings_by_their_tags(tmp_path: Path) -> None:
    pieces: list[Piece] = [("H1", 100, "Plain words above"), *body(130), ("H2", 230, "Plain words below"), *body(260)]
    draft = run(tmp_path, tagged(pieces))
    found = [(block.text, block.level) for block in draft.blocks if block.kind is BlockKind.HEADING]
    assert found == [("Plain words above", 1), ("Plain words below", 2)]
    assert "tags_ignored" not in draft.warnings


def test_tags_that_make_a_heading_of_everything_are_ignored_and_said(tmp_path: Path) -> None:
    draft = run(tmp_path, tagged([("H1", y, text) for _, y, text in body(100, 12)]))
    assert not texts(draft, BlockKind.HEADING)
    assert "tags_ignored" in draft.warnings


def test_tags_against_the_order_of_the_page_are_ignored_and_lower_its_score(tmp_path: Path) -> None:
    pieces: list[Piece] = [piece for n in range(6) for piece in body(100 + 100 * n, 3)]
    (straight,) = run(tmp_path, tagged(pieces)).pages
    draft = run(tmp_path, tagged([*reversed(pieces), ("H1", 90, "Plain words")]))
    assert "tags_ignored" in draft.warnings
    assert not texts(draft, BlockKind.HEADING)
    assert straight.reading_order is not None
    assert draft.pages[0].reading_order is not None
    assert draft.pages[0].reading_order < straight.reading_order - 0.2


def test_artifacts_at_the_edge_are_furniture_on_a_single_page(tmp_path: Path) -> None:
    pieces: list[Piece] = [("Artifact", 40, "Harbour Report"), ("Artifact", 800, "Draft for comment"), *body(130, 8)]
    draft = run(tmp_path, tagged(pieces))
    assert texts(draft, BlockKind.PAGE_HEADER) == ["Harbour Report"]
    assert texts(draft, BlockKind.PAGE_FOOTER) == ["Draft for comment"]


@pytest.mark.parametrize("levels", [65, 5_000])
def test_a_tree_of_many_levels_is_not_followed(tmp_path: Path, levels: int) -> None:
    maker = tagged([("H1", 100, "Plain words above"), *body(130)], levels=levels)
    started = time.process_time()
    draft = run(tmp_path, maker)
    assert time.process_time() - started < 3
    assert not texts(draft, BlockKind.HEADING)
