"""`canonry quarantine`: what is held and why, and what a person decides about it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from streams.cli import quarantine_deciding as deciding
from streams.cli.output import EXIT_INCOMPLETE, json_option, note, say, show_json, show_table
from streams.cli.quarantine_options import Chosen, Rate, filters, ids_of
from streams.cli.quarantine_stats import stats
from streams.cli.times import Moment, utc
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.quarantine_release import Progress
    from streams.ops.quarantine_under_way import UnderWay


@click.group()
def quarantine() -> None:
    """Held documents: look at them, decide about them, release them.

    What is held is named by `search`, `doc` and `status`, too; here is the queue to work through. Three ways out, and a
    fourth: extract it again with a named tool, send it to recognition, accept it as it is, or skip it. Every decision
    is an event with an actor and a reason; the ledger carries it out, and `decide --undo` takes it back.

    \b
    Examples:
      canonry quarantine list --groups                    what is held, by what may be one fault
      canonry quarantine show lease.pdf                   scores, limits, attempts, text of one
      canonry quarantine decide lease.pdf --accept --reason 'read it'
      canonry quarantine decide --group mojibake:text:1:text/plain --skip --reason 'old exports'
      canonry quarantine release --code needs_recognition --recognize --rate 30/min
      canonry quarantine release --fixed --rate 60/min    after a new version of an extractor
      canonry quarantine decide --undo --batch 3f0c9d2a1b --reason 'wrong group'
    """


@quarantine.command("list")
@filters
@click.option("--groups", "as_groups", is_flag=True, help="By code, extractor, version and format.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Show so many at most.")
@json_option
def list_(chosen: Chosen, as_groups: bool, limit: int, as_json: bool) -> None:
    """Held documents, the longest held first; or groups of them.

    A document with two problems is in two groups. Version and tool are those of the attempt that counts. Overdue is
    what is held for longer than its source allows (sources.NAME.decide_within_s). With --json, `total` counts them all.
    """
    from streams.consumers.catalog import Catalog
    from streams.ops import quarantine as ops
    from streams.ops.quarantine_fixed import fixed, group_rows

    settings, now = Settings.load(), datetime.now(UTC)
    wanted = chosen.wanted()
    with Catalog(settings) as catalog:
        if chosen.fixed:
            found = [each.row for each in fixed(catalog, wanted)]
            rows, total = found[:limit], len(found)
            groups = group_rows(found) if as_groups else []
        else:
            rows = [] if as_groups else ops.listed(catalog, wanted, limit)
            total = ops.count(catalog, wanted)
            groups = ops.groups(catalog, wanted) if as_groups else []
    if as_groups:
        if as_json:
            show_json(
                {
                    "total": total,
                    "groups": [
                        {"id": row.group.id, **msgspec.to_builtins(row.group), **_but(row, "group")}
                        for row in groups[:limit]
                    ],
                }
            )
            return
        show_table(
            ["held", "oldest (UTC)", "next deadline", "group", "examples"],
            [
                [row.count, utc(row.oldest), _deadline(row.next_deadline, now), row.group.id, ", ".join(row.examples)]
                for row in groups[:limit]
            ],
        )
        _rest(len(groups), limit, "groups")
        say(f"\n{total} documents are held." if groups else "Nothing is held.")
        return
    if as_json:
        show_json(
            {
                "total": total,
                "held": [{**_but(row, "scores"), "overdue": _is_overdue(row.deadline, now)} for row in rows],
            }
        )
        return
    if not rows:
        say("Nothing is held." if chosen.says_nothing() else "Nothing is held that fits.")
        return
    show_table(
        ["held since (UTC)", "deadline", "owner", "why", "tool", "path"],
        [
            [
                utc(row.held_since),
                _deadline(row.deadline, now),
                row.owner or "nobody",
                ", ".join(row.problems),
                f"{row.extractor} {row.extractor_version}" if row.extractor else "—",
                row.path,
            ]
            for row in rows
        ],
    )
    _rest(total, limit, "documents")


@quarantine.command()
@click.argument("name", metavar="ID")
@json_option
def show(name: str, as_json: bool) -> None:
    """Everything about one held document that a person needs to decide.

    ID is a source_id, a path, the end of a path, or a file name. Scores that are beyond their limit are marked; the
    limits are those of the policy in force now, and it is said when another one had judged.
    """
    from streams.cli.quarantine_show import tell
    from streams.consumers.catalog import Catalog
    from streams.ops import quarantine as ops
    from streams.ops.lookup import one_document

    settings = Settings.load()
    with Catalog(settings) as catalog:
        case = ops.show(settings, catalog, one_document(catalog, name).source_id)
    if as_json:
        show_json(msgspec.to_builtins(case))
    else:
        tell(case, datetime.now(UTC))


@quarantine.command()
@click.argument("names", nargs=-1, metavar="[ID]...")
@filters
@deciding.choices
@click.option("--accept", is_flag=True, help="Accept the text as it is.")
@click.option("--skip", is_flag=True, help="Leave it out, by the rule `decision`.")
@click.option("--undo", is_flag=True, help="Take back what was accepted or skipped: it is held again.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept with the decision.")
@click.option("--batch", metavar="ID", help="With --undo: all that was decided in one go; `decide` and `show` name it.")
@click.option("--decided-by", metavar="WHO", help="With --undo: what this person decided.")
@click.option("--decided-since", type=Moment(), metavar="TIME", help="With --undo: decided then or later (UTC).")
@click.option("--all", "everything", is_flag=True, help="Everything that is held.")
@click.option("--yes", is_flag=True, help=f"Don't ask, however many it are; else above {deciding.ASK_ABOVE}.")
@click.option("--wait", is_flag=True, help="Wait until it is carried out, and show what came of it.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="With --wait: seconds.",
)
@json_option
def decide(
    names: tuple[str, ...],
    chosen: Chosen,
    actor: str,
    re_extract: str | None,
    recognize: bool,
    accept: bool,
    skip: bool,
    undo: bool,
    reason: str,
    batch: str | None,
    decided_by: str | None,
    decided_since: datetime | None,
    everything: bool,
    yes: bool,
    wait: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Decide about held documents: those named, or those that the filters mean.

    Deciding the same again changes nothing, at once or later, whether a worker runs or not: what is not held any more
    fits no filter, and the same work is not asked for twice with the same --reason (give another one to have it done
    again). A result that is worse than what is there does not take its place. A whole backlog is released with
    `canonry quarantine release`, which does it metered.

    \b
    Exit status:
      0  decided, or it was decided already (with --wait: and carried out)
      1  some did not fit, or were refused, or are not done in time; or the answer was no; or no document is called so;
         or there was nothing to take back
      2  called wrongly: no such extractor, nothing named, nobody there to be asked
      3  the broker or the database does not answer
    """
    from streams.consumers.catalog import Catalog
    from streams.ops import quarantine as ops

    settings = Settings.load()
    choice = deciding.choice(accept, re_extract, recognize, skip, undo, actor, reason)
    of_undo = {"--batch": batch, "--decided-by": decided_by, "--decided-since": decided_since}
    undoing = [name for name, value in of_undo.items() if value is not None]
    ids = ids_of(settings, names)
    if undoing and not undo:
        raise UsageError(f"{undoing[0]} goes with --undo only.")
    if undo and (wrong := chosen.says_more_than("group", "source")):
        raise UsageError(
            f"{wrong[0]} says what is held, and --undo is about what is not.",
            remedy="Use --batch, --group, --source, --decided-by, --decided-since, or name documents.",
        )
    if not (names or undoing or everything) and chosen.says_nothing():
        raise UsageError("Nothing is named.", remedy="Name documents, a --group or other filters; or give --all.")
    with Catalog(settings) as catalog:

        def planned(under_way: UnderWay) -> ops.Plan:
            if undo:
                wanted = ops.DecidedFilter(ids=ids or None, batch=batch, actor=decided_by, since=decided_since,
                                           source=chosen.source, group=chosen.group)  # fmt: skip
                return ops.plan_undo(catalog, choice, wanted, under_way=under_way)
            if chosen.fixed:
                return deciding.plan_fixed(settings, catalog, choice, chosen, ids, under_way)
            rows = list(ops.held(catalog, chosen.wanted(ids)))
            return ops.plan_decisions(settings, catalog, choice, rows, under_way=under_way)

        plan = planned({})
        if len(plan.decisions) > deciding.ASK_ABOVE and not yes:
            deciding.require_somebody(plan, as_json)
        if plan.decisions or undo:
            plan = planned(deciding.under_way(settings, catalog))
    if ids and not undo:
        deciding.say_not_held(settings, plan, ids, chosen)
    if len(plan.decisions) > deciding.ASK_ABOVE and not yes:
        deciding.ask(plan, choice)
    ended, worker = asyncio.run(deciding.publish(settings, plan.decisions, timeout if wait else None))
    if as_json:
        show_json(
            {
                "batch": plan.batch,
                "decided": [
                    {"source_id": planned.decision.source_id, "path": planned.path} for planned in plan.decisions
                ],
                "already": plan.already,
                "refused": plan.refused,
                "worker": worker,
                "outcomes": None if ended is None else msgspec.to_builtins(ended),
            }
        )
    else:
        deciding.tell(plan, choice, ended, worker)
    undone = [each for each in ended or () if each.refused or not (each.answered or deciding.is_done(each))]
    if plan.refused or undone or (undo and not plan.decisions and not plan.already):
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


