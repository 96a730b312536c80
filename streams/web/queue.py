"""The queue: what is held, one by one and in groups, decisions about many at once, and what was decided lately."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from aiohttp import web

from streams.consumers.catalog import Catalog
from streams.consumers.catalog_quarantine import DecisionRow, HeldFilter, batch_of, held_values
from streams.errors import BrokerUnavailable, NotFound, UsageError
from streams.ops import quarantine
from streams.ops.quarantine import VERDICTS, WORK, Choice, DecidedFilter
from streams.records import Decision, DecisionKind
from streams.web.filters import AGES, NOBODY, Wanted
from streams.web.guard import VISITOR
from streams.web.site import SITE, Site

ON_A_PAGE = 50
EXAMPLES = 12
LATELY = timedelta(days=2)
MOST_LATELY = 100
OWN = ""
"""Names the format's own extractor in a form."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be decided, for the form."""

    kind: str
    key: str
    label: str
    reason: str  # to begin with
    effect: str  # what happens then
    unfit: str | None = None  # why it can't be


OFFERS = (
    Offer(kind="accept", key="a", label="Accept as it is", reason="read it, it is fine",
          effect="Search finds it from then on, with the text as you see it. Can be undone."),
    Offer(kind="re_extract", key="e", label="Extract again", reason="another extractor may read it",
          effect="The file is read anew; the better result stays, and comes back here if it is held again."),
    Offer(kind="recognize", key="r", label="Send to recognition", reason="its pages have to be looked at",
          effect="The pages are read as pictures; the better result stays, and comes back here if it is held again."),
    Offer(kind="skip", key="s", label="Skip", reason="not needed",
          effect="It is left out: search does not find it, and nobody is asked again. Can be undone."),
)  # fmt: skip


def chosen(request: web.Request, form: Any) -> Choice:
    """What a form decides. Raises UsageError."""
    kind = next((offer for offer in OFFERS if offer.kind == form.get("kind")), None)
    if kind is None:
        raise UsageError("Choose what to do with it: accept, extract again, recognise or skip.")
    tool = str(form.get("extractor", OWN)) if kind.kind == "re_extract" else OWN
    choice = Choice(
        kind=DecisionKind(kind.kind),
        actor=request[VISITOR].name,
        reason=str(form.get("reason", "")).strip()[:500] or kind.reason,
        tool=tool or None,
    )
    quarantine.required_tool(choice)
    return choice


async def queue(request: web.Request) -> web.Response:
    """One by one, those held longest first."""
    site, wanted = request.app[SITE], Wanted.of(request.query)
    after = _place(request.query.get("after", ""))
    passing = await site.deciding.under_way()

    def look(catalog: Catalog) -> dict[str, Any]:
        meant = wanted.held()
        rows = quarantine.listed(catalog, meant, ON_A_PAGE + 1, after)
        with catalog.reading() as connection:
            choices = held_values(connection)
        return {"total": quarantine.count(catalog, meant), "locked": _locked(catalog, meant, passing),
                "rows": rows[:ON_A_PAGE],
                "more": _after(rows[ON_A_PAGE - 1]) if len(rows) > ON_A_PAGE else "",
                "choices": choices}  # fmt: skip

    found = await site.ask(look)
    return site.page(request, "queue.html", wanted=wanted, ages=list(AGES), nobody=NOBODY, now=datetime.now(UTC),
                     under_way=passing, done=await told(request), after=after, **found)  # fmt: skip


async def groups(request: web.Request) -> web.Response:
    """By code, extractor, version and format: what may be one fault."""
    site, wanted = request.app[SITE], Wanted.of(request.query)
    rows = await site.ask(lambda catalog: quarantine.groups(catalog, wanted.held()))
    return site.page(request, "groups.html", wanted=wanted, rows=rows[:500], more=len(rows) - 500,
                     done=await told(request), now=datetime.now(UTC))  # fmt: skip


