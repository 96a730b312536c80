"""Pages in a real browser, without a log: hostile documents, narrow and wide, the way of the keyboard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Literal
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestServer

from tests.integration.web.browser import needs_chromium, opened
from tests.unit.consumers.make import NOW
from tests.unit.web.conftest import HOSTILE, Pages, pages, pdf, settings

__all__ = ["pages", "settings"]
pytestmark = needs_chromium

SCREENS: list[tuple[int, int, Literal["light", "dark"]]] = [(1280, 800, "light"), (390, 844, "dark")]
UNNAMED = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, img, dialog, nav, th")]
  .filter((e) => !e.closest("svg"))
  .filter((e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim() || e.alt
    || e.getAttribute("aria-labelledby")))
  .map((e) => e.outerHTML.slice(0, 200))"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FOCUSED = """() => { const e = document.activeElement; if (e === document.body) return ["end", ""];
  return [e.name || e.textContent.trim(), getComputedStyle(e.nextElementSibling && e.name === "kind"
    ? e.nextElementSibling : e).outlineStyle]; }"""
CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((v) => v / 255)
      .map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)|transparent/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("main *, header *")]
    .filter((e) => e.checkVisibility() && !e.closest("svg, .unfit, .sheet"))
    .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .map((e) => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
      return [(a + .05) / (b + .05), e.outerHTML.slice(0, 120)]; })
    .filter(([ratio]) => ratio < 4.5);
}"""


@pytest.fixture
async def address(pages: Pages) -> AsyncIterator[str]:
    hostile = ["<img src=x onerror=alert(1)>", "</p></main><script>alert(2)</script>", "&lt;b&gt; {{ 7 * 7 }}"]
    data = pdf(hostile, ["second", "</svg><script>alert(4)</script>"])
    late = NOW - timedelta(days=1)
    pages.hold(HOSTILE, data, "mojibake", "<i>code</i>", error=HOSTILE, owner=HOSTILE, deadline=late)
    long = "\u202eright to left\u2066 \x00\x07" + "y" * 1_000_000
    pages.hold("long.txt", f"a\n\n{long}\n\n".encode(), "too_repetitive")
    rows = "".join(
        f"<tr><td rowspan=2>{n}</td><td>{'z' * 400}</td></tr><tr><td>&lt;script&gt;</td></tr>" for n in range(90)
    )
    pages.hold(
        "table.html", f"<title>t</title><h1>T</h1><table>{rows}</table><p>end of it</p>".encode(), "low_letter_ratio"
    )
    pages.hold("p" * 900 + ".pdf", b"%PDF-1.4 nothing", "parser_error")
    async with TestServer(pages.app) as server:
        yield str(server.make_url("/")).rstrip("/")


async def test_hostile_documents_neither_run_nor_break_the_page(address: str) -> None:
    ids = [HOSTILE, "long.txt", "table.html", "p" * 900 + ".pdf"]
    paths = ["/", "/groups", "/decided", "/status", "/plan?code=mojibake&kind=skip", "/plan", "/login"]
    paths += [f"/document?id={quote('s:' + name, safe='')}" for name in ids] + ["/document?id=none"]
    async with opened("404", "422") as page:
        for path in paths:
            await page.goto(address + path, wait_until="networkidle")
            for width, height, scheme in SCREENS:
                await page.set_viewport_size({"width": width, "height": height})
                await page.emulate_media(color_scheme=scheme)
                assert await page.evaluate(WIDER) <= 0, (path, width)
                assert await page.evaluate(CONTRAST) == [], (path, scheme)
            assert await page.evaluate(UNNAMED) == [], path
            assert await page.locator("main script, main b:has-text('bold'), main i:has-text('code')").count() == 0
            assert len(await page.content()) < 400_000
        await page.goto(f"{address}/status")
        assert "No Kafka broker answers" in await page.get_by_role("alert").inner_text()
        assert await page.locator(".figures b >> nth=2").inner_text() == "4"
        await page.goto(f"{address}/document?page=1&id={quote('s:' + HOSTILE, safe='')}")
        assert "\u202e" not in await page.locator("h1").inner_text()
        assert "{{ 7 * 7 }}" in await page.locator(".blocks").inner_text()


async def test_boxes_and_blocks_belong_together(address: str) -> None:
    async with opened() as page:
        await page.goto(f"{address}/document?page=1&id={quote('s:' + HOSTILE, safe='')}", wait_until="networkidle")
        assert await page.evaluate("document.querySelector('.sheet img').naturalWidth") > 500
        picture, box, block = (page.locator(each) for each in (".sheet img", "rect >> nth=0", "article >> nth=0"))
        sheet, first = await picture.bounding_box(), await box.bounding_box()
        assert sheet is not None
        assert first is not None
        assert abs((first["x"] - sheet["x"]) / sheet["width"] - 60 / 595) < 0.01  # where it stands on the page
        await page.keyboard.press("j")
        assert await block.evaluate("(e) => e === document.activeElement")
        assert "on" in (await box.get_attribute("class") or "")
        await page.locator("rect >> nth=1").click()
        assert await page.locator("article >> nth=1").evaluate("(e) => e === document.activeElement")
        async with page.expect_navigation():
            await page.keyboard.press("]")
        assert "Page 2 of 2" in await page.locator(".pages").inner_text()


async def test_the_keyboard_reaches_everything_and_help_says_how(address: str) -> None:
    async with opened("503") as page:
        await page.goto(f"{address}/document?id={quote('s:long.txt', safe='')}")
        order: list[str] = []
        for _ in range(60):
            await page.keyboard.press("Tab")
            name, outline = await page.evaluate(FOCUSED)
            if name == "end":
                break
            order.append(name)
            assert outline != "none", name
        assert order[0] == "To the content"
        assert order.index("Queue") < order.index("kind") < order.index("reason") < order.index("Decide Enter")
        await page.keyboard.press("Escape")
        await page.keyboard.press("?")
        assert await page.locator("dialog").is_visible()
        assert "send it to recognition" in await page.locator("dialog").inner_text()
        await page.keyboard.press("Escape")
        assert not await page.locator("dialog").is_visible()
        await page.keyboard.press("r")
        assert "no pages that could be recognised" in await page.locator("#flash").inner_text()
        await page.keyboard.press("a")
        assert await page.input_value("#reason") == "read it, it is fine"
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        assert "No Kafka broker answers" in await page.get_by_role("alert").inner_text()
        await page.keyboard.press("q")
        await page.wait_for_url(f"{address}/")
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.name") == "code"
