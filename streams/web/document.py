"""One document for a person: its page and what was read of it side by side, why it is held, and what can be decided."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiohttp import web

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import batch_of, held_around
from streams.errors import BlobNotFound, CanonryError, DocumentError, NotFound, SlotFailure, UsageError
from streams.ledger.decisions import can_be_recognised
from streams.ops import quarantine
from streams.ops.quarantine import Choice
from streams.records import CanonBody, DecisionKind, Detection
from streams.web.canons import part_of, read
from streams.web.filters import Wanted
from streams.web.queue import OFFERS, Offer, chosen, told
from streams.web.site import SITE, Site

MOST_HISTORY = 30


async def document(request: web.Request) -> web.Response:
    """The page of one document."""
    return await _show(request)


async def _show(request: web.Request, *, error: str = "", status: int = 200) -> web.Response:
    site, wanted, query = request.app[SITE], Wanted.of(request.query), request.query
    asked = {"page": _number(query.get("page")), "attempt": query.get("attempt", "")}
    passing = await site.deciding.under_way()
    found = await site.ask(lambda catalog: _look(site, catalog, query.get("id", ""), wanted, passing, asked))
    document_id = found["case"].document.source_id

    def here(**more: Any) -> str:
        kept = {"id": document_id, "page": found["part"].number if found["part"] else None, "attempt": asked["attempt"]}
        return wanted.address("/document", **{**kept, **more})

    return site.page(
        request,
        "document.html",
        status=status,
        wanted=wanted,
        error=error,
        here_with=here,
        waiting=document_id in passing,
        pending=[(made, batch_of(made)) for made in passing.get(document_id, ())],
        now=datetime.now(UTC),
        done=await told(request),
        **found,
    )


def _look(
    site: Site, catalog: Catalog, source_id: str, wanted: Wanted, passing: Collection[str], asked: dict[str, Any]
) -> dict[str, Any]:
    case = quarantine.show(site.settings, catalog, source_id, preview=False)
    story = catalog.document(source_id)
    row, held = case.document, case.held
    place = (held.held_since, source_id) if held is not None else (datetime.min.replace(tzinfo=UTC), "")
    with catalog.reading() as connection:
        around = held_around(connection, wanted.held(), place, passing)
    current = (row.current_epoch, row.current_offset)
    version = next((v for v in story.versions if (v["epoch"], v["offset"]) == current), {})
    canons = version.get("canons") or []
    shown = _shown(canons, asked["attempt"], held.payload_key if held is not None else None)
    body = read(site.store, shown["payload"]["key"], shown["payload"]["sha256"]) if shown else "There is no text."
    worst = [page.number for page in case.pages if any(score.fired for score in page.scores)]
    drawable = row.content_hash is not None and row.media_type is not None and can_be_recognised(row.media_type)
    part = part_of(body, asked["page"] or next(iter(worst), None)) if isinstance(body, CanonBody) else None
    return {
        "case": case,
        "story": story,
        "versions": story.versions[-MOST_HISTORY:],
        "changes": story.changes[-MOST_HISTORY:],
        "around": around,
        "attempts": _attempts(case, canons, shown),
        "shown": shown,
        "body": body if isinstance(body, CanonBody) else None,
        "no_text": body if isinstance(body, str) else "",
        "part": part,
        "picture": (part.number if part and part.page else asked["page"] or 1) if drawable else None,
        "worst": worst,
        "page_scores": {page.number: page.scores for page in case.pages},
        "offers": _offers(site, case),
        "last_undoable": _undoable(case),
    }


def _shown(canons: list[dict[str, Any]], fingerprint: str, key: str | None) -> dict[str, Any] | None:
    """The canon that is asked for, else the one that is held, else the newest."""
    by_print = [canon for canon in canons if canon["attempt"]["fingerprint"] == fingerprint]
    held = [canon for canon in canons if canon["payload"]["key"] == key]
    return next(iter([*by_print[-1:], *held[-1:], *canons[-1:]]), None)


def _attempts(
    case: quarantine.Case, canons: list[dict[str, Any]], shown: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """What was tried, each with whether there is a text to look at, and whether that is the one on the page."""
    texts = {canon["attempt"]["fingerprint"] for canon in canons}
    print_shown = shown["attempt"]["fingerprint"] if shown else None
    return [
        {**each, "text": each["fingerprint"] in texts, "shown": each["fingerprint"] == print_shown}
        for each in case.attempts
    ]


def _offers(site: Site, case: quarantine.Case) -> list[Offer]:
    """What can be decided, and why the rest can't."""
    found = []
    for offer in OFFERS:
        unfit = "it is not held" if case.held is None else None
        if case.held is not None:
            kind = DecisionKind(offer.kind)
            unfit = quarantine.unfit(site.settings, Choice(kind=kind, actor="", reason=""), case.held)
            if unfit is None and kind is DecisionKind.RECOGNIZE and not site.settings.recognition.enabled:
                unfit = "recognition is switched off"
        found.append(msgspec.structs.replace(offer, unfit=unfit))
    return found


