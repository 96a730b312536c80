"""A real Chromium, and what it complains of: a page that breaks its own policy or whose script fails fails the test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WATCH = """
window.complaints = [];
document.addEventListener("securitypolicyviolation", (e) => window.complaints.push(e.violatedDirective));
window.alert = () => window.complaints.push("alert");
"""
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@asynccontextmanager
async def opened(*answers: str, width: int = 1280, height: int = 800, **options: Any) -> AsyncIterator[Page]:
    """A page of a new browser; it fails with what the browser complained of, but of these HTTP status codes."""
    complaints: list[str] = []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = await browser.new_context(viewport={"width": width, "height": height}, **options)
        page = await context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        await page.add_init_script(WATCH)
        yield page
        complaints += await page.evaluate("window.complaints")
        await browser.close()
    assert [each for each in complaints if not any(f"status of {code}" in each for code in answers)] == []
