"""HTML as a reader sees it: structure kept, furniture labelled, hostile nesting bounded."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.extract.finish import body_text
from streams.extract.html import flatten
from streams.extract.render import table_records, table_rows
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds


def html(folder: Path, body: str, head: str = "") -> CanonBody:
    return canon(folder, f"<!doctype html><html><head>{head}</head><body>{body}</body></html>", "text/html")


def dropped(body: CanonBody) -> dict[str, int]:
    return {d.what: d.count for d in body.dropped}


def test_inline_text_and_white_space(tmp_path: Path) -> None:
    body = html(tmp_path, "<p>A <b>bo</b>ld\n   word,<br> and <i>more</i> <q>said</q></p>loose<div>text</div>")
    assert kinds(body) == [
        ("paragraph", "A bold word,\nand more “said”"),
        ("paragraph", "loose"),
        ("paragraph", "text"),
    ]


def test_lists_nest_and_number(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<ol start=3><li>a<ul><li>b</li></ul><li value=9><p>c</p><p>d</p></ol>"
        "<ol type=i><li>x<li>y</ol><dl><dt>t<dd>u</dl>",
    )
    assert [(b.kind.value, b.marker, b.level, b.text) for b in body.blocks] == [
        ("list_item", "3.", 1, "a"),
        ("list_item", "•", 2, "b"),
        ("list_item", "9.", 1, "c"),
        ("list_item", None, 1, "d"),
        ("list_item", "i.", 1, "x"),
        ("list_item", "ii.", 1, "y"),
        ("paragraph", None, None, "t"),
        ("list_item", None, 1, "u"),
    ]
    assert "  • b" in body_text(body)


def test_code_quotes_links(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<pre><code>if x:\n    y\n</code></pre><blockquote><p>q</p></blockquote>"
        "<p><a href='/a'>one <b>two</b></a> <a>no</a></p>",
    )
    assert kinds(body) == [("code", "if x:\n    y"), ("quote", "q"), ("paragraph", "one two no")]
    assert [(x.text, x.target) for x in body.blocks[2].links] == [("one two", "/a")]


def test_what_is_not_shown_is_counted(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<p>seen</p><script>s()</script><style>x</style><template><p>t</p></template><noscript>n</noscript>"
        "<p hidden><img></p><b style='color:red; display:none'></b>"
        "<p style='visibility: hidden'><script>s()</script></p><svg><text>v</text></svg>",
    )
    assert kinds(body) == [("paragraph", "seen")]
    assert dropped(body) == {
        "drawing": 1, "hidden_element": 3, "noscript": 1, "script": 1, "style": 1, "template": 1
    }  # fmt: skip


def test_hidden_text_is_kept_where_it_stands(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<h1>Terms</h1><p>seen</p>"
        "<div hidden><h2>Fold</h2><p>of the <b>fold</b></p><script>s()</script><div hidden>deep</div></div>"
        "<figure><img alt=a><figcaption>c<i hidden>x</i></figcaption></figure>"
        "<table><tr><td>1</td><td>2<b style='display:none'>cell</b></td></tr><tr><td>3</td><td>4</td></tr></table>",
    )
    assert [(b.kind.value, b.text, b.hidden) for b in body.blocks] == [
        ("heading", "Terms", False),
        ("paragraph", "seen", False),
        ("paragraph", "Fold\nof the fold\ndeep", True),
        ("figure", "a", False),
        ("paragraph", "x", True),
        ("caption", "c", False),
        ("paragraph", "cell", True),
        ("table", "1\t2\n3\t4", False),
    ]
    assert body.blocks[5].ref == body.blocks[3].id
    assert body.blocks[2].section == ["Terms"]
    assert (body.warnings, body.metadata["hidden_characters"], dropped(body)) == (["hidden_text"], "26", {})


@pytest.mark.parametrize(
    "style",
    [
        "opacity:0", "OPACITY: 0.0 !important", "font-size:0", "font-size: 1px", "position:absolute;left:-9999px",
        "position: fixed; top: -100em", "text-indent:-9999px", "color:white;background:#FFF", "color:#fefefe",
        "color:rgba(0, 0, 0, 0)", "height:0;overflow:hidden", "max-height:0px; overflow: hidden",
        "clip-path:inset(100%)", "position:absolute;clip:rect(0 0 0 0)", "transform: scale(0)", "margin-left:-2000px",
    ],
)  # fmt: skip
def test_text_hidden_by_its_style_is_hidden(tmp_path: Path, style: str) -> None:
    body = html(tmp_path, f"<p>seen</p><p style='{style}'>ignore all else</p><p>seen, too</p>")
    assert [b.text for b in body.blocks if b.hidden] == ["ignore all else"]
    assert body_text(body).split() == ["seen", "seen,", "too"]
    by_class = html(tmp_path, "<p>seen</p><p class='a x'>ignore</p>", f"<style>/* {{ */ .x {{{style}}}</style>")
    assert [b.text for b in by_class.blocks if b.hidden] == ["ignore"]


@pytest.mark.parametrize(
    "markup",
    [
        "<div style='font-size:0'><p style='font-size:14px'>seen</p></div>",
        "<div style='background:#123'><p style='color:white'>seen</p></div>",
        "<table bgcolor=#000080><tr><td><font color=white>seen</font></table>",
        "<div background=a.png><p style='color:white'>seen</p></div>",
        "<p style='color:red;background:white'>seen</p>",
        "<p style='opacity:0.9;position:absolute;left:-20px'>seen</p>",
        "<div style='height:0;padding-bottom:56%;overflow:hidden'>seen</div>",
        "<style>.x{display:none} .open .x{display:block}</style><p class=x>seen</p>",
        "<style>@media print{.x{display:none}}</style><p class=x>seen</p>",
        "<style>.x{display:none}</style><p class=x style='display:block'>seen</p>",
        "<script>s()</script><p style='opacity:0;transform:translateY(9px)'>seen</p>",
        "<script>s()</script><div style='opacity:0'>seen</div>",
        "<link rel=stylesheet href=a.css><p style='color:white'>seen</p>",
    ],
)
def test_what_a_style_may_show_is_not_hidden(tmp_path: Path, markup: str) -> None:
    body = html(tmp_path, markup)
    assert "seen" in body_text(body)
    assert not any(b.hidden for b in body.blocks)


def test_hostile_styles_cost_bounded_time(tmp_path: Path) -> None:
    began = time.process_time()
    html(
        tmp_path,
        "<p class=a style='color:white'>x" * 2000 + "<b style='font-size:0'>y" * 2000,
        "<style>" + "/*" * 200_000,
    )
    html(tmp_path, "<p class='x a'>x" * 5000, "<style>" + ".x.a{display:none}.b .x{color:red}" * 20_000 + "</style>")
    assert time.process_time() - began < 10


def test_furniture_is_labelled(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<header><nav><ul><li>Home</ul></nav></header><div role=banner>Brand</div>"
        "<main><article><header><h1>T</h1></header>"
        "<p>text</p><aside>more</aside><footer>by Ann</footer></article></main><footer>imprint</footer>",
    )
    assert kinds(body) == [
        ("boilerplate", "Home"),
        ("boilerplate", "Brand"),
        ("heading", "T"),
        ("paragraph", "text"),
        ("boilerplate", "more"),
        ("paragraph", "by Ann"),
        ("boilerplate", "imprint"),
    ]
    assert body_text(body) == "T\n\ntext\n\nby Ann"


def test_the_only_h1_may_stand_in_the_header(tmp_path: Path) -> None:
    assert ("heading", "T") in kinds(html(tmp_path, "<header><h1>T</h1></header><p>x</p>"))
    assert ("boilerplate", "Site") in kinds(html(tmp_path, "<header><h1>Site</h1></header><h1>T</h1>"))


def test_figures_bind_their_captions(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<figure><img src=a alt='A quay'><figcaption>Fig. 1</figcaption></figure><p>x <img alt=''> <img alt=dot> y</p>",
    )
    assert kinds(body) == [("figure", "A quay"), ("caption", "Fig. 1"), ("paragraph", "x y"), ("figure", "dot")]
    assert body.blocks[1].ref == body.blocks[0].id
    assert dropped(body) == {"image_without_alt": 1}


def test_table_with_spans_and_two_header_rows(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<table><caption>Table 2: visits</caption><thead><tr><th rowspan=2>Place<th colspan=2>Spring"
        "<tr><th>Adults<th>Kids"
        "<tbody><tr><td rowspan=2>Rose<td>1<td>2<tr><td>3<td>0</table>",
    )
    table = body.tables[0]
    assert table_rows(table) == [["Place", "Spring", ""], ["", "Adults", "Kids"], ["Rose", "1", "2"], ["", "3", "0"]]
    assert table_records(table)[1] == {"Place": "Rose", "Spring / Adults": "3", "Spring / Kids": "0"}
    assert (table.header_rows, table.number, table.caption) == (2, "2", "Table 2: visits")
    assert kinds(body)[0] == ("caption", "Table 2: visits")
    assert body.blocks[0].ref == body.blocks[1].id


def test_lists_and_tables_in_cells(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<table><tr><th>Line<th>Times<tr><td>Island<td><ul><li>8:10<li>9:10</ul>"
        "<tr><td>B<td><table><tr><td>in<td>ner</table></table>",
    )
    assert table_rows(body.tables[0]) == [["Line", "Times"], ["Island", "• 8:10\n• 9:10"], ["B", "in\nner"]]
    assert body.warnings == ["nested_table"]
    assert len(body.tables) == 1


def test_header_columns_and_bold_first_row(tmp_path: Path) -> None:
    body = html(
        tmp_path, "<table><tr><td><b>a</b><td><b>b</b><tr><td>1<td>2</table><table><tr><th>x<td>1<tr><th>y<td>2</table>"
    )
    assert (body.tables[0].header_rows, body.tables[0].header_cols) == (1, 0)
    assert (body.tables[1].header_rows, body.tables[1].header_cols) == (0, 1)


def test_layout_tables_are_walked_as_blocks(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<table><tr><td><h2>News</h2><p>text</p><td><table><tr><th>k<tr><td>v</table></table>"
        "<table role=presentation><tr><td>z</table>",
    )
    assert kinds(body) == [("heading", "News"), ("paragraph", "text"), ("table", "k\nv"), ("paragraph", "z")]


def test_metadata_and_dates(tmp_path: Path) -> None:
    body = html(
        tmp_path,
        "<p>Der Steg wird im Winter nicht geräumt, und die Boote liegen im Schuppen.</p>",
        "<title> Boats \n at rest</title><meta name=author content='Ann B.'><meta property='article:published_time' "
        "content='2023-11-08T01:30:00+02:00'><meta name='dcterms.modified' content='2024-13-45'>"
        "<meta name=description content='On boats'>",
    )
    assert (body.title, body.authors, body.created, body.modified) == (
        "Boats at rest",
        ["Ann B."],
        "2023-11-07T23:30:00Z",
        None,
    )
    assert "bad_date" in body.warnings
    assert body.metadata == {"description": "On boats"}
    assert body.language == "de"


def test_linked_data(tmp_path: Path) -> None:
    data = '{"@graph": [{"datePublished": "2024-05-06", "author": {"name": "Bo"}}]}'
    head = f'<script type="application/ld+json">{data}</script>'
    body = html(tmp_path, "<p>x</p>", head)
    assert (body.created, body.authors) == ("2024-05-06", ["Bo"])


@pytest.mark.parametrize(
    ("page", "head", "kind"),
    [
        ("<h1>Sign in</h1><form><input name=u><input type=password></form>", "", "login_page"),
        ("<h1>Access denied</h1><p>You have no rights.</p>", "<title>403</title>", "gate_page"),
        ("<div id=root></div><script src=a.js></script>", "", "script_shell"),
        ("<noscript>You need to enable JavaScript to run this app.</noscript>", "", "script_shell"),
        ("<p>One more step</p><div class=g-recaptcha></div>", "", "captcha_page"),
    ],
)
def test_pages_that_are_no_documents(tmp_path: Path, page: str, head: str, kind: str) -> None:
    assert html(tmp_path, page, head).warnings == ["not_content", kind]


@pytest.mark.parametrize(
    "page",
    [
        "<p>Short note.</p>",
        "<h1>Signs in the harbour</h1><p>They are new.</p>",
        "<script>x()</script><p>Short.</p>",
        "<h1>Sign in with a key</h1><p>" + "How it works in detail. " * 100 + "</p><input type=password>",
    ],
)
def test_short_pages_are_documents(tmp_path: Path, page: str) -> None:
    assert html(tmp_path, page).warnings == []


def test_xhtml_keeps_what_html_would_swallow(tmp_path: Path) -> None:
    source = (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a"/></head>'
        "<body><p><![CDATA[a < b]]></p><div/><p>c</p></body></html>"
    )
    assert kinds(canon(tmp_path, source, "application/xhtml+xml")) == [("paragraph", "a < b"), ("paragraph", "c")]


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 50_000 + "deep",
        "<ul><li>x" * 20_000 + "deep",
        "<blockquote>" * 50_000 + "deep",
        "<table><tr><td>" * 20_000 + "deep",
        "<b><i>" * 25_000 + "deep",
    ],
)
def test_deep_nesting_ends_and_keeps_the_text(tmp_path: Path, page: str) -> None:
    began = time.perf_counter()
    body = html(tmp_path, page)
    assert time.perf_counter() - began < 20
    assert "deep" in body_text(body)
    assert "deep_nesting" in body.warnings


def test_flatten_leaves_ordinary_pages_alone() -> None:
    page = "<div><p>x<p>y</div>" * 2000 + "<script>'<div>'</script><!-- <div> -->" * 600
    assert flatten(page) == (page, 0)


def test_spans_beyond_measure(tmp_path: Path) -> None:
    body = html(tmp_path, "<table><tr><th rowspan=1000000000 colspan=5000000>a<th>b<tr><td>c<td>d</table>")
    table = body.tables[0]
    assert table.n_cols <= 1003
    assert all(cell.row + cell.row_span <= table.n_rows for cell in table.cells)
    rows = "<tr><td rowspan=65534>a<td rowspan=0>b" * 1500
    body = html(tmp_path, f"<table><tr><th>h{rows}</table>")
    assert body_text(body).count("a") == 1500
    assert "table_too_large" in body.warnings


def test_a_big_table_is_whole(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>{n}" + "<td>1" * 19 for n in range(1500))
    body = html(tmp_path, f"<table><tr><th>n{'<th>x' * 19}{rows}</table>")
    assert (body.tables[0].n_rows, body.tables[0].n_cols, len(body.tables[0].cells)) == (1501, 20, 30020)
    assert body.warnings == []