async def plan(request: web.Request) -> web.Response:
    """What would be decided of all that fit: first the choice, then its list."""
    site, wanted = request.app[SITE], Wanted.of(request.query)
    before = _moment(request.query.get("before")) or datetime.now(UTC)
    choice = chosen(request, request.query) if "kind" in request.query else None

    passing = await site.deciding.under_way()

    def look(catalog: Catalog) -> dict[str, Any]:
        meant = wanted.held(before=before)
        total = quarantine.count(catalog, meant)
        if choice is None:
            rows = quarantine.listed(catalog, meant, EXAMPLES + len(passing))
            rows = [row for row in rows if row.source_id not in passing]
            return {"total": total, "locked": _locked(catalog, meant, passing), "plan": None, "rows": rows[:EXAMPLES]}
        found, rows = _planned(site, catalog, choice, meant, passing)
        return {"total": total, "locked": total - len(rows), "plan": found, "rows": rows[:EXAMPLES]}

    found = await site.ask(look)
    media_type = wanted.format or getattr(wanted.group_meant(), "media_type", None)
    tools = quarantine.tools_for(site.settings, media_type) if media_type else []
    refused: dict[str, list[str]] = {}
    for path, why in (found["plan"].refused if found["plan"] else {}).items():
        refused.setdefault(why, []).append(path)
    return site.page(request, "plan.html", wanted=wanted, choice=choice, before=before.isoformat(), offers=OFFERS,
                     tools=tools, refused=refused, examples=EXAMPLES, **found)  # fmt: skip


async def decide_all(request: web.Request) -> web.Response:
    """Decides all that fit and were held when they were looked at."""
    site, wanted, form = request.app[SITE], Wanted.of(request.query), await request.post()
    before = _moment(str(form.get("before")))
    if before is None:
        raise UsageError("It is not said what was looked at.", remedy="Go back, and look again.")
    choice, meant = chosen(request, form), wanted.held(before=before)
    passing = await site.deciding.under_way(now=True)
    made, _ = await site.ask(lambda catalog: _planned(site, catalog, choice, meant, passing))
    seen = _number(str(form.get("seen")))
    missing = max(0, seen - len(made.decisions))
    if not made.decisions:
        raise UsageError(
            f"Nothing was decided: all {seen} documents that you saw have been decided meanwhile, or are gone."
            if seen else "Nothing was decided: nothing that is held fits, or all of it is decided already.",
            remedy="The page Decided tells by whom.",
        )  # fmt: skip
    left_out = f"{missing} of the {seen} that you saw were decided already, or are gone." if missing else ""
    batch = await site.deciding.decide(made, left_out)
    raise web.HTTPSeeOther(msgspec.structs.replace(wanted, group="").address("/groups", done=batch))


async def decided(request: web.Request) -> web.Response:
    """What was decided in the last two days, by batch, the newest first."""
    return await _decided(request)


async def _decided(request: web.Request, *, error: str = "", status: int = 200) -> web.Response:
    site = request.app[SITE]
    passing = await site.deciding.under_way()

    def look(catalog: Catalog) -> list[dict[str, Any]]:
        rows = quarantine.decided_rows(catalog, DecidedFilter(since=datetime.now(UTC) - LATELY))
        return _batches(catalog, [*rows, *(_waits(made) for decisions in passing.values() for made in decisions)])

    return site.page(request, "decided.html", status=status, error=error, batches=await site.ask(look),
                     done=await told(request))  # fmt: skip


def _batches(catalog: Catalog, rows: list[DecisionRow]) -> list[dict[str, Any]]:
    """Decisions by batch, those made last first: how many there are, which of them wait, whether undoing does anything.

    Args:
        rows: of each document the newest last.
    """
    stands = {}  # of each document, the batch of the verdict that counts
    batches: dict[str, dict[str, Any]] = {}
    for row in rows:
        batch = batches.setdefault(row.batch, {"row": row, "ids": [], "open": 0, "waiting": 0})
        batch["ids"].append(row.source_id)
        if row.carried_out_at is None:
            batch["waiting"] += 1
        elif row.kind in WORK and row.answered_at is None:
            batch["open"] += 1
        if row.kind not in WORK:
            stands[row.source_id] = row.batch
    found = sorted(batches.values(), key=lambda each: each["row"].decided_at, reverse=True)[:MOST_LATELY]
    paths = catalog.rows([source_id for each in found for source_id in each["ids"][:3]])
    for each in found:
        each["paths"] = [(id_, paths[id_].path) for id_ in each["ids"][:3] if id_ in paths]
        each["undoable"] = each["row"].kind in VERDICTS and any(
            stands.get(source_id) == each["row"].batch for source_id in each["ids"]
        )
    return found


