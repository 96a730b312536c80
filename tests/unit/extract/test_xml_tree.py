"""XML: its text in its order, nothing from outside of it, and bounded whatever its entities say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import xml_parse
from streams.extract.render import table_rows
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds


def xml(folder: Path, text: str, media_type: str = "application/xml", encoding: str = "utf-8") -> CanonBody:
    return canon(folder, text.encode(encoding), media_type, encoding=encoding)


def problem(folder: Path, text: str) -> tuple[str, str]:
    with pytest.raises(DocumentError) as caught:
        xml(folder, text)
    return caught.value.problem, caught.value.message


BOOK = """<book xmlns="http://docbook.org/ns/docbook" xml:lang="en"><info><title>Boats</title><author><personname>
<firstname>Ann</firstname><surname>Lee</surname></personname></author></info><chapter><title>Wood</title>
<para>Larch <emphasis>lasts</emphasis><footnote>
<para>Not for ever.</para></footnote> long.</para>
<orderedlist><listitem><para>Saw</para><para>Slowly.</para></listitem><listitem><para>Plane</para></listitem></orderedlist>
<programlisting>a = 1
  b = 2</programlisting><table>
<title>Costs</title><tgroup><thead><row><entry>What</entry><entry>Price</entry></row></thead>
<tbody><row><entry>Oak</entry><entry morerows="1">5</entry></row><row><entry>Ash</entry></row></tbody></tgroup></table>
<section><title>Where</title><para>See <ulink url="https://example.org/">here</ulink>.</para></section></chapter></book>"""


def test_documents_are_sections(tmp_path: Path) -> None:
    body = xml(tmp_path, BOOK, "application/docbook+xml")
    assert body.title == "Boats"
    assert body.authors == ["Ann Lee"]
    assert [(b.kind.value, b.level, b.text, b.section) for b in body.blocks if b.kind.value != "table"] == [
        ("title", None, "Boats", []),
        ("paragraph", None, "Ann Lee", []),
        ("heading", 1, "Wood", []),
        ("paragraph", None, "Larch lasts long.", ["Wood"]),
        ("footnote", None, "Not for ever.", ["Wood"]),
        ("list_item", 1, "Saw", ["Wood"]),
        ("paragraph", None, "Slowly.", ["Wood"]),
        ("list_item", 1, "Plane", ["Wood"]),
        ("code", None, "a = 1\n  b = 2", ["Wood"]),
        ("heading", 2, "Where", ["Wood"]),
        ("paragraph", None, "See here.", ["Wood", "Where"]),
    ]
    assert body.blocks[4].ref == body.blocks[3].id
    assert body.blocks[-1].links[0].target == "https://example.org/"
    table = body.tables[0]
    assert (table.caption, table.header_rows) == ("Costs", 1)
    assert table_rows(table) == [["What", "Price"], ["Oak", "5"], ["Ash", ""]]
    assert [cell.row_span for cell in table.cells if cell.text == "5"] == [2]


def test_records_are_a_table(tmp_path: Path) -> None:
    orders = "".join(
        f'<order id="{n}"><to><name>N{n}</name></to><sum currency="EUR">{n}.50</sum></order>' for n in range(3)
    )
    body = xml(tmp_path, f'<orders shop="A">{orders}</orders>')
    assert kinds(body)[:2] == [("form_field", "shop: A"), ("heading", "order")]
    assert table_rows(body.tables[0])[:2] == [["id", "to.name", "sum.currency", "sum"], ["0", "N0", "EUR", "0.50"]]


def test_neighbours_with_and_without_attributes_are_alike(tmp_path: Path) -> None:
    body = xml(
        tmp_path, '<type><name>archive</name><name lang="fr">archive XAR</name><name lang="de">Archiv</name></type>'
    )
    assert table_rows(body.tables[0]) == [["text", "lang"], ["archive", ""], ["archive XAR", "fr"], ["Archiv", "de"]]


def test_settings_are_fields(tmp_path: Path) -> None:
    body = xml(tmp_path, '<c><server host="h" port="080"><path>/a</path></server><note>one <b>two</b> three</note></c>')
    assert [(b.kind.value, b.text, b.section) for b in body.blocks] == [
        ("form_field", "note: one two three", []),
        ("heading", "server", []),
        ("form_field", "host: h", ["server"]),
        ("form_field", "port: 080", ["server"]),
        ("form_field", "path: /a", ["server"]),
    ]


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the hidden word")
    text = (
        f'<!DOCTYPE n [<!ENTITY f SYSTEM "{secret.as_uri()}"><!ENTITY % p SYSTEM "{secret.as_uri()}"> %p;'
        '<!ENTITY in "inner">]><n><p>The ferns &f;are &in;.</p></n>'
    )
    body = xml(tmp_path, text)
    assert [b.text for b in body.blocks] == ["The ferns are inner."]
    assert "external_entity" in body.warnings
    assert [(d.what, d.count) for d in body.dropped] == [("external_entity", 2)]


def test_names_that_nothing_declares_stay(tmp_path: Path) -> None:
    body = xml(tmp_path, "<n><p>a&nbsp;b &eacute; &what;</p></n>")
    assert [b.text for b in body.blocks] == ["a b é &what;"]
    assert "undefined_entity" in body.warnings


def _laughs(depth: int) -> str:
    more = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, depth))
    return f'<!DOCTYPE l [<!ENTITY l0 "laugh">{more}]><l>&l{depth - 1};</l>'


@pytest.mark.parametrize(
    "text",
    [
        _laughs(10),
        '<!DOCTYPE l [<!ENTITY a "&b;"><!ENTITY b "&a;">]><l>&a;</l>',
        f'<!DOCTYPE l [<!ENTITY a "{"x" * 50_000}">]><l>{"&a;" * 5000}</l>',
    ],
    ids=["laughs", "circle", "quadratic"],
)
def test_bombs_cost_nothing(tmp_path: Path, text: str) -> None:
    began = time.perf_counter()
    assert problem(tmp_path, text)[0] == "bomb"
    assert time.perf_counter() - began < 5


def test_cut_off(tmp_path: Path) -> None:
    code, message = problem(tmp_path, "<a><b>one</b><c>tw")
    assert code == "truncated"
    assert "inside <c>, after 5 characters" in message
    assert problem(tmp_path, "<a><b x='1")[0] == "truncated"
    assert problem(tmp_path, "<!-- nothing -->")[0] == "truncated"


def test_lone_ampersands_and_open_tags_are_mended(tmp_path: Path) -> None:
    body = xml(tmp_path, "<n><p>Salt & pepper</p><p>More of it, much more.</p></n>")
    assert [b.text for b in body.blocks] == ["Salt & pepper", "More of it, much more."]
    assert "malformed_xml" in body.warnings
    body = xml(tmp_path, "<n><p>One <i>two &eacute; &what;</p><p>three four five six seven</p><!-- no --></n>")
    assert "malformed_xml" in body.warnings
    assert "two é &what;" in " ".join(b.text for b in body.blocks)
    assert "three four five six seven" in " ".join(b.text for b in body.blocks)


def test_what_can_not_be_mended_says_where(tmp_path: Path) -> None:
    code, message = problem(tmp_path, "<a>first</a>\n<b>" + "second root " * 20 + "</b>")
    assert code == "parser_error"
    assert "line 2" in message


def test_depth_is_bounded(tmp_path: Path) -> None:
    body = xml(tmp_path, "<a>" * 200_000 + "deep" + "</a>" * 200_000)
    assert body.blocks[-1].text.endswith("deep")
    body = xml(tmp_path, "<p>" * 2000 + "deep" + "</p>" * 2000)
    assert body.blocks[-1].text == "deep"


def test_too_many_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_parse, "MAX_TAGS", 10)
    assert problem(tmp_path, "<a>" + "<b/>" * 20 + "</a>")[0] == "too_large"


def test_the_detected_encoding_beats_the_declared_one(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="UTF-8"?><n><p>Grüße aus Łódź</p></n>'
    for encoding in ("utf-16-le", "iso-8859-2"):
        assert [b.text for b in xml(tmp_path, text, encoding=encoding).blocks] == ["Grüße aus Łódź"]


def test_feeds(tmp_path: Path) -> None:
    text = (
        "<rss><channel><title>News</title><language>en</language><lastBuildDate>Tue, 01 Oct 2024 10:00:00 +0200"
        "</lastBuildDate><item><title>Ferry</title><description>&lt;p&gt;It runs &lt;b&gt;again&lt;/b&gt;.&lt;/p&gt;"
        "</description><pubDate>Mon, 30 Sep 2024 09:00:00 GMT</pubDate></item></channel></rss>"
    )
    body = xml(tmp_path, text, "application/rss+xml")
    assert (body.title, body.modified) == ("News", "2024-10-01T08:00:00Z")
    assert kinds(body) == [
        ("title", "News"),
        ("heading", "Ferry"),
        ("paragraph", "It runs again."),
        ("form_field", "pubDate: Mon, 30 Sep 2024 09:00:00 GMT"),
    ]


def test_atom(tmp_path: Path) -> None:
    text = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><updated>2024-10-01T08:00:00Z</updated><author>'
        '<name>Kim</name></author><entry><title>One</title><link href="https://example.org/1"/><summary>Short.</summary>'
        "<content>Long and whole.</content></entry></feed>"
    )
    body = xml(tmp_path, text, "application/atom+xml")
    assert (body.title, body.authors, body.modified) == ("Log", ["Kim"], "2024-10-01T08:00:00Z")
    assert ("form_field", "link: https://example.org/1") in kinds(body)
    assert ("paragraph", "Long and whole.") in kinds(body)


def test_drawings_say_what_is_written_in_them(tmp_path: Path) -> None:
    body = xml(
        tmp_path,
        "<svg><title>Plan</title><style>.a{}</style><g><text><tspan>Deck</tspan><tspan>two</tspan></text></g></svg>",
        "image/svg+xml",
    )
    assert kinds(body) == [("title", "Plan"), ("paragraph", "Deck two")]


def test_property_lists(tmp_path: Path) -> None:
    body = xml(
        tmp_path,
        "<plist><dict><key>Name</key><string>App</string><key>V</key><real>1.50</real><key>On</key><true/></dict></plist>",
        "application/x-plist",
    )
    assert [b.text for b in body.blocks] == ["Name: App", "V: 1.50", "On: true"]


def test_books_without_their_pictures(tmp_path: Path) -> None:
    text = (
        "<FictionBook><description><title-info><author><first-name>Jo</first-name><last-name>Do</last-name></author>"
        "<book-title>Sky</book-title></title-info></description><body><section><title><p>I</p><p>Start</p></title>"
        f"<p>It was late.</p></section></body><binary>{'QUJD' * 500}</binary></FictionBook>"
    )
    body = xml(tmp_path, text, "application/x-fictionbook+xml")
    assert (body.title, body.authors) == ("Sky", ["Jo Do"])
    assert ("heading", "I Start") in kinds(body)
    assert [(d.what, d.count) for d in body.dropped] == [("binary_data", 1)]


def test_sheets_with_gaps(tmp_path: Path) -> None:
    text = (
        '<Workbook><Worksheet Name="Stock"><Table><Row><Cell><Data>Name</Data></Cell><Cell><Data>Shelf</Data></Cell>'
        '<Cell><Data>Pieces</Data></Cell></Row><Row><Cell><Data>Bolt</Data></Cell><Cell Index="3"><Data>5</Data></Cell>'
        "</Row></Table></Worksheet></Workbook>"
    )
    body = xml(tmp_path, text, "application/vnd.ms-spreadsheetml")
    assert kinds(body)[0] == ("heading", "Stock")
    assert table_rows(body.tables[0]) == [["Name", "Shelf", "Pieces"], ["Bolt", "", "5"]]