@quarantine.command()
@filters
@deciding.choices
@click.option("--reason", metavar="TEXT", default="release", show_default=True, help="Why; names the release.")
@click.option("--rate", type=Rate(), default="30/min", show_default=True, metavar="N/min", help="Documents a minute.")
@click.option(
    "--most-waiting",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="While the stages have more records than this before them, nothing more is released.",
)
@click.option("--all", "everything", is_flag=True, help="Everything that is held.")
@click.option("--dry-run", is_flag=True, help="Only say how many it are, and how long it takes at least.")
@json_option
def release(
    chosen: Chosen,
    actor: str,
    re_extract: str | None,
    recognize: bool,
    reason: str,
    rate: float,
    most_waiting: int,
    everything: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Send a backlog to recognition or to an extractor, so many a minute, live work first.

    Pausing is stopping: Ctrl-C, and the same command goes on where it was, for what is decided is not decided again (a
    second release of the same documents needs another --reason). What arrives meanwhile waits for --most-waiting
    records at most. Released documents travel on lane backfill, which makes no source look fresh.

    With --fixed and nothing else, each document goes to the extractor of its format again.

    \b
    Exit status:
      0    all of them are on their way, or were
      1    some did not fit
      2    called wrongly
      3    the broker or the database does not answer
      130  stopped; the same command goes on
    """
    from streams.consumers.catalog import Catalog
    from streams.log.broker import address
    from streams.ops import quarantine as ops
    from streams.ops.quarantine_release import release as run
    from streams.ops.quarantine_under_way import has_ledger

    settings = Settings.load()
    if chosen.fixed and not recognize and re_extract is None:
        re_extract = deciding.OWN
    choice = deciding.choice(False, re_extract, recognize, False, False, actor, reason)
    if not everything and chosen.says_nothing():
        raise UsageError("Nothing is named.", remedy="Give filters, such as --code or --group, or --all.")
    with Catalog(settings) as catalog:

        def planned(under_way: UnderWay) -> ops.Plan:
            if chosen.fixed:
                return deciding.plan_fixed(settings, catalog, choice, chosen, [], under_way)
            rows = list(ops.held(catalog, chosen.wanted()))
            return ops.plan_decisions(settings, catalog, choice, rows, under_way=under_way)

        plan = planned({})
        if plan.decisions:
            plan = planned(deciding.under_way(settings, catalog, needed=not dry_run))
    total, minutes = len(plan.decisions), len(plan.decisions) / rate
    if not as_json:
        say(f"{total} documents at {rate:g} a minute: {minutes:.0f} minutes at least. Ctrl-C pauses.")
        deciding.say_left_out(plan)
    done, worker = 0, None

    def progress(at: Progress) -> None:
        nonlocal done
        done = at.decided
        why = f"; waiting, for {at.waiting} records are before the stages (`canonry lag`)" if at.held_back else ""
        note(f"{at.decided} of {at.total}{why}")

    try:
        if total and not dry_run:
            worker = asyncio.run(has_ledger(settings, address(settings)))
            if not worker:
                note(deciding.NO_WORKER)
            done = asyncio.run(
                run(
                    settings,
                    address(settings),
                    plan.decisions,
                    total,
                    per_minute=rate,
                    most_waiting=most_waiting,
                    progress=progress,
                )
            )
    except KeyboardInterrupt:
        note(f"Stopped after some {done} of {total}. The same command goes on from there.")
        raise
    if as_json:
        show_json({"total": total, "released": done, "already": len(plan.already), "refused": plan.refused,
                   "worker": worker, "minutes_at_least": round(minutes, 2)})  # fmt: skip
    elif not dry_run:
        say(f"{done} documents are on their way; `canonry quarantine list` shows what is left.")
        if done < total:
            note(f"{total - done} were released by somebody else meanwhile.")
    if plan.refused:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


quarantine.add_command(stats)


# --- parts ------------------------------------------------------------------------------------------------------------


def _deadline(deadline: datetime | None, now: datetime) -> str:
    return "—" if deadline is None else f"{utc(deadline)}{' overdue' if _is_overdue(deadline, now) else ''}"


def _is_overdue(deadline: datetime | None, now: datetime) -> bool:
    return deadline is not None and deadline < now


def _rest(total: int, limit: int, what: str) -> None:
    if total > limit:
        say(f"… and {total - limit} more {what} (--limit)")


def _but(row: msgspec.Struct, *names: str) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(row).items() if name not in names}
