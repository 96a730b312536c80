"""`canonry duplicates`: which documents say the same."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from streams.cli.output import json_option, safe, say, show_json, show_table
from streams.settings import Settings


@click.command()
@click.argument("name", metavar="[ID]", required=False)
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0.5, 1.0),
    default=0.8,
    show_default=True,
    help="How alike two texts must be: the share of their runs of three words that both have.",
)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Show so many groups at most.")
@json_option
def duplicates(name: str | None, least: float, limit: int, as_json: bool) -> None:
    """Copies: documents with the same bytes, and texts that are nearly the same. Nothing is merged.

    ID is a source_id, a path, the end of a path, or a file name; without it, all groups are listed, and each member is
    compared with the first one of its group.

    The similarity is an estimate, give or take 0.035 at 0.8, so what may be as alike as --min is listed, too. Texts of
    fewer than 50 words are not compared, only their bytes; of very long ones the first 100,000 words are. Only living
    documents are listed, and near ones only among the texts that consumers see.

    \b
      canonry duplicates lease.docx
      canonry duplicates --min 0.95 --json
    """
    from streams.consumers.catalog import Catalog
    from streams.ops.lookup import one_document

    with Catalog(Settings.load()) as catalog:
        if name is not None:
            _show_one(catalog.duplicates(one_document(catalog, name).source_id, least), least, as_json)
        else:
            _show_groups(catalog.duplicate_groups(least), least, limit, as_json)


def _show_one(found: Any, least: float, as_json: bool) -> None:
    if as_json:
        show_json({**msgspec.to_builtins(found), "min": least})
        return
    click.secho(safe(found.path), bold=True)
    if found.documents:
        show_table(["alike", "source", "path", "id"], [_row(document) for document in found.documents])
    else:
        say("  No living document is like it.")
    if not found.compared:
        say("  Its text was not compared: there is none that consumers see, or it is too short. Its bytes were.")


def _show_groups(groups: Any, least: float, limit: int, as_json: bool) -> None:
    if as_json:
        show_json({"min": least, "total": len(groups), "groups": msgspec.to_builtins(groups[:limit])})
        return
    for number, group in enumerate(groups[:limit], 1):
        show_table(
            ["alike", "source", "path", "id"],
            [_row(document) for document in group],
            title=f"{number}. {len(group)} documents",
        )
        say("")
    if not groups:
        say("No two living documents are alike.")
    elif len(groups) > limit:
        say(f"{len(groups) - limit} more groups; --limit shows them.")


def _row(document: Any) -> list[str]:
    if document.exact:
        alike = "same bytes"
    else:
        alike = "by others" if document.similarity is None else f"{document.similarity:.2f}"
    return [alike, document.source, document.path, document.source_id]
