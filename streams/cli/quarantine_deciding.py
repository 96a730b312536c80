"""What `canonry quarantine decide` and `release` share: the options' meaning, the question, what came of it."""

from __future__ import annotations

import asyncio
import getpass
import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from streams.cli.output import EXIT_INCOMPLETE, note, say, show_table
from streams.cli.quarantine_options import Chosen
from streams.errors import BrokerUnavailable, UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.consumers.catalog import Catalog
    from streams.consumers.catalog_rows import Held
    from streams.ops.quarantine import Choice, Plan, Planned
    from streams.ops.quarantine_under_way import UnderWay
    from streams.ops.quarantine_wait import Ended

ASK_ABOVE = 10
"""More documents than this are decided only after a question."""

NO_WORKER = "No worker runs: it waits in the log, and is carried out once you start `canonry worker`."

OWN = "own"
"""Names the format's own extractor, for `--re-extract`."""


def choices(command: Any) -> Any:
    """Adds what may be decided."""
    for option in (
        click.option("--actor", default=getpass.getuser, metavar="WHO", help="Who decides; default: this user's name."),
        click.option(
            "--re-extract",
            metavar="TOOL",
            help=f"Extract again with this extractor; {OWN}: the format's own one.",
        ),
        click.option("--recognize", is_flag=True, help="Send it to recognition."),
    ):
        command = option(command)
    return command


def choice(
    accept: bool, re_extract: str | None, recognize: bool, skip: bool, undo: bool, actor: str, reason: str
) -> Choice:
    """What the options say to do. Raises UsageError when that is nothing, several things, or no such extractor."""
    from streams.ops.quarantine import Choice, required_tool
    from streams.records import DecisionKind

    kinds = [
        kind
        for kind, given in (
            (DecisionKind.ACCEPT, accept),
            (DecisionKind.RE_EXTRACT, re_extract is not None),
            (DecisionKind.RECOGNIZE, recognize),
            (DecisionKind.SKIP, skip),
            (DecisionKind.UNDO, undo),
        )
        if given
    ]
    if len(kinds) != 1:
        raise UsageError(
            "Say what to do with one of --accept, --re-extract, --recognize, --skip, --undo (release: two of them)."
        )
    if not reason.strip() or not actor.strip():
        raise UsageError("A decision needs a reason and somebody who decides.", remedy="Give --reason and --actor.")
    choice = Choice(
        kind=kinds[0], actor=actor.strip(), reason=reason.strip(), tool=None if re_extract == OWN else re_extract
    )
    required_tool(choice)
    return choice


def plan_fixed(
    settings: Settings, catalog: Catalog, choice: Choice, chosen: Chosen, ids: list[str], under_way: UnderWay
) -> Plan:
    """Each document's reason names the extractor that has not tried it: its next version is another reason."""
    from streams.ops import quarantine as ops
    from streams.ops.quarantine_fixed import fixed

    by_extractor: dict[str, list[Held]] = {}
    for each in fixed(catalog, chosen.wanted(ids)):
        by_extractor.setdefault(each.now, []).append(each.row)
    plans = [
        ops.plan_decisions(
            settings,
            catalog,
            msgspec.structs.replace(choice, reason=f"{choice.reason}: {now} is new"),
            rows,
            under_way=under_way,
        )
        for now, rows in by_extractor.items()
    ]
    return ops.Plan(
        batch=", ".join(plan.batch for plan in plans),
        decisions=[planned for plan in plans for planned in plan.decisions],
        already=[path for plan in plans for path in plan.already],
        refused={path: why for plan in plans for path, why in plan.refused.items()},
    )


def under_way(settings: Settings, catalog: Catalog, *, needed: bool = True) -> UnderWay:
    """What is decided and stands in no catalog yet.

    Args:
        needed: whether to fail where the log does not answer; else nothing is known.

    Raises:
        BrokerUnavailable: no answer.
    """
    from streams.log.broker import address
    from streams.ops.quarantine_under_way import look_once

    try:
        return asyncio.run(look_once(settings, address(settings), catalog))
    except BrokerUnavailable:
        if needed:
            raise
        note("The log does not answer: what was decided a moment ago is counted as held.")
        return {}


