"""`canonry deletes`: what was deleted, and who knows it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from streams.cli.output import EXIT_INCOMPLETE, json_option, note, say, show_json, show_table
from streams.cli.times import Moment, utc
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.deletes import DeletesStatus, Told


@click.group()
def deletes() -> None:
    """Deletes to the very end: what was deleted, who knows it, and who does not yet."""


@deletes.command("status")
@click.option("--since", type=Moment(), metavar="TIME", help="Only what was deleted then or later (ISO 8601, UTC).")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Show so many at most, those that somebody has not passed first; --json has all.",
)
@json_option
def deletes_status(since: datetime | None, limit: int, as_json: bool) -> None:
    """Each deletion, with who, when and why, and the consumer groups that have passed it.

    A group is registered when the broker knows it and it has read canon-ready, quarantine or deleted; catalog and
    search say where they are themselves. A group has passed a deletion when it has read, of each of these topics that
    it reads, everything up to the deletion. What can't be told is `unknown`: the group has no position there, or it is
    of another log. `rebuilding`: the group was away too long, reads all anew, and sweeps at the end. A group that is
    gone for so long that the broker forgot it can't be listed.

    \b
    Exit status:
      0  every registered group has passed every deletion shown (or there is none)
      1  not so; the output says which
      3  the broker does not answer
    """
    from streams.log.broker import address
    from streams.ops.deletes import deletes_status as look

    settings = Settings.load()
    found = asyncio.run(look(settings, address(settings), since))
    if as_json:
        show_json(_json(found, since))
    else:
        _tell(found, limit)
    if not found.complete:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


def _tell(found: DeletesStatus, limit: int) -> None:
    if found.unreadable:
        note(f"{found.unreadable} messages on `deleted` can't be read: what they say is not counted.")
    if not found.told:
        say("Nothing was deleted.")
        return
    say(f"{len(found.told)} deleted, {sum(1 for item in found.told if item.deletion.erased_at)} of them erased.")
    shown = sorted(found.told, key=lambda item: item.published_at, reverse=True)
    shown = sorted(shown, key=lambda item: item.complete)[:limit]
    say("")
    show_table(
        ["deleted (UTC)", "what", "by", "why", "erased (UTC)", "passed by"],
        [
            [
                utc(item.deletion.deleted_at),
                item.deletion.path or item.deletion.source_id,
                item.deletion.actor,
                item.deletion.reason,
                utc(item.deletion.erased_at),
                _passed_by(item),
            ]
            for item in shown
        ],
    )
    if len(shown) < len(found.told):
        say(f"… and {len(found.told) - len(shown)} more (--limit, --json)")
    say("")
    if not found.groups:
        say("No consumer group is known to the broker: nobody has to pass anything.")
        return
    show_table(
        ["group", "reads", "tells by", "passed", "behind", "rebuilding", "unknown"],
        [
            [
                group.name,
                ", ".join(group.reads) or "unknown",
                group.positions,
                *(group.counts.get(name, 0) for name in ("passed", "behind", "rebuilding", "unknown")),
            ]
            for group in found.groups
        ],
    )


def _passed_by(item: Told) -> str:
    open_ = [f"{name} is {found.value}" for name, found in item.groups.items() if found != "passed"]
    passed = f"{len(item.groups) - len(open_)} of {len(item.groups)}"
    return f"{passed}; {', '.join(open_)}" if open_ else passed


def _json(found: DeletesStatus, since: datetime | None) -> dict[str, Any]:
    return {
        "since": since.isoformat() if since else None,
        "complete": found.complete,
        "deleted": len(found.told),
        "erased": sum(1 for item in found.told if item.deletion.erased_at),
        "unreadable": found.unreadable,
        "deletions": [
            {
                **msgspec.to_builtins(item.deletion),
                "partition": item.partition,
                "published_at": item.published_at.isoformat(),
                "complete": item.complete,
                "groups": {group: passed.value for group, passed in item.groups.items()},
            }
            for item in found.told
        ],
        "groups": [msgspec.to_builtins(group) for group in found.groups],
    }
