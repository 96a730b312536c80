"""`canonry deletes`, `canonry erase`: what was deleted, who knows it, and the end of all that is left."""

from __future__ import annotations

import asyncio
import getpass
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from streams.cli.output import EXIT_INCOMPLETE, json_option, note, say, show_json, show_table
from streams.cli.times import Moment, utc
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.consumers.catalog_rows import Story
    from streams.ops.deletes import DeletesStatus, Told
    from streams.ops.erase import Erased


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


@click.command()
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept with the proof for as long as the log is.")
@click.option("--actor", default=getpass.getuser, metavar="WHO", help="Who decided it; default: this user's name.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@json_option
def erase(name: str, reason: str, actor: str, yes: bool, as_json: bool) -> None:
    """Erase all that is left of a deleted document, and keep the proof: what, when, who and why.

    Removed are its canons, its rendered pages and its original bytes from the blob store, and from the ledger's record
    its title and whatever was said about its text; of all its versions, and of what was in it (attachments). A content
    that a living document has as well stays, and is named: delete and erase that one too, or run this again then.
    The original of a container holds its members until it is erased itself.
    Kept are path, times, rights, outcomes and hashes. The log itself is not rewritten: topics that still hold text, and
    for how long at most, are named.

    ID is a source_id, a path, the end of a path, or a file name. The document must be deleted at its source first. A
    ledger is started for it when none is at work. Running it again does what is left, or nothing.

    
    Exit status:
      0  erased, now or before
      1  no document is called so, or the answer was no
      2  it is not deleted
      3  the broker or the blob store does not answer, or the ledger refused it
    """
    from streams.cli.run import configure_logging
    from streams.errors import UsageError
    from streams.ops.erase import eraser, remains
    from streams.runtime.members import container_of

    settings = Settings.load()
    configure_logging(settings)
    if not reason.strip():
        raise UsageError("An erasure needs a reason.", remedy="Say in --reason why; it is kept with the proof.")
    if not yes and (as_json or not sys.stdin.isatty()):
        raise UsageError("Nobody is there to be asked.", remedy="Give --yes.")

    async def main() -> list[Erased]:
        async with eraser(settings, note) as at_work:
            stories = await at_work.find(name)
            if not yes and not await asyncio.to_thread(_confirmed, stories):
                return []
            return [await at_work.erase(story, actor, reason) for story in stories]

    found = asyncio.run(main())
    if as_json:
        show_json(
            {
                "erased": [msgspec.to_builtins(item) for item in found],
                "remains": [msgspec.to_builtins(item) for item in remains()],
            }
        )
        return
    if not found:
        note("Nothing was erased.")
        raise click.exceptions.Exit(EXIT_INCOMPLETE)
    for item in found:
        _say_erased(item)
    alone = {item.source_id for item in found}
    if any(container_of(item.source_id) not in alone | {None} for item in found):
        say("The original of its container still holds it, until that is erased as well.")
    say("\nThe log may still hold, and drops by itself at the latest:")
    show_table(["topic", "what", "days"], [[item.topic, item.what, item.days] for item in remains()])
    say("Copies that others made are theirs to erase: `canonry deletes status` tells who knows of the delete.")


def _confirmed(stories: list[Story]) -> bool:
    for story in stories:
        contents = {version["content_hash"] for version in story.versions if version["content_hash"]}
        say(f"{story.document.path}  ({len(story.versions)} versions, {len(contents)} contents)")
    return click.confirm("Erase all that is left of it, for good?", default=False, err=True)


def _say_erased(item: Erased) -> None:
    if item.erased_at is None:
        say(f"{item.path}: nothing of it had ever arrived; there is nothing to erase.")
        return
    when = f"erased {utc(item.erased_at)} UTC by {item.erased_by}: {item.erased_why}"
    say(f"{item.path}: {'had been ' if item.already else ''}{when}")
    for content in item.contents:
        if content.kept_for:
            say(f"  {content.content_hash[:12]} stays, for it is also the content of {', '.join(content.kept_for)}")
        else:
            say(f"  {content.content_hash[:12]} removed: {', '.join(content.erased) or 'nothing was left'}")