def require_somebody(plan: Plan, as_json: bool) -> None:
    """Raises UsageError when nobody is there to be asked."""
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            f"It are {len(plan.decisions)} documents, and nobody is there to be asked.",
            remedy="Look with `list`, then give --yes.",
        )


def ask(plan: Plan, choice: Choice) -> None:
    """Asks whether so many are meant. Raises Exit when the answer is no."""
    number = len(plan.decisions)
    for planned in plan.decisions[:ASK_ABOVE]:
        say(f"  {planned.path}  ({', '.join(planned.problems)})")
    say(f"  … and {number - ASK_ABOVE} more")
    if not click.confirm(f"{choice.kind.value} these {number} documents?", default=False, err=True):
        note("Nothing was decided.")
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


async def publish(
    settings: Settings, decisions: list[Planned], timeout_s: float | None
) -> tuple[list[Ended] | None, bool | None]:
    """Publishes, and waits where a time is given.

    Returns:
        What came of it, where it was waited for; and whether a worker runs that carries it out; None: nothing is to do.
    """
    from streams.log.broker import address
    from streams.ops.quarantine import publish
    from streams.ops.quarantine_under_way import has_ledger
    from streams.ops.quarantine_wait import waiter

    if not decisions:
        return None if timeout_s is None else [], None
    broker = address(settings)
    if timeout_s is None:
        await publish(settings, broker, decisions)
        return None, await has_ledger(settings, broker)
    async with waiter(settings, note) as waiting:
        await publish(settings, broker, decisions)
        return await waiting.outcomes(decisions, timeout_s), True


def tell(plan: Plan, choice: Choice, ended: list[Ended] | None, worker: bool | None) -> None:
    """Says what was decided, and what came of it."""
    undo = choice.kind.value == "undo"
    what = f"{len(plan.decisions)} decided ({choice.kind.value}), as batch {plan.batch}"
    if not plan.decisions and undo:
        say("Nothing was taken back: it is taken back already, or was decided anew." if plan.already else
            "Nothing was taken back: no decision to accept or skip that still stands fits.")  # fmt: skip
    elif not plan.decisions:
        say("Nothing was decided: it is decided already." if plan.already else "Nothing is held that fits.")
    elif ended is None:
        say(f"{what}; the ledger carries it out." if worker else f"{what}. {NO_WORKER}")
    else:
        say(f"{what}:")
        show_table(["path", "now", "why", "tool", ""], [[each.path, each.outcome, ", ".join(each.problems),
                                                         each.extractor, _state(each)] for each in ended])  # fmt: skip
    say_left_out(plan)


def say_left_out(plan: Plan) -> None:
    """Says what was not decided, and why."""
    if plan.already and plan.decisions:
        note(f"{len(plan.already)} are decided so already.")
    by_why: dict[str, list[str]] = {}
    for path, why in plan.refused.items():
        by_why.setdefault(why, []).append(path)
    for why, paths in by_why.items():
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        note(f"not {', '.join(paths[:3])}{more}: {why}.")


def say_not_held(settings: Settings, plan: Plan, ids: list[str], chosen: Chosen) -> None:
    """Adds to the plan what was named and is not held. Filters beside names only narrow them down."""
    from streams.consumers.catalog import Catalog

    if not chosen.says_nothing():
        return
    planned = {each.decision.source_id for each in plan.decisions}
    with Catalog(settings) as catalog:
        for row in catalog.rows(ids).values():
            if row.source_id not in planned and row.path not in plan.already and row.path not in plan.refused:
                if row.rule == "decision" or (row.outcome == "ready" and row.problems):
                    plan.already.append(row.path)
                else:
                    plan.refused[row.path] = f"it is {row.outcome or row.status}, not held"


def is_done(each: Ended) -> bool:
    """Whether somebody else's decision had the same end."""
    return {"accept": "ready", "skip": "skipped"}.get(each.kind) == each.outcome


def _state(each: Ended) -> str:
    if each.refused:
        return f"refused: {each.refused}"
    if each.answered or is_done(each):
        return ""
    return "under way" if each.carried_out else "not carried out yet"
