"""`/metrics`, `/livez` and `/readyz` over HTTP: a few lines in the worker's own loop, so that an answer means it runs.

It reads the request line and nothing else, answers GET and HEAD, one request a connection, a few connections at a time,
each with a deadline: whoever asks wrongly, slowly or often can't take the worker's time, memory or file descriptors.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from streams.errors import SettingsError

log = logging.getLogger(__name__)

CONNECTIONS = 16
REQUEST_BYTES = 8192
DEADLINE_S = 5.0
FRESH_S = 1.0
"""An answer is given again for so long, however often it is asked for: making one costs the worker time."""

REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+)?:)?(?P<port>\d{1,5})")
_REQUEST = re.compile(rb"([A-Z]{1,16}) (\S{1,2048}) HTTP/1\.[01]")


@dataclass(frozen=True)
class Reply:
    """What a path answers."""

    status: int
    body: str | bytes
    content_type: str = "text/plain; charset=utf-8"


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port`, `:port` or `port`; without a host, loopback alone.

    Raises:
        SettingsError: it is none of these.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match["port"]) > 65535:
        raise SettingsError(
            f"worker.metrics_address can't be {text!r}.", remedy="Write a port, or host:port to listen on that address."
        )
    return (match["host"] or LOOPBACK).strip("[]"), int(match["port"])


class Endpoints:
    """A server of some paths.

    Args:
        address: `host:port`, `:port` or `port`.
        paths: what each path answers; called in the loop, so it must be quick there.
    """

    def __init__(self, address: str, paths: Mapping[str, Callable[[], Awaitable[Reply]]]) -> None:
        self._host, self._port = parse_address(address)
        self._paths = dict(paths)
        self._known: dict[str, tuple[float, Reply]] = {}
        self._answering = {path: asyncio.Lock() for path in self._paths}
        self._open = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listens. Raises SettingsError: the address can't be had."""
        try:
            self._server = await asyncio.start_server(
                self._connected, self._host, self._port, limit=REQUEST_BYTES, backlog=CONNECTIONS
            )
        except OSError as error:
            raise SettingsError(
                f"worker.metrics_address {self._host}:{self._port} can't be listened on: {error.strerror or error}.",
                remedy="Give each worker of a machine a port of its own.",
            ) from error
        log.info("Metrics, livez and readyz at http://%s:%d.", self._host, self.port)

    @property
    def port(self) -> int:
        """The port that is listened on, also where 0 asked for any."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= CONNECTIONS:
            writer.transport.abort()
            return
        self._open += 1
        try:
            async with asyncio.timeout(DEADLINE_S):
                head, reply = await self._reply(reader)
                writer.write(_bytes(reply, head=head))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError):
            log.debug("A connection to the endpoints ended early.")
        finally:
            self._open -= 1
            writer.transport.abort()

    async def _reply(self, reader: asyncio.StreamReader) -> tuple[bool, Reply]:
        """Whether only the head is wanted, and the answer."""
        try:
            async with asyncio.timeout(DEADLINE_S / 2):
                request = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return False, Reply(408, "Too slow.\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return False, Reply(400, "No request that is understood here.\n")
        match = _REQUEST.fullmatch(request.split(b"\r\n", 1)[0])
        if match is None:
            return False, Reply(400, "No request that is understood here.\n")
        method, path = match[1].decode(), match[2].split(b"?", 1)[0].decode("latin-1")
        if path not in self._paths:
            return method == "HEAD", Reply(404, f"There are {', '.join(self._paths)}.\n")
        if method not in ("GET", "HEAD"):
            return False, Reply(405, "GET or HEAD.\n")
        return method == "HEAD", await self._answer(path)

    async def _answer(self, path: str) -> Reply:
        async with self._answering[path]:
            at, known = self._known.get(path, (float("-inf"), None))
            if known is None or time.monotonic() - at > FRESH_S:
                try:
                    known = await self._paths[path]()
                except Exception:
                    log.exception("%s could not be answered.", path)
                    known = Reply(500, "See the worker's log.\n")
                self._known[path] = (time.monotonic(), known)
            return known


def _bytes(reply: Reply, *, head: bool) -> bytes:
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    lines = [
        f"HTTP/1.1 {reply.status} {REASONS[reply.status]}",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        *(["Allow: GET, HEAD"] if reply.status == 405 else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if head else body)
