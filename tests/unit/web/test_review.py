"""The queue and a document as pages: what is shown, of what, and how much of it."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestClient

from streams.records import PROBLEMS, BlockKind, BlockSource, CanonBody, Cell, Page, Table
from streams.web import queue
from streams.web.advice import ADVICE
from streams.web.canons import MOST_CHARACTERS, MOST_COLUMNS, MOST_ROWS, ON_A_PART, part_of
from tests.unit.consumers.make import NOW, body, paragraph
from tests.unit.web.conftest import HOSTILE, Pages, pdf

TEXT = b"the same line again and again\n" * 3


async def text_of(client: TestClient[Any, Any], path: str, status: int = 200) -> str:
    answer = await client.get(path)
    found = await answer.text()
    assert answer.status == status, found[:500]
    return found


def names(page: str) -> list[str]:
    return re.findall(r"<bdi>folder/(.*?)</bdi></a>", page)


def following(page: str) -> str | None:
    found = re.search(r'rel="next"[^>]* href="([^"]+)"', page)
    return html.unescape(found[1]) if found else None


async def test_filters_stand_in_the_address(pages: Pages, client: TestClient[Any, Any]) -> None:
    pages.hold("a.txt", TEXT, "mojibake", owner="eva", deadline=NOW)
    pages.hold("b.txt", TEXT, "mojibake", "too_repetitive", source="t")
    pages.hold("c.pdf", b"%PDF-1.4 no", "parser_error")
    assert names(await text_of(client, "/")) == ["a.txt", "b.txt", "c.pdf"]
    for query, wanted in {
        "code=too_repetitive": ["b.txt"],
        "format=application/pdf": ["c.pdf"],
        "tool=text&source=s": ["a.txt"],
        "owner=-": ["b.txt", "c.pdf"],
        "overdue=1": ["a.txt"],
        "age=4w&code=mojibake": ["a.txt", "b.txt"],
        "group=mojibake:text:1:text/plain": ["a.txt", "b.txt"],
        "code=none": [],
    }.items():
        page = await text_of(client, f"/?{query}")
        assert names(page) == wanted, query
        assert f"{len(wanted)} held document" in page
    for bad in ("age=forever", "group=none"):
        await text_of(client, f"/?{bad}", 400)


async def test_a_long_queue_comes_in_pages_and_once_each(
    pages: Pages, client: TestClient[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "ON_A_PAGE", 2)
    for number in range(5):
        pages.hold(f"{number}.txt", TEXT + b"%d" % number, "mojibake", since=number // 2)
    found, path = [], "/?code=mojibake"
    while True:
        page = await text_of(client, path)
        found += names(page)
        after = following(page)
        if after is None:
            break
        path = after
    assert found == [f"{number}.txt" for number in range(5)]


async def test_the_worst_page_comes_first_with_what_fired(pages: Pages, client: TestClient[Any, Any]) -> None:
    good = ["Harbour", *["Nobody has complained about the light since the winter."] * 5]
    name = pages.hold("a.pdf", pdf(good, good, ["x"], good), "near_empty_pages")
    page = await text_of(client, f"/document?id={name}")
    assert "Page 3 of 4" in page
    assert re.search(r'class="fired"><th scope="row"[^>]*>characters', page)
    assert "page=3" in html.unescape(page)
    assert "Page 1 of 4" in await text_of(client, f"/document?id={name}&page=1")
    assert "Page 1 of 4" in await text_of(client, f"/document?id={name}&page=99")
    answer = await client.get(f"/page.png?id={name}&page=3")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/png")
    data = await answer.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert await (await client.get(f"/page.png?id={name}&page=3")).read() == data
    assert (await client.get(f"/page.png?id={name}&page=9")).status == 422


async def test_neighbours_are_those_of_the_filter(pages: Pages, client: TestClient[Any, Any]) -> None:
    ids = [pages.hold(f"{n}.txt", TEXT + b"%d" % n, "mojibake" if n != 1 else "cid_leak") for n in range(4)]
    page = await text_of(client, f"/document?id={ids[2]}&code=mojibake")
    assert "2 of 3" in page
    assert following(page) == f"/document?code=mojibake&id={quote(ids[3], safe='')}"
    assert f"id={quote(ids[0], safe='')}" in page
    last = await text_of(client, f"/document?id={ids[3]}&code=mojibake")
    assert following(last) == f"/document?code=mojibake&id={quote(ids[0], safe='')}"  # round again


async def test_what_a_document_says_of_itself_is_text(pages: Pages, client: TestClient[Any, Any]) -> None:
    name = pages.hold(HOSTILE, b"<script>alert(1)</script>\n\n&amp; {{ 7*7 }}\n", "<i>code</i>", error="<b>why</b>")
    for path in ("/", "/groups", f"/document?id={quote(name, safe='')}", "/plan"):
        page = await text_of(client, path)
        assert "<script>alert" not in page
        assert "<b>why" not in page
        assert "<i>code" not in page
        assert "\u202e" not in page


async def test_a_decision_that_cannot_be_says_why(pages: Pages, client: TestClient[Any, Any]) -> None:
    name = pages.hold("c.pdf", b"%PDF-1.4 no", "parser_error")
    page = await text_of(client, f"/document?id={name}")
    token = re.search(r'name="form_token" value="(\w+)"', page)
    version = re.search(r'name="version" value="([\d.]+)"', page)
    assert token is not None
    assert version is not None
    assert 'data-unfit="there is no text to accept"' in page

    async def decide(**form: str) -> tuple[int, str]:
        sent = {"form_token": token[1], "version": version[1], **form}
        answer = await client.post(f"/document?id={name}", data=sent, allow_redirects=False)
        found = re.search(r'role="alert">(.*?)</div>', await answer.text(), re.DOTALL)
        return answer.status, html.unescape(found[1]) if found else ""

    assert await decide(kind="accept") == (409, "Not decided: there is no text to accept.")
    assert (await decide(kind="skip", version="1.999"))[1].startswith("A newer version has arrived")
    assert (await decide(kind="re_extract", extractor="nobody"))[1].startswith("No extractor is called 'nobody'")
    assert (await decide(kind="erase"))[1].startswith("Choose what to do")
    status, why = await decide(kind="skip")
    assert (status, why.startswith("No Kafka broker answers")) == (503, True)


async def test_what_was_decided_lately_is_listed(pages: Pages, client: TestClient[Any, Any]) -> None:
    assert "Nothing was decided" in await text_of(client, "/decided")
    page = await text_of(client, "/status")
    assert "No Kafka broker answers" in page
    pages.hold("a.txt", TEXT, "mojibake", deadline=NOW + timedelta(days=1))
    assert "1</b> held" in await text_of(client, "/status")


def test_what_has_no_pages_comes_in_parts_and_all_of_it_is_bounded() -> None:
    many = body(*(paragraph(f"block {number}") for number in range(2 * ON_A_PART + 1)))
    parts = [part_of(many, number) for number in (1, 2, 3)]
    assert [piece.number for part in parts for piece in part.pieces] == list(range(1, 2 * ON_A_PART + 2))
    assert part_of(many, 9).number == 1
    (long,) = part_of(body(paragraph("x" * 10_000)), None).pieces
    assert (len(long.text), long.left_out) == (MOST_CHARACTERS, 10_000 - MOST_CHARACTERS)


def test_what_may_be_why_it_is_held_is_marked_where_it_stands() -> None:
    sure = paragraph("sure", source=BlockSource.OCR, confidence=0.9)
    unsure = paragraph("unsure", source=BlockSource.OCR, confidence=0.3)
    found = part_of(
        body(sure, unsure, paragraph("lost \ufffd"), paragraph("private \ue123"), paragraph("a\tb\nc")), None
    )
    doubts = ["", "unsure", "broken characters", "broken characters", ""]
    assert [piece.doubt for piece in found.pieces] == doubts


def test_there_is_advice_on_every_problem() -> None:
    assert ADVICE.keys() == PROBLEMS.keys()


async def test_what_can_be_done_and_what_happens_then_stands_on_the_page(
    pages: Pages, client: TestClient[Any, Any]
) -> None:
    name = pages.hold("c.pdf", b"%PDF-1.4 no", "parser_error")
    assert "the extractor failed on it" in await text_of(client, "/")
    page = await text_of(client, f"/document?id={name}")
    assert ADVICE["parser_error"] in page
    assert "accept as it is (there is no text to accept)" in page
    assert "Search finds it from then on" in page


def test_tables_keep_their_spans_within_what_is_shown() -> None:
    cells = [Cell(row=row, col=col, text="x", row_span=500, col_span=500) for row in (0, 59, 70) for col in (0, 29, 31)]
    table = Table(n_rows=1000, n_cols=40, cells=cells)
    block = paragraph("x", kind=BlockKind.TABLE, table=0, page=2)
    page = Page(number=2, width=1, height=1, source=BlockSource.MARKUP)
    made = CanonBody(content_hash="", fingerprint="", extractor="", extractor_version="", media_type="", pages=[page],
                     blocks=[block, paragraph("lost", table=7)], tables=[table])  # fmt: skip
    first, other = part_of(made, None).pieces
    assert first.table is not None
    assert other.table is None
    assert (len(first.table.rows), first.table.rows_left_out, first.table.columns_left_out) == (MOST_ROWS, 940, 10)
    spans = [(cell["row_span"], cell["col_span"]) for row in first.table.rows for cell in row]
    assert spans == [(60, 30), (60, 1), (1, 30), (1, 1)]
    assert MOST_COLUMNS == 30
