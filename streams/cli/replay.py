"""`canonry replay`: a stage does again what it has done before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from streams.cli.output import EXIT_INCOMPLETE, json_option, note, say, show_json, show_table
from streams.cli.times import Moment
from streams.errors import UsageError
from streams.settings import Settings
from streams.topology import STAGES

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def replay() -> None:
    """Have a stage do its events again: after a new extractor, a new policy, or a repaired fault.

    The rule: stop the stage first. `plan` shows what would come again, `apply` does it, then start the stage again.
    Replayed events carry lane `replay` and a run_id through all stages after it. What comes out as it was before is
    published nowhere again; what comes out new takes the place of the old, which is archived.

    \b
    Examples:
      canonry replay plan extract --earliest              what is still on `decoded`
      canonry replay apply decode --earliest              everything, from the originals
      canonry replay apply screen --to-time 2026-11-30T08:00
      canonry replay apply extract --ids held.txt         single documents; the stage need not stop
    """


def _where(command: F) -> F:
    """Adds the stage, and the four ways to say what comes again."""
    for option in (
        json_option,
        click.option(
            "--ids",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="The newest event of these documents: one source_id or path a line.",
        ),
        click.option("--earliest", is_flag=True, help="Everything that retention has left."),
        click.option(
            "--to-offset", type=click.IntRange(min=0), metavar="N", help="From this offset on, in every partition."
        ),
        click.option(
            "--to-time",
            type=Moment(),
            metavar="T",
            help="From this time on, by the log's clock: ISO 8601, UTC unless it says otherwise.",
        ),
        click.argument("stage", type=click.Choice(list(STAGES))),
    ):
        command = option(command)
    return command


@replay.command()
@_where
def plan(
    stage: str, to_time: datetime | None, to_offset: int | None, earliest: bool, ids: Path | None, as_json: bool
) -> None:
    """Show what would come again: from and to of each partition, how many events, and what retention has removed.

    Changes nothing, and may be asked while the stage works.
    """
    from streams.log.broker import address
    from streams.ops import replay as ops

    where = _parse(to_time, to_offset, earliest, ids)
    settings = Settings.load()
    broker = address(settings)
    if ids is not None:
        _show_found(_find(settings, broker, stage, ids), None, as_json)
        return
    planned = asyncio.run(ops.plan(settings, broker, stage, where))
    if as_json:
        show_json(_values(planned))
        return
    _show(planned)
    if stage == "decode" and planned.events:
        say("Those that could not come out otherwise are passed over, unless `apply` is given --all.")
    for member in planned.members:
        note(f"at work: {member}. Stop it before `apply`: {member.how_to_stop}.")


@replay.command()
@_where
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Work also on documents that could not come out otherwise: after a repair that no version tells of.",
)
def apply(
    stage: str,
    to_time: datetime | None,
    to_offset: int | None,
    earliest: bool,
    ids: Path | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Set the stage's offsets back, and read them back; then start the stage again. It must be stopped meanwhile.

    decode passes over documents whose rules, extractor and policy are those that they were last treated with; --all has
    it work on them, too.

    With --ids nothing is set back: the newest event of each document is published once more on the stage's topic, and
    the stage may go on working. A document that was deleted stays deleted.
    """
    from streams.log.broker import address
    from streams.ops import replay as ops

    where = _parse(to_time, to_offset, earliest, ids)
    settings = Settings.load()
    broker = address(settings)
    if ids is not None:
        from streams.ops.replay_ids import publish

        found = _find(settings, broker, stage, ids)
        run_id = asyncio.run(publish(settings, broker, found)) if found.events else None
        _show_found(found, run_id, as_json)
        if found.missing:
            raise click.exceptions.Exit(EXIT_INCOMPLETE)
        return
    done = asyncio.run(ops.apply(settings, broker, stage, where, everything=everything))
    if as_json:
        show_json({"run_id": done.run_id if done.plan.moved else None, **_values(done.plan, done.read_back)})
        return
    _show(done.plan, done.read_back)
    if done.plan.moved:
        say(f"\nApplied as run {done.run_id}. Start the stage again: `canonry worker {stage}`, or `canonry worker`.")


def _parse(to_time: datetime | None, to_offset: int | None, earliest: bool, ids: Path | None) -> Any:
    from streams.ops.replay import Where

    if sum((to_time is not None, to_offset is not None, earliest, ids is not None)) != 1:
        raise UsageError("Say what comes again with one of --to-time, --to-offset, --earliest, --ids.")
    return Where(offset=to_offset, time=to_time)


def _find(settings: Settings, broker: str, stage: str, ids: Path) -> Any:
    from streams.ops.replay_ids import find, read_names

    return asyncio.run(find(settings, broker, stage, read_names(ids)))


def _values(planned: Any, read_back: dict[tuple[str, int], int] | None = None) -> dict[str, Any]:
    return {
        "stage": planned.stage,
        "group": planned.group,
        "events": planned.events,
        "partitions": [
            {
                "topic": reset.topic,
                "partition": reset.partition,
                "from": reset.committed,
                "to": reset.committed if reset.to is None else reset.to,
                "events": reset.events,
                "begins": reset.begins,
                "ends": reset.ends,
                **({"read_back": read_back.get((reset.topic, reset.partition))} if read_back is not None else {}),
            }
            for reset in planned.resets
        ],
        "members": [str(member) for member in planned.members],
        "warnings": planned.warnings,
    }


def _show(planned: Any, read_back: dict[tuple[str, int], int] | None = None) -> None:
    rows = [
        [
            reset.topic,
            reset.partition,
            "" if reset.committed is None else reset.committed,
            "stays" if reset.to is None else reset.to,
            reset.events,
            *([read_back.get((reset.topic, reset.partition), "")] if read_back is not None else []),
        ]
        for reset in planned.resets
        if reset.ends
    ]
    if planned.moved:
        columns = ["topic", "partition", "from", "to", "events", *(["read back"] if read_back is not None else [])]
        show_table(columns, rows, title=f"{planned.group}: {planned.events} events come again")
    else:
        say(f"Nothing comes again: {planned.group} has done no event there.")
    for warning in planned.warnings:
        note(warning)


def _show_found(found: Any, run_id: str | None, as_json: bool) -> None:
    if as_json:
        events = [
            {"source_id": e.source_id, "topic": e.topic, "partition": e.partition, "offset": e.offset, "at": e.at}
            for e in found.events
        ]
        show_json({"stage": found.stage, "run_id": run_id, "events": events, "missing": found.missing})
        return
    if found.events:
        show_table(
            ["document", "topic", "partition", "offset", "of"],
            [[e.source_id, e.topic, e.partition, e.offset, f"{e.at:%Y-%m-%d %H:%M:%S}"] for e in found.events],
        )
    for name, why in found.missing.items():
        note(f"{name}: {why}")
    if run_id is not None:
        say(f"\nPublished {len(found.events)} events as run {run_id}.")
