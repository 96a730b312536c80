"""Who may ask: names, logins, forms, headers."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from streams.errors import SettingsError
from streams.settings import Settings, WebSettings
from streams.web.guard import Guard
from streams.web.server import application, runner_of
from tests.unit.web.conftest import Pages

TOKEN = "a token of twenty characters"


def with_token(settings: Settings) -> Settings:
    return settings.model_copy(update={"web": WebSettings(token=TOKEN, names=["canonry.example.org"])})


async def form_token(client: TestClient[Any, Any], path: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', await (await client.get(path)).text())
    assert found is not None
    return found[1]


async def log_in(client: TestClient[Any, Any], token: str = TOKEN, **more: str) -> Any:
    form = {"name": "Ada <b>", "token": token, "form_token": await form_token(client, "/login"), "next": "/", **more}
    return await client.post("/login", data=form, allow_redirects=False)


@pytest.mark.parametrize("host", ["192.0.2.1", "::", "192.168.1.2", "canonry.example.org"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(SettingsError, match="no token"):
        Guard(WebSettings(host=host), "eva")
    assert Guard(WebSettings(host=host, token=TOKEN), "eva").asks_for_login


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    assert not Guard(WebSettings(host=host), "eva").asks_for_login


def test_a_short_token_is_none() -> None:
    for short in ("short", " " * 20, "   a few blanks   ", "aaaaaaaaaaaaaaaaaaaaaaaa"):
        with pytest.raises(ValueError, match="16 characters or more"):
            WebSettings(token=short)
    assert TOKEN not in repr(WebSettings(token=TOKEN))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8787", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example.org", 403),
        ("localhost.evil.org", 403),
        ("", 403),
        ("\u212aafka", 403),
    ],
)
async def test_only_our_own_names_are_answered(client: TestClient[Any, Any], host: str, status: int) -> None:
    """A page whose name was made to point to this machine is of another origin."""
    answer = await client.get("/", headers={"Host": host})
    assert answer.status == status


async def test_every_answer_has_the_headers(client: TestClient[Any, Any]) -> None:
    for path in ("/", "/document?id=none", "/nowhere", "/static/canonry.js", "/decisions/x.json", "/status"):
        answer = await client.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert (answer.headers["X-Content-Type-Options"], answer.headers["Referrer-Policy"]) == (
            "nosniff",
            "no-referrer",
        )
    assert (await client.get("/")).headers["Cache-Control"] == "no-store"


async def test_forms_from_elsewhere_do_nothing(client: TestClient[Any, Any]) -> None:
    assert (await client.post("/undo", data={"batch": "x"})).status == 403
    token = await form_token(client, "/login")
    for foreign in ({"Origin": "https://evil.example.org"}, {"Origin": "null", "Sec-Fetch-Site": "cross-site"}):
        assert (await client.post("/undo", data={"form_token": token}, headers=foreign)).status == 403
    assert (await client.post("/undo", data={"form_token": token})).status == 400  # nothing to undo
    assert (await client.put("/undo")).status == 405
    assert (await client.post("/undo", data={"form_token": token, "batch": "x" * 100_000})).status == 413


async def test_without_a_login_there_is_nothing_to_see(pages: Pages) -> None:
    async with TestClient(TestServer(application(with_token(pages.settings), "eva"))) as client:
        for path in ("/", "/document?id=x", "/page.png?id=x", "/decisions/x.json", "/status"):
            answer = await client.get(path, allow_redirects=False)
            assert (answer.status, answer.headers["Location"][:7]) == (303, "/login?")
        assert (await client.post("/undo")).status == 401
        assert (await client.get("/", headers={"Host": "canonry.example.org"}, allow_redirects=False)).status == 303
        assert (await log_in(client, "a token of twenty charactery")).status == 403
        assert (await log_in(client, name=" ")).status == 403
        answer = await log_in(client)
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        page = await (await client.get("/")).text()
        assert "Ada &lt;b&gt;" in page
        assert (await client.post("/undo", data={"form_token": await form_token(client, "/")})).status == 400
        await client.post("/logout", data={"form_token": await form_token(client, "/")})
        assert (await client.get("/", allow_redirects=False)).status == 303


async def test_a_cookie_that_was_changed_is_none(pages: Pages) -> None:
    async with TestClient(TestServer(application(with_token(pages.settings), "eva"))) as client:
        value = (await log_in(client)).headers["Set-Cookie"].partition(";")[0]
        name, _, signed = value.partition("=")
        for bad in ("", "..", f"x{signed}", signed[:-1] + "0", signed.replace(".", ".9", 1)):
            client.session.cookie_jar.clear()
            assert (await client.get("/", headers={"Cookie": f"{name}={bad}"}, allow_redirects=False)).status == 303
        assert (await client.get("/", headers={"Cookie": f"{name}={signed}"}, allow_redirects=False)).status == 200


async def test_programs_bring_the_token_themselves(pages: Pages) -> None:
    async with TestClient(TestServer(application(with_token(pages.settings), "eva"))) as client:
        good, bad = ({"Authorization": f"Bearer {token}"} for token in (TOKEN, "wrong"))
        assert (await client.get("/", headers=good, allow_redirects=False)).status == 200
        assert (await client.get("/", headers=bad, allow_redirects=False)).status == 303
        assert (await client.post("/undo", headers=good)).status == 400  # heard, and nothing to undo


@pytest.mark.parametrize(
    "address", ["//evil.org", "/\\evil.org", "https://evil.org", "javascript:alert(1)", "/\r\nX: y"]
)
async def test_a_login_leads_nowhere_else(pages: Pages, address: str) -> None:
    async with TestClient(TestServer(application(with_token(pages.settings), "eva"))) as client:
        assert (await log_in(client, next=address)).headers["Location"] == "/"


async def test_what_is_no_request_is_answered_and_not_logged(pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    runner = runner_of(pages.app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    long = b"x" * 9000
    for said in (
        b"GET /?code=" + long + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + long + b"\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(said)
        assert (await reader.readline()).split()[1] == b"400"
        writer.close()
    await runner.cleanup()
    assert caplog.records == []
