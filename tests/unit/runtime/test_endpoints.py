"""The worker's HTTP server: what it answers, and that no request can hurt it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from streams.errors import SettingsError
from streams.runtime import endpoints
from streams.runtime.endpoints import CONNECTIONS, Endpoints, Reply, parse_address


def always(reply: Reply) -> Callable[[], Awaitable[Reply]]:
    async def answer() -> Reply:
        return reply

    return answer


async def broken() -> Reply:
    raise RuntimeError("a bug")


@pytest.fixture
async def server() -> AsyncIterator[Endpoints]:
    found = Endpoints(
        "0", {"/good": always(Reply(200, "good\n")), "/bad": always(Reply(503, "bad\n")), "/broken": broken}
    )
    await found.start()
    yield found
    await found.stop()


async def say(server: Endpoints, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(data)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def get(server: Endpoints, path: str, method: str = "GET") -> bytes:
    return await say(server, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


async def test_paths_are_answered(server: Endpoints) -> None:
    head, body = (await get(server, "/good?x=1")).split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 5" in head
    assert body == b"good\n"
    assert (await get(server, "/good", "HEAD")).split(b"\r\n\r\n") == [head, b""]
    assert b" 503 " in await get(server, "/bad")
    assert b" 404 " in await get(server, "/")
    assert b" 500 " in await get(server, "/broken")
    assert b"a bug" not in await get(server, "/broken")
    refused = await get(server, "/good", "POST")
    assert b" 405 " in refused
    assert b"Allow: GET, HEAD" in refused


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"\x00\xff\xfe\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /good\r\n\r\n",
        b"get /good HTTP/1.1\r\n\r\n",
        b"GET /good HTTP/9.9\r\n\r\n",
        b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\n\r\n",
        b"GET /good HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused_and_the_next_one_is_served(
    server: Endpoints, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    said = await say(server, data)
    assert said == b"" or b" 400 " in said.split(b"\r\n", 1)[0]
    assert b" 200 " in await get(server, "/good")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]  # unhandled, asyncio would say


async def test_slow_and_many_connections_are_bounded(server: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "DEADLINE_S", 1.0)
    idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(CONNECTIONS)]
    for _, writer in idle:
        writer.write(b"GET /good HTTP/1.1\r\n")  # and never the rest
        await writer.drain()
    while server._open < CONNECTIONS:  # noqa: ASYNC110 - of the server
        await asyncio.sleep(0.01)
    assert await get(server, "/good") == b""  # one too many is cut off at once
    async with asyncio.timeout(20):
        for reader, writer in idle:
            assert b" 408 " in await reader.read()
            writer.close()
        while server._open:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert b" 200 " in await get(server, "/good")


async def test_a_client_that_goes_away_leaves_nothing(server: Endpoints) -> None:
    for data in (b"", b"GET /go", b"GET /good HTTP/1.1\r\n\r\n"):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(data)
        writer.transport.abort()
    assert b" 200 " in await get(server, "/good")
    async with asyncio.timeout(20):
        while server._open:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_an_address_in_use_is_told(server: Endpoints) -> None:
    with pytest.raises(SettingsError, match="can't be listened on"):
        await Endpoints(str(server.port), {}).start()


def test_addresses() -> None:
    assert parse_address("9464") == parse_address(":9464") == ("127.0.0.1", 9464)
    assert parse_address("192.0.2.1:80") == ("192.0.2.1", 80)
    assert parse_address("[::1]:80") == ("::1", 80)
    for wrong in ("", "host", "host:", "http://host:80", "1:2:3", "99999", "host:65536"):
        with pytest.raises(SettingsError):
            parse_address(wrong)
