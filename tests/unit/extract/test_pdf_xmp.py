"""XMP packets: values in each form, dates or null, and nothing that an entity or a broken packet could do."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract.pdf_info import choose_title, parse_title
from streams.extract.pdf_xmp import Xmp, parse_xmp_date, read_xmp
from tests.unit.extract.pdf_files import Maker, run

HEAD = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/">'
)
FOOT = "</rdf:RDF></x:xmpmeta>"
FULL = f"""<?xpacket begin="" id="x"?>{HEAD}<rdf:Description rdf:about="" xmp:CreateDate="2020-02-03T04:05:06+02:00">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">The Harbour
 Report</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ada First</rdf:li><rdf:li>Bob Second</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>de-AT</rdf:li></rdf:Bag></dc:language>
<xmp:ModifyDate>2021-02-31</xmp:ModifyDate></rdf:Description>{FOOT}<?xpacket end="w"?>"""


def test_values_in_attributes_arrays_and_text() -> None:
    found = read_xmp(FULL.encode())
    assert (found.title, found.authors, found.language) == ("The Harbour Report", ["Ada First", "Bob Second"], "de-AT")
    assert (found.created, found.modified) == ("2020-02-03T04:05:06+02:00", "2021-02-31")


@pytest.mark.parametrize("packet", [b"", b"\x00\x00", b"no xml", b"<a", b"\xff\xfe<", b"<a/>"])
def test_no_packet(packet: bytes) -> None:
    assert read_xmp(packet) == Xmp()


def test_entities_are_not_resolved() -> None:
    packet = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname"><!ENTITY f "boom">]>' + HEAD
    packet += f"<rdf:Description><dc:title>&e;&f;</dc:title></rdf:Description>{FOOT}"
    assert read_xmp(packet.encode()).title == ""


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2020-02-03T04:05:06+02:00", "2020-02-03T02:05:06Z"),
        ("2020-02-03T04:05:06.123Z", "2020-02-03T04:05:06Z"),
        ("2020-02-03", "2020-02-03T00:00:00Z"),
        ("2020", None),
        ("2021-02-31", None),
        ("0001-01-01T00:00:00Z", None),
        ("yesterday", None),
    ],
)
def test_dates(text: str, date: str | None) -> None:
    assert parse_xmp_date(text) == date


def test_xmp_fills_what_the_information_leaves_open(tmp_path: Path) -> None:
    maker = Maker().new_page().text(72, 100, "The harbour report says this and that.")
    maker.document.set_metadata({})
    maker.document.set_xml_metadata(FULL)
    draft = run(tmp_path, maker)
    assert (draft.title, draft.authors, draft.language) == ("The Harbour Report", ["Ada First", "Bob Second"], "de")
    assert (draft.created, draft.modified) == ("2020-02-03T02:05:06Z", None)
    assert "bad_date" in draft.warnings


def test_a_title_that_is_not_on_the_page_gives_way_to_the_one_that_is() -> None:
    text = "The Harbour Report for this year, by the harbour board"
    assert choose_title("Another document", "The Harbour Report", text) == ("The Harbour Report", True)
    assert choose_title("Harbour Report", "The Harbour Report for this year", text) == ("Harbour Report", False)
    assert choose_title(None, "The Harbour Report", text) == ("The Harbour Report", False)
    assert choose_title("Another document", None, text) == ("Another document", False)


@pytest.mark.parametrize("text", ["100G Toronto.key", "10811.exe", "Paper Title (use style: paper title)", "Title"])
def test_no_titles(text: str) -> None:
    assert parse_title(text) is None
