"""Markdown's tokens become blocks; front matter becomes metadata; nothing is lost to limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.extract.render import table_records, to_markdown
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds

MARKDOWN = "text/markdown"


def md(folder: Path, text: str) -> CanonBody:
    return canon(folder, text, MARKDOWN)


def test_headings_lists_code_quotes(tmp_path: Path) -> None:
    body = md(
        tmp_path,
        "# Boats\n\nTwo\nlines.\n\n3. oak\n4. larch\n   - knees\n\n   more larch\n\n> said\n\n"
        "```py\nx = 1\n\ny\n```\n\nEnd\n===\n",
    )
    assert kinds(body) == [
        ("heading", "Boats"),
        ("paragraph", "Two lines."),
        ("list_item", "oak"),
        ("list_item", "larch"),
        ("list_item", "knees"),
        ("list_item", "more larch"),
        ("quote", "said"),
        ("code", "x = 1\n\ny"),
        ("heading", "End"),
    ]
    items = [(b.marker, b.level) for b in body.blocks if b.kind.value == "list_item"]
    assert items == [("3.", 1), ("4.", 1), ("•", 2), (None, 1)]


def test_tables(tmp_path: Path) -> None:
    body = md(tmp_path, "| Tree | m |\n|---|--:|\n| oak | 30 |\n| [larch](http://l) |  |\n")
    assert table_records(body.tables[0]) == [{"Tree": "oak", "m": "30"}, {"Tree": "larch", "m": ""}]
    assert body.blocks[0].text == "Tree\tm\noak\t30\nlarch"
    assert [(link.text, link.target) for link in body.blocks[0].links] == [("larch", "http://l")]


def test_links_and_images(tmp_path: Path) -> None:
    body = md(tmp_path, "See [the *map*](m.html) here. ![A quay](q.png) ![](x.png)\n")
    assert kinds(body) == [("paragraph", "See the map here."), ("figure", "A quay")]
    assert [(link.text, link.target) for link in body.blocks[0].links] == [("the map", "m.html")]
    assert [(d.what, d.count) for d in body.dropped] == [("image_without_alt", 1)]


def test_front_matter(tmp_path: Path) -> None:
    body = md(tmp_path, "---\ntitle: Boats\nauthor: [Ann, Bo]\ndate: 2024-03-01\ntags: [a, b]\n---\n\nText.\n")
    assert kinds(body) == [("paragraph", "Text.")]
    assert (body.title, body.authors, body.created) == ("Boats", ["Ann", "Bo"], "2024-03-01")
    assert body.metadata == {"tags": "a, b"}


@pytest.mark.parametrize("text", ["---\njust a rule\n---\n\nText.\n", "---\na: [\n---\n\nText.\n"])
def test_what_is_no_front_matter_is_text(tmp_path: Path, text: str) -> None:
    body = md(tmp_path, text)
    assert body.title is None
    assert "Text." in [b.text for b in body.blocks]
    assert any(("just a rule" in b.text) or ("a: [" in b.text) for b in body.blocks)


def test_a_date_that_is_none_is_flagged(tmp_path: Path) -> None:
    body = md(tmp_path, "---\ndate: 2024-02-31\n---\nText.\n")
    assert body.created is None
    assert "bad_date" in body.warnings


def test_html_in_markdown(tmp_path: Path) -> None:
    body = md(tmp_path, "<table><tr><th>a<tr><td>1</table>\n\nText<br>more <b>bold</b>\n\n<script>x()</script>\n")
    assert kinds(body) == [("table", "a\n1"), ("paragraph", "Text\nmore bold")]
    assert body.blocks[0].table == 0


def test_deep_nesting_is_read_as_text(tmp_path: Path) -> None:
    body = md(tmp_path, "> " * 3000 + "bottom\n")
    assert "bottom" in body.blocks[0].text
    assert body.warnings == ["markdown_as_text"]


def test_rendering_gives_the_same_blocks_again(tmp_path: Path) -> None:
    source = (
        "# A * star\n\n1. one\n2. two\n\n> q\n\nText with [link](http://a/b) and 3. no list\n\n"
        "| a | b |\n|---|---|\n| 1 | x\\|y |\n"
    )
    first = md(tmp_path, source)
    again = md(tmp_path, to_markdown(first))
    assert kinds(again) == kinds(first)
