"""`canonry status`, `doc`, `search`, `canon`: what is known, answered from the catalog and the index."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click
import msgspec

from streams.cli.output import EXIT_INCOMPLETE, json_option, safe, say, show_json, show_table
from streams.settings import Settings


@click.command()
@json_option
def status(as_json: bool) -> None:
    """How things stand: documents by format and outcome, what is held, how far each stage is behind, and each source's
    freshness against its promise.

    A source is late when, for longer than its slo_s, a live document waits for its outcome or is held, when one in 20
    of the last 200 live documents took longer, or when the ledger or the catalog is so far behind that nobody knows.
    Only lane live counts: a replay or a backfill makes no source fresh. For the states of groups see `canonry lag
    --help`; what is stalled is told only there.
    """
    from streams.cli.files import show_outcomes
    from streams.cli.lag import show_groups
    from streams.ops.status import status as read

    found = read(Settings.load())
    if as_json:
        show_json(found)
        return
    documents = found["documents"]
    if not documents["live"] and not documents["deleted"]:
        say("Nothing is known yet. `canonry run DIR` takes a folder in.")
    else:
        counts: Counter[tuple[str, str]] = Counter()
        for row in found["outcomes"]:
            counts[row["media_type"] or "—", row["outcome"] or "pending"] += row["count"]
        show_outcomes(counts)
        say(
            f"\n{documents['live']} documents, {documents['contents']} different contents, "
            f"{documents['published']} published ({documents['stale']} of them stale), {documents['deleted']} deleted"
        )
    if found["held"]:
        say(f"\nHeld ({documents['held']}), the longest first; `canonry doc PATH` tells the story of one:")
        show_table(
            ["held since", "why", "path"],
            [
                [row["held_since"][:19].replace("T", " "), ", ".join(row["problems"]), row["path"]]
                for row in found["held"]
            ],
        )
    _show_sources(found["sources"])
    say("")
    if found["broker"]["error"]:
        say(f"Broker: {found['broker']['error']}")
    else:
        say(f"Broker: {found['broker']['address']}")
        show_groups(found["lag"])


def _show_sources(sources: list[dict[str, Any]]) -> None:
    if not sources:
        return
    say("")
    rows = []
    for source in sources:
        live = source["latency"].get("live")
        rows.append(
            [
                source["source"],
                "—" if source["slo_s"] is None else f"{source['slo_s']:g} s",
                source["state"],
                _waiting(source["unsettled"], source["oldest_unsettled_s"]),
                _waiting(source["held"], source["oldest_held_s"]),
                f"{live['p50_s']:.1f} / {live['p95_s']:.1f} s" if live else "—",
            ]
        )
    show_table(["source", "slo", "freshness", "unsettled (oldest)", "held (oldest)", "live p50 / p95"], rows)
    for source in sources:
        for why in source["why"]:
            say(f"{source['source']}: {why}")


def _waiting(count: int, seconds: float) -> str:
    return f"{count} ({seconds:.0f} s)" if count else "0"


@click.command()
@click.argument("name", metavar="ID")
@json_option
def doc(name: str, as_json: bool) -> None:
    """The whole story of one document: events, versions, canons, scores, timings.

    ID is a source_id, a path, the end of a path, or a file name.
    """
    from streams.consumers.catalog import Catalog
    from streams.ops.lookup import one_document

    with Catalog(Settings.load()) as catalog:
        row = one_document(catalog, name)
        story = catalog.document(row.source_id)
    if as_json:
        show_json(msgspec.to_builtins(story))
        return
    _tell(story)


def _when(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, datetime):
        value = value.isoformat()
    return str(value)[:19].replace("T", " ")


def _tell(story: Any) -> None:
    row = story.document
    click.secho(safe(row.path), bold=True)
    say(f"  {row.source_id}")
    say("")
    say(f"  {_verdict(row)}")
    if row.error:
        say(f"  {row.error}")
    for proof in story.deletions:
        if proof["erased_at"] is not None:
            say(f"  erased {_when(proof['erased_at'])} UTC by {proof['erased_by']}: {proof['erased_why']}")
    if row.stale:
        say("  Consumers still see an older version, marked stale.")
    facts: list[tuple[str, Any]] = [
        ("status", row.status),
        ("format", f"{row.media_type or 'unknown'} (decided by {row.detected_by})" if row.detected_by else None),
        ("encoding", f"{row.encoding} ({row.encoding_source})" if row.encoding else None),
        ("declared", row.declared_media_type if row.mismatch else None),
        ("size", f"{row.size} bytes" if row.size is not None else None),
        ("content", row.content_hash),
        ("title", row.title),
        ("language", row.language),
        ("pages", row.page_count),
        ("text", f"{row.characters} characters, {row.tables} tables" if row.characters is not None else None),
        ("extractor", f"{row.extractor} {row.extractor_version} [{row.fingerprint}]" if row.extractor else None),
        ("warnings", ", ".join(row.warnings) or None),
        ("readers", ", ".join(row.readers) if row.readers else "nobody (the source says none)"),
    ]
    say("")
    for label, value in facts:
        if value is not None:
            say(f"  {label + ':':<12}{value}")
    _section("Events", ["offset", "when", "what"], _events(story))
    _section(
        "Versions",
        ["offset", "valid from", "valid to", "outcome", "why"],
        [
            [v["offset"], _when(v["valid_from"]), _when(v["valid_to"]), v["outcome"], _why(v["problems"], v["rule"])]
            for v in story.versions
        ],
    )
    canons = [(v["offset"], canon) for v in story.versions for canon in v["canons"]]
    _section(
        "Canons",
        ["version", "made", "extractor", "fingerprint", "bytes", "archived"],
        [
            [
                offset,
                _when(canon["created_at"]),
                f"{canon['attempt']['extractor']} {canon['attempt']['extractor_version']}",
                canon["attempt"]["fingerprint"],
                canon["payload"]["size"],
                _when(canon["archived_at"]),
            ]
            for offset, canon in canons
        ],
    )
    latest = story.versions[-1] if story.versions else None
    if latest is not None:
        scores = [[name, f"{value:.3f}"] for name, value in sorted((latest["scores"] or {}).items())]
        _section("Scores of the last version", ["score", "value"], scores)
        timings = latest["timings"] or []
        _section(
            "Timings of the last version",
            ["stage", "started", "ms"],
            [[t["stage"], _when(t["started_at"]), f"{t['seconds'] * 1000:.1f}"] for t in timings],
        )
        if latest["ingested_at"] and latest["settled_at"]:
            took = latest["settled_at"] - latest["ingested_at"]
            say(f"\n  From arrival to outcome: {took.total_seconds():.2f} s")
    _section(
        "Same content",
        ["source_id", "path", "readers"],
        [
            [link["source_id"], link["path"], ", ".join(link["readers"] or ()) or "nobody"]
            for link in story.same_content
        ],
    )
    if story.more_of_same_content:
        say("  There are more; `canonry duplicates` lists all.")


def _verdict(row: Any) -> str:
    if row.status == "deleted":
        return "deleted at its source"
    why = _why(row.problems, row.rule)
    return f"{row.outcome}" + (f": {why}" if why else "")


def _why(problems: Iterable[str], rule: str | None) -> str:
    return ", ".join(problems) or (f"rule {rule}" if rule else "")


def _events(story: Any) -> list[list[Any]]:
    """What arrived, oldest first: versions are events with content, changes those without."""
    events = [
        (v["offset"], _when(v["ingested_at"]), f"arrived as {v['manifest']['path']}" if v["manifest"] else "arrived")
        for v in story.versions
    ]
    for change in story.changes:
        what = {"move": f"moved to {change['path']}", "acl": "rights changed", "delete": "deleted"}.get(
            change["operation"], change["operation"]
        )
        reason = f": {change['reason']}" if change.get("reason") else ""
        events.append((change["offset"], _when(change["at"]), what + reason))
    return [list(event) for event in sorted(events)]


def _section(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    if rows:
        say("")
        show_table(columns, rows, title=title)


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Show so many at most.")
@click.option("--reader", metavar="PRINCIPAL", help="Only what this principal may read; default: an operator sees all.")
@json_option
def search(words: tuple[str, ...], limit: int, reader: str | None, as_json: bool) -> None:
    """Find documents that have all these words. Held documents whose name fits are named as held.

    Exit status 1 when nothing is found.
    """
    from streams.consumers.search import SearchIndex

    with SearchIndex(Settings.load()) as index:
        found = index.search(" ".join(words), limit, reader=reader)
    if as_json:
        show_json(msgspec.to_builtins(found))
    else:
        for hit in found.hits:
            place = " · ".join(filter(None, [hit.section, f"page {hit.page}" if hit.page else ""]))
            click.secho(safe(hit.path) + ("  (stale: a newer version is held)" if hit.stale else ""), bold=True)
            if hit.title or place:
                say("  " + " — ".join(filter(None, [hit.title, place])))
            say(f"  {' '.join(hit.snippet.split())}\n")
        for held in found.held:
            say(f"held, not searchable: {held.path} ({', '.join(held.problems)}); see `canonry doc`")
        if not found.hits and not found.held:
            say("Nothing found.")
    if not found.hits and not found.held:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


@click.command()
@click.argument("name", metavar="ID")
@click.option(
    "--as",
    "form",
    type=click.Choice(["markdown", "text", "json"]),
    default="markdown",
    show_default=True,
    help="How to render it.",
)
@json_option
def canon(name: str, form: str, as_json: bool) -> None:
    """Print the canon of a document: what Canonry read in it. Of a held one, what is held."""
    from streams.consumers.catalog import Catalog
    from streams.extract.render import to_json, to_markdown, to_text
    from streams.ops.lookup import canon_of, one_document

    settings = Settings.load()
    with Catalog(settings) as catalog:
        body, _ = canon_of(settings, catalog, one_document(catalog, name))
    render = {"markdown": to_markdown, "text": to_text, "json": to_json}["json" if as_json else form]
    text = render(body)
    # A program or a file gets every character as it is; a terminal must not be steered by a document.
    click.echo(safe(text) if sys.stdout.isatty() else text)
