"""The server: which address answers what, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from streams.blobs import open_store
from streams.errors import SettingsError
from streams.settings import Settings
from streams.web import document, queue
from streams.web.guard import Guard
from streams.web.site import SITE, STATIC, Site, errors

MOST_FORM_BYTES = 64 * 1024


def application(settings: Settings, actor: str) -> web.Application:
    """All pages.

    Args:
        actor: whose name decisions carry where nobody logs in.

    Raises:
        SettingsError: it would be open to others without a token.
        BlobStoreUnavailable: the store's folder can't be used.
    """
    guard = Guard(settings.web, actor)
    app = web.Application(middlewares=[guard.check, errors], client_max_size=MOST_FORM_BYTES)
    app[SITE] = site = Site(settings, guard, open_store(settings))
    app.add_routes(
        [
            web.get("/", queue.queue),
            web.get("/groups", queue.groups),
            web.get("/plan", queue.plan),
            web.post("/plan", queue.decide_all),
            web.get("/decided", queue.decided),
            web.post("/undo", queue.undo),
            web.get("/decisions/{batch}.json", queue.state),
            web.get("/document", document.document),
            web.post("/document", document.decide),
            web.get("/page.png", document.image),
            web.get("/status", status),
            web.get("/login", login),
            web.post("/login", log_in),
            web.post("/logout", log_out),
            web.get("/static/{name}", static),
        ]
    )

    async def stop(_: web.Application) -> None:
        await site.stop()

    app.on_cleanup.append(stop)
    return app


async def status(request: web.Request) -> web.Response:
    """How things stand."""
    site = request.app[SITE]
    groups, error = await site.standing.lag()
    found = await site.ask(lambda catalog: site.standing.figures(catalog, groups))
    return site.page(request, "status.html", groups=groups, lag_error=error, **found)


async def login(request: web.Request) -> web.Response:
    """The form of a login."""
    return request.app[SITE].page(request, "login.html", error="", next=_inside(request.query.get("next", "/")))


async def log_in(request: web.Request) -> web.Response:
    """A name and the token for a session."""
    site, form = request.app[SITE], await request.post()
    name, token, after = (str(form.get(field, "")) for field in ("name", "token", "next"))
    cookie = await site.guard.log_in(name, token)
    if cookie is None:
        error = "That is not the token." if name.strip() else "Say who you are: decisions carry your name."
        return site.page(request, "login.html", status=403, error=error, next=_inside(after))
    response = web.Response(status=303, headers={"Location": _inside(after)})
    site.guard.set_cookie(request, response, cookie)
    return response


async def log_out(request: web.Request) -> web.Response:
    """Ends the session in this browser."""
    response = web.Response(status=303, headers={"Location": "/login"})
    request.app[SITE].guard.set_cookie(request, response, "")
    return response


def _inside(address: str) -> str:
    """An address of this site, and of no other: `//name` and `/\\name` lead elsewhere."""
    inside = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if inside and address.isascii() else "/"


async def static(request: web.Request) -> web.Response:
    """Style, script and icon; their address has their version, so they may be kept."""
    name = request.match_info["name"]
    if name not in STATIC:
        raise web.HTTPNotFound
    headers = {"Cache-Control": "public, max-age=604800"}
    return web.Response(
        body=request.app[SITE].static[name], content_type=STATIC[name], charset="utf-8", headers=headers
    )


def runner_of(app: web.Application) -> web.AppRunner:
    """What runs the pages: requests that are none are answered with 400, and are no error of ours to be logged."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_is_ours)
    return web.AppRunner(app, access_log=None, shutdown_timeout=2, logger=logger)


def _is_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


async def serve(settings: Settings, actor: str, started: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM.

    Args:
        started: is told the address once it answers.

    Raises:
        SettingsError: the address can't be listened on, or only with a token.
    """
    runner = runner_of(application(settings, actor))
    await runner.setup()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    try:
        site = web.TCPSite(runner, settings.web.host, settings.web.port)
        try:
            await site.start()
        except OSError as error:
            raise SettingsError(
                f"{settings.web.host}:{settings.web.port} can't be listened on: {error.strerror or error}.",
                remedy="Set web.port, or give --port.",
            ) from error
        host, port = runner.addresses[0][:2]
        started(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        await stop.wait()
    finally:
        await runner.cleanup()
