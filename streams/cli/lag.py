"""`canonry lag`: how far every stage and consumer is behind, in records and in seconds, and whether it moves."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from streams.cli.output import EXIT_INCOMPLETE, json_option, note, say, show_json, show_table
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.lag import GroupLag


@click.command()
@click.option("--partitions", is_flag=True, help="Show each partition, not only the groups.")
@click.option("--watch", is_flag=True, help="Look again and again until Ctrl-C.")
@click.option("--every", type=click.FloatRange(min=0.2), default=2.0, show_default=True, help="With --watch: seconds.")
@click.option(
    "--stalled-after",
    type=click.FloatRange(min=0.5),
    default=30.0,
    show_default=True,
    help="Seconds for which a position must stand still. One document may take worker.job_timeout_s × "
    "worker.max_attempts: to be told of nothing else, set more than that.",
)
@json_option
def lag(partitions: bool, watch: bool, every: float, stalled_after: float, as_json: bool) -> None:
    """How far every stage and consumer is behind, seen from outside: dead ones too.

    For each group and partition, records are those that are not done yet, and seconds are 0 when there are none, else
    the age of the oldest of them by the log's own timestamp. Of the catalog and the search index the positions in
    their own databases count; of all others, what their group has committed.

    \b
    States, of a partition; a group is in the worst state of its partitions:
      idle     nothing is left to do
      ok       at work, the oldest record is younger than the group's limit
      behind   at work, the oldest record is older: the limit is freshness.group_slo_s,
               else the strictest slo_s of the sources, else 300 s
      stalled  there is work, the group has members, and the position has not moved
               for --stalled-after seconds (also: no member has the partition)
      dead     there is work, and the group has no members, or was never there

    Without --watch it takes a second or so; only where something old is not seen to move, it looks for
    --stalled-after seconds before it says so. Ages rest on the clocks of this machine and the brokers.

    \b
    Exit status: 0 nothing is stalled or dead; 1 something is (with --watch: was, at the last look).
    """
    from streams.log import broker as local
    from streams.ops.lag import ALARMING, watching

    settings = Settings.load()
    address = local.address(settings)
    last: list[GroupLag] = []

    async def look() -> None:
        nonlocal last
        async with watching(settings, address, stalled_after) as watcher:
            while True:
                last = await (watcher.look() if watch else watcher.settled())
                _show(last, partitions=partitions, as_json=as_json, clear=watch)
                if watcher.clock_ahead_s > 1 and not as_json:
                    note(f"The broker's clock is at least {watcher.clock_ahead_s:.1f} s ahead of this machine's.")
                if not watch:
                    return
                await asyncio.sleep(every)

    with contextlib.suppress(*([KeyboardInterrupt] if watch else [])):
        asyncio.run(look())
    if any(group.state in ALARMING for group in last):
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


def _show(groups: list[GroupLag], *, partitions: bool, as_json: bool, clear: bool) -> None:
    from streams.ops.lag import summary

    if as_json:
        shown = [msgspec.to_builtins(group) if partitions else summary(group) for group in groups]
        show_json({"at": datetime.now(UTC).isoformat(), "groups": shown})
        return
    if clear and sys.stdout.isatty():
        click.clear()
    if not partitions:
        show_groups([summary(group) for group in groups])
        return
    show_table(
        ["group", "topic", "partition", "records", "seconds", "state", "position", "unmoved s", "member"],
        [
            [
                group.group,
                at.topic,
                at.partition,
                at.records,
                round(at.seconds, 1),
                at.state.value,
                at.position,
                round(at.unmoved_s, 1),
                at.member or "nobody",
            ]
            for group in groups
            for at in group.partitions
        ],
    )


def show_groups(groups: list[dict[str, Any]]) -> None:
    """Groups as one table, and what is to be said of single ones below it."""
    show_table(
        ["group", "reads", "records", "seconds", "state", "members"],
        [
            [
                group["group"],
                ", ".join(group["topics"]),
                group["records"],
                round(group["seconds"], 1),
                group["state"] if group["started"] or group["members"] else f"{group['state']}, never ran",
                group["members"],
            ]
            for group in groups
        ],
    )
    for group in groups:
        if group["note"]:
            say(f"{group['group']}: {group['note']}")
