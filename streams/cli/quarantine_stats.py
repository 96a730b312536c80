"""`canonry quarantine stats`: how much is held, for how long, and whether it becomes more."""

from __future__ import annotations

import click
import msgspec

from streams.cli.output import json_option, say, show_json, show_table
from streams.cli.times import utc
from streams.settings import Settings


@click.command()
@click.option(
    "--by", type=click.Choice(["source", "format", "code", "tool"]), default="code", show_default=True, help="Count by."
)
@click.option(
    "--days", type=click.IntRange(1, 366), default=7, show_default=True, help="Of the trend; the last one ends now."
)
@json_option
def stats(by: str, days: int, as_json: bool) -> None:
    """How much is held: counts, shares, the age of the oldest, and how that moves.

    A share is of all living documents of the same kind; by code, of all living documents. The trend counts versions by
    the day on which they came to their outcome, and how many of these are held, or were when a newer version came.
    """
    from streams.consumers.catalog import Catalog
    from streams.ops import quarantine as ops

    with Catalog(Settings.load()) as catalog:
        found = ops.statistics(catalog, by, days)
    if as_json:
        show_json({"by": by, **msgspec.to_builtins(found)})
        return
    oldest = f", the oldest since {utc(found.oldest)} UTC" if found.oldest else ""
    say(f"{found.held} of {found.living} living documents are held ({_share(found.held, found.living)}){oldest}.")
    say(f"{found.overdue} are overdue, {found.unassigned} belong to nobody.")
    if found.shares:
        say("")
        show_table(
            [by, "held", "of all", "share", "oldest (UTC)"],
            [
                [each.name or "—", each.held, "" if each.living is None else each.living,
                 _share(each.held, each.living), utc(each.oldest)]
                for each in found.shares
            ],
        )  # fmt: skip
    say("")
    show_table(
        ["24 hours from (UTC)", "outcomes", "held", "share"],
        [[utc(day.begins), day.settled, day.held, _share(day.held, day.settled)] for day in found.days],
    )


def _share(part: int, whole: int | None) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "—"
