"""Books: the order of the spine, the levels of the contents, notes and data of the book; damage and protection told."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.decode.identify import identify
from streams.errors import DocumentError
from streams.extract import ooxml
from streams.extract.finish import body_text
from streams.extract.render import table_rows
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds
from tests.unit.extract.epub_files import book, item, page

EPUB = "application/epub+zip"
TWO = item("a", "a.xhtml") + item("b", "b.xhtml")


def read(folder: Path, data: bytes) -> CanonBody:
    return canon(folder, data, EPUB)


def encryption(algorithm: str, target: str = "OEBPS/a.xhtml") -> dict[str, str | bytes]:
    return {
        "META-INF/encryption.xml": '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc='
        f'"http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="{algorithm}"/>'
        f'<enc:CipherData><enc:CipherReference URI="{target}"/></enc:CipherData></enc:EncryptedData></encryption>'
    }


def test_a_book_is_told_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(book({"a.xhtml": page("<p>x</p>")}, manifest=item("a", "a.xhtml"), spine="a"))
    assert identify(path, path.stat().st_size, file_name="x.zip", http_content_type=None).media_type == EPUB


def test_chapters_come_in_the_order_of_the_spine_with_what_the_book_says_of_itself(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.xhtml": page("<h1>One</h1><p>first</p>"), "b.xhtml": page("<p>second</p>")}
    body = read(tmp_path, book(files, manifest=item("b", "b.xhtml") + item("a", "a.xhtml"), spine="b a"))
    assert kinds(body) == [("paragraph", "second"), ("heading", "One"), ("paragraph", "first")]
    assert (body.title, body.authors, body.created, body.modified) == (
        "The Winch",
        ["Ann Bell"],
        "2019-05-06",
        "2020-01-02T03:04:05Z",
    )
    assert body.warnings == []


def test_a_year_is_a_date_and_no_day(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.xhtml": page("<p>x</p>")}
    data = "<dc:title>T</dc:title><dc:date>1922</dc:date><meta property='rendition:layout'>pre-paginated</meta>"
    body = read(tmp_path, book(files, manifest=item("a", "a.xhtml"), spine="a", data=data))
    assert (body.created, body.metadata, body.warnings) == (None, {"published": "1922", "layout": "fixed"}, [])
    data = "<dc:title>T</dc:title><dc:date>next spring</dc:date>"
    assert read(tmp_path, book(files, manifest=item("a", "a.xhtml"), spine="a", data=data)).warnings == ["bad_date"]


CONTENTS = (
    "<nav epub:type='toc'><ol><li><a href='a.xhtml'>Part I</a><ol><li><a href='b%20c.xhtml#s'>The rope</a></li></ol>"
    "</li><li><a href='none.xhtml'>Gone</a></li></ol></nav><nav epub:type='page-list'><ol><li><a>1</a></li></ol></nav>"
)


def test_the_navigation_gives_levels_to_headings(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "nav.xhtml": page(CONTENTS),
        "a.xhtml": page("<h1>Part I</h1><p>p</p>"),
        "b c.xhtml": page("<h1 id='s'>The rope</h1><h2>Its end</h2><p>q</p>"),
    }
    manifest = (
        item("n", "nav.xhtml", more='properties="nav"') + item("a", "a.xhtml") + item("b", "b%20c.xhtml")
    )  # fmt: skip
    body = read(tmp_path, book(files, manifest=manifest, spine="a b"))
    assert [(b.text, b.level) for b in body.blocks if b.kind.value == "heading"] == [
        ("Part I", 1),
        ("The rope", 2),
        ("Its end", 3),
    ]
    assert body.blocks[-1].section == ["Part I", "The rope", "Its end"]
    assert body.warnings == ["outline_target_missing"]


def test_the_ncx_makes_headings_of_paragraphs(tmp_path: Path) -> None:
    ncx = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>One</text></navLabel>'
        '<content src="a.xhtml"/><navPoint><navLabel><text>Two</text></navLabel><content src="a.xhtml#t"/></navPoint>'
        "</navPoint></navMap></ncx>"
    )
    files: dict[str, str | bytes] = {
        "toc.ncx": ncx,
        "a.xhtml": page("<p class='h'>ONE</p><p>text</p><p id='t'>Two</p><p>more</p>"),
    }
    manifest = item("x", "toc.ncx", "application/x-dtbncx+xml") + item("a", "a.xhtml")
    body = read(tmp_path, book(files, manifest=manifest, spine="a", toc='toc="x"'))
    assert [(b.kind.value, b.level, b.text) for b in body.blocks] == [
        ("heading", 1, "ONE"),
        ("paragraph", None, "text"),
        ("heading", 2, "Two"),
        ("paragraph", None, "more"),
    ]
    assert body.warnings == []


def test_notes_belong_to_their_marks_and_page_breaks_are_no_text(tmp_path: Path) -> None:
    first = page(
        "<p>A rope<a epub:type='noteref' href='b.xhtml#n1'>7</a> of <span epub:type='pagebreak' title='12'>12</span>"
        "hemp.</p><p>A knot<a href='#k'>*</a>.</p><aside epub:type='footnote' id='k'><p>Bowline.</p></aside>"
    )
    files: dict[str, str | bytes] = {
        "a.xhtml": first,
        "b.xhtml": page(
            "<section epub:type='endnotes'><ol><li epub:type='endnote' id='n1'>From Manila.</li></ol></section>"
        ),
    }
    body = read(tmp_path, book(files, manifest=TWO, spine="a b"))
    assert kinds(body) == [
        ("paragraph", "A rope7 of hemp."),
        ("paragraph", "A knot*."),
        ("footnote", "Bowline."),
        ("footnote", "From Manila."),
    ]
    assert [(b.ref, b.marker) for b in body.blocks[2:]] == [(body.blocks[1].id, "*"), (body.blocks[0].id, "7")]
    assert body.metadata["print_pages"] == "1"


def test_asides_headers_and_navigation_follow_the_rules_of_books(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.xhtml": page(
            "<header><h1>One</h1></header><aside><p>Beside.</p></aside><footer><p>Below.</p></footer>"
            "<div class='sidebar related'><p>A box.</p></div><nav epub:type='toc'><p>One</p></nav>"
            "<figure><img src='w.png' alt='A winch'/><figcaption>Fig. 1</figcaption></figure>"
            "<table><tr><th colspan='2'>Load</th></tr><tr><td>1</td><td>2</td></tr></table>"
        )
    }
    body = read(tmp_path, book(files, manifest=item("a", "a.xhtml"), spine="a"))
    assert kinds(body) == [
        ("heading", "One"),
        ("paragraph", "Beside."),
        ("paragraph", "Below."),
        ("paragraph", "A box."),
        ("boilerplate", "One"),
        ("figure", "A winch"),
        ("caption", "Fig. 1"),
        ("table", "Load\n1\t2"),
    ]
    assert table_rows(body.tables[0]) == [["Load", ""], ["1", "2"]]


@pytest.mark.parametrize("algorithm", ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"])
def test_obfuscated_fonts_cost_nothing(tmp_path: Path, algorithm: str) -> None:
    files: dict[str, str | bytes] = {"a.xhtml": page("<p>x</p>")}
    data = book(files, manifest=item("a", "a.xhtml"), spine="a", extra=encryption(algorithm, "OEBPS/f.otf"))
    assert kinds(read(tmp_path, data)) == [("paragraph", "x")]


def test_protected_books_are_encrypted(tmp_path: Path) -> None:
    extra = encryption("http://www.w3.org/2001/04/xmlenc#aes256-cbc")
    data = book({"a.xhtml": b"\x91\x02" * 500}, manifest=item("a", "a.xhtml"), spine="a", extra=extra)
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, data)
    assert caught.value.problem == "encrypted"


@pytest.mark.parametrize(
    ("manifest", "spine", "warning"),
    [
        (TWO, "a none b", "part_missing"),
        (TWO, "a a b a", "spine_repeats"),
        (TWO, "a", "outside_spine"),
        (TWO, "", "spine_missing"),
        (TWO + item("c", "gone.xhtml"), "a c b", "part_missing"),
        (item("a", "a.xhtml", "text/plain") + item("b", "b.xhtml"), "a b", "wrong_media_type"),
        (item("a", "./x/../a.xhtml") + item("b", "%62.xhtml"), "a b", None),
        (
            item("s", "s.bin", "x/y", 'fallback="t"') + item("t", "t.bin", "x/y", 'fallback="s"') + TWO,
            "s a b",
            "part_missing",
        ),
        (item("s", "s.pdf", "application/pdf", 'fallback="a"') + TWO, "s b", None),
        (item("r", "https://example.org/r.xhtml") + TWO, "r a b", "part_missing"),
        (item("up", "../../../etc/passwd.xhtml") + TWO, "up a b", "part_missing"),
    ],
)
def test_faults_of_the_package_lose_no_chapter(tmp_path: Path, manifest: str, spine: str, warning: str | None) -> None:
    files: dict[str, str | bytes] = {"a.xhtml": page("<p>first</p>"), "b.xhtml": page("<p>second</p>")}
    body = read(tmp_path, book(files, manifest=manifest, spine=spine))
    assert body_text(body) == "first\n\nsecond"
    assert body.warnings == ([warning] if warning else [])


def test_a_damaged_chapter_does_not_cost_the_others(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.xhtml": page("<p>first and long " + "x" * 3000),
        "b.xhtml": page("<p>second</p>"),
    }
    data = bytearray(book(files, manifest=TWO, spine="a b"))
    at = data.index(b"OEBPS/a.xhtml") + 30
    data[at : at + 20] = b"\xff" * 20
    body = read(tmp_path, bytes(data))
    assert body_text(body) == "second"
    assert body.warnings == ["part_damaged"]


def test_drawings_of_the_spine_give_their_words(tmp_path: Path) -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg"><title>Plate 1</title><desc>A winch</desc><script>x()</script>'
        '<g><text x="1">Drum <tspan>and</tspan> pawl</text></g></svg>'
    )
    manifest = item("s", "s.svg", "image/svg+xml") + item("p", "p.png", "image/png")
    body = read(tmp_path, book({"s.svg": svg, "p.png": b"\x89PNG"}, manifest=manifest, spine="s p"))
    assert kinds(body) == [("figure", "Plate 1\nA winch"), ("paragraph", "Drum and pawl"), ("figure", "")]


def test_pictures_that_share_a_page_stand_for_themselves(tmp_path: Path) -> None:
    manifest = "".join(item(f"i{n}", f"{n}.png", "image/png", 'fallback="t"') for n in range(3)) + item("t", "t.xhtml")
    files: dict[str, str | bytes] = {f"{n}.png": b"\x89PNG" for n in range(3)}
    body = read(tmp_path, book({**files, "t.xhtml": page("<p>t</p>")}, manifest=manifest, spine="i0 i1 i2"))
    assert kinds(body) == [("paragraph", "t"), ("figure", ""), ("figure", "")]
    assert body.warnings == []


def test_bytes_and_encodings(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.xhtml": page("<p>Seil&#160;und&nbsp;Öse</p>").replace("utf-8", "utf-16").encode("utf-16"),
        "b.xhtml": page("<p>Öse</p>").replace("utf-8", "iso-8859-1").encode("latin-1"),
    }
    assert kinds(read(tmp_path, book(files, manifest=TWO, spine="a b"))) == [
        ("paragraph", "Seil\u00a0und\u00a0Öse"),
        ("paragraph", "Öse"),
    ]
    body = read(tmp_path, book({"a.xhtml": b"<p>\xd6se</p>"}, manifest=item("a", "a.xhtml"), spine="a"))
    assert body.warnings == ["invalid_bytes"]


def test_without_a_package_document_it_is_corrupt(tmp_path: Path) -> None:
    for extra in ({"OEBPS/book.opf": "<package>"}, {"META-INF/container.xml": "no xml", "OEBPS/book.opf": ""}):
        with pytest.raises(DocumentError) as caught:
            read(tmp_path, book({}, manifest="", spine="", extra=dict(extra)))
        assert caught.value.problem == "corrupt"
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, book({}, manifest="", spine=""))
    assert caught.value.problem == "corrupt"


def test_bombs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml, "MAX_PART", 1 << 20)
    data = book({"a.xhtml": page("<p>" + " " * (4 << 20))}, manifest=item("a", "a.xhtml"), spine="a")
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, data)
    assert caught.value.problem == "bomb"


def test_entities_of_a_package_document_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    opf = (
        f'<!DOCTYPE p [<!ENTITY e SYSTEM "file://{tmp_path}/secret"><!ENTITY b "bbbbbbbbbb">]><package><metadata>'
        '<title>A&e;&b;</title></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '</manifest><spine><itemref idref="a"/></spine></package>'
    )
    body = read(tmp_path, book({"a.xhtml": page("<p>x</p>")}, manifest="", spine="", extra={"OEBPS/book.opf": opf}))
    assert "secret" not in (body.title or "")
    assert kinds(body) == [("paragraph", "x")]