def _undoable(case: quarantine.Case) -> str | None:
    """The batch of the verdict that still stands."""
    verdicts = [made for made in case.decisions if made.kind in ("accept", "skip", "undo")]
    return verdicts[-1].batch if verdicts and verdicts[-1].kind != "undo" else None


async def decide(request: web.Request) -> web.Response:
    """Publishes one decision, and goes to the next held document at once."""
    site, wanted, form = request.app[SITE], Wanted.of(request.query), await request.post()
    source_id = request.query.get("id", "")
    try:
        choice = chosen(request, form)
        seen = str(form.get("version", ""))
        batch, following = await _decide(site, wanted, source_id, choice, seen)
    except CanonryError as error:
        return await _show(request, error=str(error), status=503 if error.transient else 409)
    back = {"done": batch, "undo": "1" if choice.kind in quarantine.VERDICTS else ""}
    if following is None:
        raise web.HTTPSeeOther(wanted.address("/", **back))
    raise web.HTTPSeeOther(wanted.address("/document", id=following, **back))


async def _decide(site: Site, wanted: Wanted, source_id: str, choice: Choice, seen: str) -> tuple[str, str | None]:
    """The batch, and the next held document. Raises UsageError: it can't be decided."""

    def planned(catalog: Catalog) -> tuple[quarantine.Plan, tuple[datetime, str]]:
        row = next(iter(quarantine.listed(catalog, quarantine.HeldFilter(ids=[source_id]), 1)), None)
        if row is None:
            raise UsageError("It is not held any more: somebody has decided it, or it was replaced or deleted.")
        if seen != f"{row.epoch}.{row.offset}":
            raise UsageError(
                "A newer version has arrived since you looked.", remedy="This is the newer one: look again."
            )
        plan = quarantine.plan_decisions(site.settings, catalog, choice, [row])
        if plan.refused:
            raise UsageError(f"Not decided: {next(iter(plan.refused.values()))}.")
        if plan.already:
            raise UsageError(
                "That was asked for already, for the same reason, and is under way or done.",
                remedy="To have it done again, give another reason.",
            )
        if not plan.decisions:
            raise UsageError("The catalog does not know it any more.")
        return plan, (row.held_since, source_id)

    def following(catalog: Catalog, place: tuple[datetime, str]) -> str | None:
        with catalog.reading() as connection:
            return held_around(connection, wanted.held(), place, {*passing, source_id}).after

    plan, place = await site.ask(planned)
    passing = await site.deciding.under_way(now=True)
    if source_id in passing:
        who = next((f" by {made.actor}" for made in passing[source_id]), "")
        raise UsageError(
            f"A decision about it{who} is under way already.", remedy="Wait for its answer, or go on with n."
        )
    batch = await site.deciding.decide(plan)
    return batch, await site.ask(lambda catalog: following(catalog, place))


async def image(request: web.Request) -> web.Response:
    """A page's image."""
    site, number = request.app[SITE], _number(request.query.get("page")) or 1
    row, version = await site.ask(lambda catalog: _detected(catalog, request.query.get("id", "")))
    if row.content_hash is None or version is None or number > site.settings.limits.max_pages:
        raise NotFound("There is no such page.")
    try:
        png = await site.pictures.page(row.content_hash, msgspec.convert(version, Detection), number)
    except (DocumentError, SlotFailure) as error:
        return web.Response(status=422, text=f"This page can't be drawn: {error.message}\n")
    except BlobNotFound as error:
        raise NotFound(error.message) from error
    headers = {"Cache-Control": "private, max-age=3600"}
    return web.Response(body=png, content_type="image/png", headers=headers)


def _detected(catalog: Catalog, source_id: str) -> tuple[Any, Any]:
    story = catalog.document(source_id)
    place = (story.document.current_epoch, story.document.current_offset)
    found = next((v["detection"] for v in story.versions if (v["epoch"], v["offset"]) == place), None)
    return story.document, found


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 and int(text) > 0 else None
