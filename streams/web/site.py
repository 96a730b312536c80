"""What all handlers share: the settings, the catalog, templates, and how errors become pages."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import sqlalchemy as sa
from aiohttp import web

from streams.blobs import BlobStore
from streams.cli.output import safe
from streams.consumers.catalog import Catalog
from streams.errors import CanonryError, NotFound, UsageError
from streams.records import PROBLEMS
from streams.settings import Settings
from streams.web.advice import ADVICE
from streams.web.deciding import Deciding
from streams.web.guard import VISITOR, Guard, Handler
from streams.web.pictures import Pictures
from streams.web.standing import Standing

T = TypeVar("T")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
HERE = Path(__file__).parent
STATIC = {"canonry.css": "text/css", "canonry.js": "text/javascript", "icon.svg": "image/svg+xml"}


class Site:
    """One installation's pages."""

    def __init__(self, settings: Settings, guard: Guard, store: BlobStore) -> None:
        self.settings = settings
        self.guard = guard
        self.store = store
        self.pictures = Pictures(settings, store)
        self.standing = Standing(settings)
        self.deciding = Deciding(settings, self.standing)
        self.static = {name: (HERE / "static" / name).read_bytes() for name in STATIC}
        self._catalog: Catalog | None = None
        self._opened: object = None
        version = hashlib.sha256(b"".join(self.static.values())).hexdigest()[:12]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "ago": ago,
            "when": when,
            "span": span,
            "size": size,
            "plain": safe,
            "control": visible,
            "short": short,
            "figure": figure,
        }
        self._templates.globals |= {"version": version, "problems": PROBLEMS, "advice": ADVICE}

    async def ask(self, question: Callable[[Catalog], T]) -> T:
        """The answer of the catalog. Raises as the catalog."""
        return await asyncio.to_thread(lambda: question(self._open()))

    def _open(self) -> Catalog:
        """The catalog; anew where its file was replaced, which building it again from the log does."""
        file = sa.make_url(self.settings.catalog_database)
        path = Path(file.database or "") if file.get_backend_name() == "sqlite" else None
        there = (path.stat().st_dev, path.stat().st_ino) if path is not None and path.exists() else None
        if self._catalog is None or there != self._opened:
            self._catalog = Catalog(self.settings)
            self._opened = (path.stat().st_dev, path.stat().st_ino) if path is not None else None
        return self._catalog

    def page(self, request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
        """A page of this template."""
        found = self._templates.get_template(template).render(
            visitor=request.get(VISITOR), here=request.path, asks_for_login=self.guard.asks_for_login, **values
        )
        return web.Response(text=found, content_type="text/html", charset="utf-8", status=status)

    async def stop(self) -> None:
        await self.deciding.stop()
        await self.standing.stop()
        await self.pictures.stop()
        if self._catalog is not None:
            self._catalog.close()


SITE = web.AppKey("site", Site)


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What is wrong is said on a page, and never where in the code."""
    try:
        return await handler(request)
    except web.HTTPRedirection as error:
        return web.Response(status=error.status, headers={"Location": error.headers["Location"]})
    except web.HTTPException as error:
        status, title, text = error.status, error.reason, ""
    except CanonryError as error:
        status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, UsageError) else 503
        title, text = error.message, "" if status == 404 else error.remedy
    if request.path.endswith(".json"):
        return web.json_response({"error": f"{title} {text}".strip()}, status=status)
    return request.app[SITE].page(request, "error.html", status=status, title=title, text=text)


def visible(text: str) -> str:
    """Text of a document as it is, but control characters by their symbols; markup is escaped by the template."""
    return CONTROL.sub(lambda found: chr(0x2400 + ord(found[0])) if ord(found[0]) < 0x20 else "\ufffd", text)


def short(media_type: str | None) -> str:
    """A format without what all of its relatives share."""
    name = media_type or "unknown"
    for start in (
        "application/vnd.openxmlformats-officedocument.",
        "application/vnd.oasis.",
        "application/vnd.",
        "application/",
    ):
        name = name.removeprefix(start)
    return name if len(name) <= 40 else f"{name[:39]}…"


def figure(value: float) -> str:
    """Four digits that count, and whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def ago(moment: datetime | None) -> str:
    """How long ago, roughly."""
    return span((datetime.now(UTC) - moment).total_seconds()) if moment is not None else ""


def span(seconds: float) -> str:
    """Seconds as one number with a unit that a person can read."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def when(moment: datetime | str | None) -> str:
    """To the minute, UTC."""
    if isinstance(moment, str):
        return moment[:16].replace("T", " ")
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if moment is not None else ""


def size(number: int | None) -> str:
    """Bytes as a person reads them."""
    if number is None:
        return "?"
    for unit, length in (("MB", 1_000_000), ("kB", 1000)):
        if number >= length:
            return f"{number / length:.1f} {unit}"
    return f"{number} bytes"