def _waits(made: Decision) -> DecisionRow:
    """A decision that nobody has carried out, as the catalog would have it."""
    return DecisionRow(
        source_id=made.source_id,
        epoch=made.sequence.epoch,
        offset=made.sequence.offset,
        number=-1,
        kind=made.kind.value,
        tool=made.tool,
        actor=made.actor,
        reason=made.reason,
        decided_at=made.decided_at,
        carried_out_at=None,
        answered_at=None,
        batch=batch_of(made),
    )


async def undo(request: web.Request) -> web.Response:
    """Takes a batch back, whether it was carried out already or waits for that."""
    site, form = request.app[SITE], await request.post()
    batch = str(form.get("batch", ""))
    if not batch:
        raise UsageError("It is not said what to take back.", remedy="Go back, and choose it on the page Decided.")
    reason = str(form.get("reason", "")).strip()[:500] or "decided too soon"
    choice = Choice(kind=DecisionKind.UNDO, actor=request[VISITOR].name, reason=reason)
    if how_far := site.deciding.is_publishing(batch):
        return await _decided(request, error=f"{how_far}: take it back when all are.", status=409)
    try:
        passing = await site.deciding.under_way(now=True)
        found = await site.ask(
            lambda catalog: quarantine.plan_undo(catalog, choice, DecidedFilter(batch=batch), under_way=passing)
        )
        if not found.decisions:
            error = "There is nothing to take back: only accepting and skipping that still stand can be."
            return await _decided(request, error=error, status=409)
        made = await site.deciding.decide(found)
    except BrokerUnavailable as error:
        return await _decided(request, error=f"Nothing was taken back: {error}", status=503)
    if len(found.decisions) == 1 and form.get("back") == "document":
        address = Wanted.of(request.query).address("/document", id=found.decisions[0].decision.source_id, done=made)
        raise web.HTTPSeeOther(address)
    raise web.HTTPSeeOther(f"/decided?done={made}")


async def state(request: web.Request) -> web.Response:
    """What became of a batch, for the page that waits for it."""
    found = await request.app[SITE].deciding.state(request.match_info["batch"])
    if found is None:
        raise NotFound("Nothing is known of this decision here.")
    return web.json_response(found)


async def told(request: web.Request) -> dict[str, Any] | None:
    """What the page says of the decision that led to it."""
    batch = request.query.get("done", "")
    found = await request.app[SITE].deciding.state(batch) if batch else None
    return None if found is None else {**found, "batch": batch, "undo": request.query.get("undo") == "1"}


def _planned(
    site: Site, catalog: Catalog, choice: Choice, meant: HeldFilter, passing: Collection[str]
) -> tuple[quarantine.Plan, list[quarantine.Held]]:
    """What would be decided of all that fit, and of which documents; what is under way already is not decided."""
    rows = list(quarantine.held(catalog, meant))
    free = [row for row in rows if row.source_id not in passing]
    found = quarantine.plan_decisions(site.settings, catalog, choice, free)
    return found, free


def _locked(catalog: Catalog, meant: HeldFilter, passing: Collection[str]) -> int:
    """How many of those that fit have a decision under way."""
    return quarantine.count(catalog, msgspec.structs.replace(meant, ids=sorted(passing))) if passing else 0


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _place(text: str) -> tuple[datetime, str] | None:
    """(held_since, source_id) of the last row of the page before."""
    since, slash, source_id = text.partition("|")
    moment = _moment(since)
    return (moment, source_id) if moment is not None and slash else None


def _after(row: quarantine.Held) -> str:
    return f"{row.held_since.isoformat()}|{row.source_id}"


def _moment(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
