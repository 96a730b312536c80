"""The article of a page is its body text, what stands around it is labelled; a page without one loses nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.extract.finish import body_text
from streams.extract.html import parse
from streams.records import BlockKind, CanonBody
from tests.unit.extract.drafts import canon

SENTENCES = (
    "The ferry left the quay at six, an hour late, because the ice had not let go of the ramp.",
    "Nobody on board minded much; the coffee was hot, and the lake was as still as a plate.",
    "By noon the council had met, and it agreed to keep the winter timetable for another week.",
    "Anyone who holds a ticket for the late crossing can change it at the kiosk without a fee.",
)
NAVIGATION = "<nav><ul><li><a href=/>Home page</a><li><a href=/news>All news</a></ul></nav>"
FOOTER = (
    "<div class=site-footer><p>Imprint and <a href=/p>privacy</a> of the harbour office, all rights kept.</p></div>"
)


def prose(count: int, first: int = 0) -> str:
    return "".join(f"<p>{SENTENCES[(first + n) % 4]} Part {first + n}.</p>" for n in range(count))


def page(folder: Path, body: str, head: str = "") -> CanonBody:
    return canon(folder, f"<!doctype html><html><head>{head}</head><body>{body}</body></html>", "text/html")


def labelled(body: CanonBody) -> str:
    return "\n".join(b.text for b in body.blocks if b.kind is BlockKind.BOILERPLATE)


def test_an_article_among_all_that_sites_put_around_it(tmp_path: Path) -> None:
    body = page(
        tmp_path,
        f"<a href=#c>Skip to content</a>{NAVIGATION}<div class=wrap><h1>Ice on the lake</h1>"
        "<div class=content-area><div class=byline>By Ann Bell, 3 March 2021</div>"
        "<div class='share-bar'><a href=f>Facebook</a> <a href=t>Post this</a></div>"
        f"<div class=entry-content>{prose(2)}<h2>What is open</h2>"
        "<ul><li><a href=/a>The pier</a><li>The kiosk</ul>"
        "<table><tr><th>Day<th>Boats<tr><td>Monday<td>4</table>"
        f"<p>Related: <a href=/r>Last year the ice came in February and stayed</a></p>{prose(3, 2)}"
        "<div class='newsletter signup'><p>Get our letter every week, free, into your box.</p></div></div>"
        f"</div><div class=comments><h3>Comments</h3><p>I was on that boat, and it was lovely, really.</p></div></div>"
        f"<div class='related-posts'><h3>More</h3><p><a href=/x>Boats of wood</a></p></div>{FOOTER}",
    )
    text = body_text(body)
    for kept in ("Ice on the lake", "What is open", "The pier", "The kiosk", "Monday\t4", *SENTENCES):
        assert kept in text
    for around in (
        "Skip to", "All news", "By Ann", "Facebook", "Related:", "our letter", "lovely", "Boats of wood", "Imprint"
    ):  # fmt: skip
        assert around in labelled(body)
        assert around not in text


def test_comments_longer_than_the_article_are_no_part_of_it(tmp_path: Path) -> None:
    comments = "".join(f"<div class=comment>{prose(2, n)}</div>" for n in range(8)).replace("ferry", "raft")
    body = page(tmp_path, f"<article><h1>T</h1>{prose(4)}</article><div id=comments>{comments}</div>")
    assert "ferry" in body_text(body)
    assert "raft" not in body_text(body)


def test_bylines_are_data_about_the_article_and_captions_stay(tmp_path: Path) -> None:
    body = page(
        tmp_path,
        f"<article><h1>Ice</h1><p>By Ann Bell</p><p>March 3, 2021 6:30 am</p>{prose(3)}<img alt='The ramp'>"
        f"<p>The ramp at dawn (Photo: Bo Lind)</p>{prose(2)}</article>",
    )
    found = {b.text: b.kind.value for b in body.blocks}
    assert found["By Ann Bell"] == found["March 3, 2021 6:30 am"] == "metadata"
    assert found["The ramp at dawn (Photo: Bo Lind)"] == "caption"


def kept(body: CanonBody) -> list[str]:
    return [b.text for b in body.blocks if b.kind is not BlockKind.BOILERPLATE]


def test_a_listing_keeps_its_items(tmp_path: Path) -> None:
    items = "".join(
        f"<article class=teaser><h2><a href=/{n}>Story {n}</a></h2><p>{SENTENCES[n % 4]}</p></article>"
        for n in range(9)
    )
    body = page(tmp_path, f"{NAVIGATION}<main><h1>News</h1>{items}</main>{FOOTER}")
    assert all(f"Story {n}" in kept(body) for n in range(9))
    assert body_text(body).count("ferry") == 3
    assert "All news" not in body_text(body)


def test_a_thread_keeps_its_posts(tmp_path: Path) -> None:
    posts = "".join(
        f"<div class='comment reply'><span class=author>User {n}</span><div class=comment-text>{prose(1, n)}</div>"
        "</div>"
        for n in range(10)
    )
    body = page(tmp_path, f"{NAVIGATION}<div id=thread><h1>Who saw the ice?</h1>{posts}</div>{FOOTER}")
    assert all(f"Part {n}." in body_text(body) for n in range(10))


def test_a_product_keeps_its_data(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>Property {n}<td>{n} mm" for n in range(12))
    body = page(
        tmp_path,
        f"{NAVIGATION}<div class=product><div class=title><h1>Winch 12</h1></div>"
        f"<div class=description>{prose(4)}</div><h2>Data</h2><div class=specs><table>{rows}</table></div>"
        "<div class=scope><h3>In the box</h3><ul><li>One winch with its handle<li>Four bolts of steel, M12, "
        f"with nuts</ul></div></div>{FOOTER}",
    )
    assert len(body.tables) == 1
    text = body_text(body)
    assert all(one in text for one in ("Winch 12", "Data", "Property 11\t11 mm", "Four bolts", SENTENCES[0]))


def test_documentation_keeps_code_and_lists_of_links(tmp_path: Path) -> None:
    links = "".join(f"<li><a href=/{n}>Function number {n}</a>" for n in range(6))
    body = page(
        tmp_path,
        f"<div class=sidebar><ul>{links.replace('Function', 'Chapter')}</ul></div><main><h1>Winch</h1>{prose(3)}"
        f"<pre>winch.pull(12)</pre><h2>See also</h2><ul>{links}</ul><h2>External links</h2><ul>{links}</ul></main>",
    )
    text = body_text(body)
    assert "winch.pull(12)" in text
    assert text.count("Function number 5") == 2
    assert "Chapter number 3" not in text


@pytest.mark.parametrize(
    "content",
    [
        "<table>" + "".join(f"<tr><th>Row {n}<td><a href=/{n}>Value {n}</a>" for n in range(30)) + "</table>",
        "<ul>" + "".join(f"<li><a href=/{n}>Row {n}</a>" for n in range(30)) + "</ul>",
        "<div class=teaser>" + "".join(f"<p>Row {n}</p>" for n in range(30)) + "</div>",
        "<form>" + "".join(f"<p>Row {n} {SENTENCES[n % 4]}</p>" for n in range(30)) + "</form>",
        "<div class='promo modal'>" + "".join(f"<p>Row {n} {SENTENCES[n % 4]}</p>" for n in range(30)) + "</div>",
        "<div class=footer>" + "".join(f"<p>Row {n}. {SENTENCES[n % 4]}</p>" for n in range(30)) + "</div>",
    ],
    ids=["table", "index", "short lines", "form around all", "name that lies", "one name for all"],
)
def test_pages_that_are_one_thing_stay_whole(tmp_path: Path, content: str) -> None:
    text = body_text(page(tmp_path, content))
    assert all(f"Row {n}" in text for n in range(30))


def test_parts_of_equal_weight_stay_all(tmp_path: Path) -> None:
    parts = "".join(f"<section><h2>Chapter {n}</h2>{prose(3, n)}</section>" for n in range(5))
    text = body_text(page(tmp_path, f"<div class=article-body>{parts}</div>"))
    assert all(f"Chapter {n}" in text for n in range(5))


GATE_WORDS = (
    "How we lost the password", "Why every login page fails", "Cookies and consent under the law",
    "The captcha that kept people out", "Error 404: a history of pages not found", "Access denied, a novel",
    "Sign in, please: a review of identity systems", "Just a moment: on waiting",
)  # fmt: skip


@pytest.mark.parametrize("title", GATE_WORDS)
def test_articles_about_gates_are_documents(tmp_path: Path, title: str) -> None:
    about = prose(8).replace("ferry", "login form").replace("kiosk", "captcha").replace("coffee", "cookie banner")
    body = page(tmp_path, f"<nav>x</nav><article><h1>{title}</h1>{about}</article>", f"<title>{title}</title>")
    assert body.warnings == []


def test_html_that_is_no_page_of_the_web_has_no_furniture_by_name() -> None:
    text = f"<h1>T</h1><div class='related promo'><p>Kept beside it.</p></div>{prose(6)}<p>Share</p>"
    assert all(b.kind is not BlockKind.BOILERPLATE for b in parse(text)[0].blocks)
    assert any(b.kind is BlockKind.BOILERPLATE for b in parse(text, whole_page=True)[0].blocks)


@pytest.mark.parametrize("form", ["<form><input type=password></form>", "<div class=g-recaptcha></div>"])
def test_a_short_article_beside_a_form_is_a_document(tmp_path: Path, form: str) -> None:
    assert page(tmp_path, f"<article><h1>Ice</h1>{prose(4)}</article>{form}").warnings == []
    gate = page(tmp_path, f"<h1>Sign in</h1>{prose(3)}{form}", "<title>Sign in</title>")
    assert "not_content" in gate.warnings


def test_a_huge_page_costs_bounded_time(tmp_path: Path) -> None:
    began = time.process_time()
    body = page(tmp_path, "<div class='a b'>" * 400 + "<div><p>x, y. " * 15_000)
    assert time.process_time() - began < 20
    assert body.blocks
