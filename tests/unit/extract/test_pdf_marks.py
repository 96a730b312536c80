"""What is laid over a page: fields, notes and links, each told once."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from streams.extract.tools import mupdf_marks
from streams.records import BlockKind, Link
from tests.unit.extract.pdf_files import Maker, run, texts


def with_annotations(maker: Maker, *objects: str) -> Maker:
    """The page with these annotations (ISO 32000-1, 12.5), each an object."""
    document = maker.document
    references = []
    for body in objects:
        xref = document.get_new_xref()
        document.update_object(xref, f"<</Type/Annot{body}>>")
        references.append(f"{xref} 0 R")
    document.xref_set_key(maker.page.xref, "Annots", f"[{' '.join(references)}]")
    return maker


def test_fields_have_names_and_values(tmp_path: Path) -> None:
    at = "/Subtype/Widget/Rect[72 700 300 720]"
    maker = with_annotations(
        Maker().new_page().text(72, 400, "A form"),
        f"{at}/FT/Tx/T(form.page[0].city[0])/V(Prague)",
        f"{at}/FT/Tx/T(b)/TU(Street, No.)/V(Long Lane 3)",
        f"{at}/FT/Ch/T(colour)/V(r)/Opt[[(r)(Red)][(g)(Green)]]",
        f"{at}/FT/Ch/T(days)/V[(Monday)(Friday)]/Opt[(Monday)(Friday)(Sunday)]",
        f"{at}/FT/Btn/T(agreed)/AS/Yes/V/Yes",
        f"{at}/FT/Btn/T(refused)/AS/Off/V/Off",
        f"{at}/FT/Btn/Ff 32768/T(size)/AS/1/V/1/Opt[(small)(large)]",
        f"{at}/FT/Btn/Ff 65536/T(send)/V(pressed)",
        f"{at}/FT/Tx/Ff 8192/T(secret)/V(hunter2)",
        f"{at}/FT/Tx/T(empty)/V()",
        f"{at}/FT/Tx/F 2/T(hidden)/V(unseen)",
        f"{at}/FT/Sig/T(signed)/V<</Type/Sig/Name(Ada Lovelace)>>",
    )
    draft = run(tmp_path, maker)
    assert texts(draft, BlockKind.FORM_FIELD) == [
        "city: Prague",
        "Street, No.: Long Lane 3",
        "colour: Red",
        "days: Monday\nFriday",
        "agreed: Yes",
        "size: large",
        "signed: Ada Lovelace",
    ]
    assert [(item.what, item.count) for item in draft.dropped] == [("hidden_annotation", 2)]


def test_password_that_the_file_draws_is_not_told(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 400, "A form")
    document = maker.document
    drawn = document.get_new_xref()
    document.update_object(drawn, "<</Type/XObject/Subtype/Form/BBox[0 0 228 20]/Resources<</Font<<>>>>>>")
    document.update_stream(drawn, b"BT /helv 12 Tf 2 4 Td (hunter2) Tj ET")
    widget = f"/Subtype/Widget/Rect[72 700 300 720]/FT/Tx/T(secret)/AP<</N {drawn} 0 R>>"
    with_annotations(maker, f"{widget}/Ff 8192/V(hunter2)", f"{widget}/Ff 8192/V()")
    document.xref_set_key(drawn, "Resources/Font/helv", f"{maker.page.get_fonts()[0][0]} 0 R")
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == ["A form"]
    assert draft.title != "hunter2"


def test_values_of_parents_and_parents_in_a_circle(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 400, "A form")
    document = maker.document
    parent = document.get_new_xref()
    document.update_object(parent, "<</FT/Tx/T(town)/V(Brno)>>")
    with_annotations(maker, f"/Subtype/Widget/Rect[72 700 300 720]/Parent {parent} 0 R")
    assert texts(run(tmp_path, maker), BlockKind.FORM_FIELD) == ["town: Brno"]
    document.update_object(parent, f"<</Parent {parent} 0 R>>")
    assert texts(run(tmp_path, maker), BlockKind.FORM_FIELD) == []


def test_what_is_drawn_over_the_page_is_told_once(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 400, "Plain text")
    widget = pymupdf.Widget()
    widget.field_type, widget.field_name = pymupdf.PDF_WIDGET_TYPE_TEXT, "name"
    widget.field_value, widget.rect = "drawn value", pymupdf.Rect(72, 100, 300, 120)
    maker.page.add_widget(widget)
    maker.page.add_freetext_annot(pymupdf.Rect(72, 200, 300, 230), "typed upon the page")
    text = "\n".join(block.text for block in run(tmp_path, maker).blocks)
    assert text.count("drawn value") == 1
    assert text.count("typed upon the page") == 1
    assert "Plain text" in text


def test_links_belong_to_the_words_below_them(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Read the manual of the lamp, then go on")
    maker.text(72, 114, "with the tools of the next page.").new_page().text(72, 100, "Tools")
    maker.page = maker.document[0]
    box = maker.page.search_for("manual of the lamp")[0]
    maker.page.insert_link({"kind": pymupdf.LINK_URI, "uri": "https://lamps.example/manual", "from": box})
    two_lines = [maker.page.search_for("go on")[0], maker.page.search_for("with the tools")[0]]
    for part in two_lines:
        maker.page.insert_link({"kind": pymupdf.LINK_GOTO, "page": 1, "from": part, "to": pymupdf.Point(0, 0)})
    nowhere = pymupdf.Rect(400, 600, 450, 620)
    maker.page.insert_link({"kind": pymupdf.LINK_URI, "uri": "https://lamps.example/picture", "from": nowhere})
    draft = run(tmp_path, maker)
    assert draft.blocks[0].links == [
        Link(text="manual of the lamp,", target="https://lamps.example/manual"),
        Link(text="go on with the tools", target="#page=2"),
    ]
    assert [(item.what, item.count) for item in draft.dropped] == [("link_without_text", 1)]


def test_annotations_beyond_the_limit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mupdf_marks, "MOST", 50)
    notes = [f"/Subtype/Text/Rect[0 0 9 9]/Contents(note {number})" for number in range(mupdf_marks.MOST + 5)]
    draft = run(tmp_path, with_annotations(Maker().new_page().text(72, 400, "Notes"), *notes))
    assert len(texts(draft, BlockKind.COMMENT)) == mupdf_marks.MOST
    assert [(item.what, item.count) for item in draft.dropped] == [("annotation_beyond_limit", 5)]


def test_forms_of_xml_are_said(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 400, "Please wait")
    maker.document.xref_set_key(maker.document.pdf_catalog(), "AcroForm", "<</Fields[]/XFA[(template)()]>>")
    assert run(tmp_path, maker).warnings == ["xfa_form"]


def test_hidden_layers_are_no_text(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "Seen by all")
    off = maker.document.add_ocg("draft", on=False)
    maker.text(72, 200, "On a layer that is off", oc=off)
    assert [block.text for block in run(tmp_path, maker).blocks] == ["Seen by all"]


def test_page_with_too_much_text_costs_one_page(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "First").new_page()
    maker.content(b"BT /helv 1 Tf 72 700 Td " + b"(abcdefghij) Tj 0 -0.01 Td " * 51_000 + b"ET")
    draft = run(tmp_path, maker)
    assert [block.text for block in draft.blocks] == ["First"]
    assert draft.warnings == ["page_failed"]
    assert draft.page_count == 2
