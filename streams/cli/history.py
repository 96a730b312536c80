"""`canonry versions`, `canonry as-of`: what a document was, and when."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from streams.cli.output import EXIT_INCOMPLETE, json_option, safe, say, show_json, show_table
from streams.cli.times import Moment, utc
from streams.settings import Settings, SourceSettings

if TYPE_CHECKING:
    from streams.consumers.catalog_rows import Story
    from streams.ledger.history import Past
    from streams.records import CanonVersion, Change, Sequence, SourceState, Version

HASH_SHOWN = 12


def _load(name: str) -> tuple[Settings, Story, SourceState]:
    from streams.consumers.catalog import Catalog
    from streams.ops.history import state_of
    from streams.ops.lookup import one_document

    settings = Settings.load()
    with Catalog(settings) as catalog:
        story = catalog.document(one_document(catalog, name).source_id)
    return settings, story, state_of(story)


@click.command()
@click.argument("name", metavar="ID")
@json_option
def versions(name: str, as_json: bool) -> None:
    """All versions of one document, oldest first, with the canons that were made of each.

    Every new content is a version: valid from one moment to another, superseded by the next one or ended by a delete.
    A canon is current, or archived because a newer extractor made another one; --json names its key in the blob store.

    ID is a source_id, a path, the end of a path, or a file name. Exit status 1 when no document is called so.
    """
    from streams.ops.history import erasure_of

    _, story, state = _load(name)
    numbers = _numbers(state)
    if as_json:
        show_json(
            {
                "source_id": state.source_id,
                "path": state.path,
                "status": state.status.value,
                "versions": [
                    _version_json(version, row, numbers, erasure_of(story, version))
                    for version, row in zip(state.versions, story.versions, strict=True)
                ],
                "deletions": [_deleted_json(change) for change in _deletes(state)],
            }
        )
        return
    _head(state)
    if not state.versions:
        say("  no version: it was deleted before anything of it had arrived")
    rows = []
    for version, row in zip(state.versions, story.versions, strict=True):
        rows.append(
            [
                numbers[version.sequence],
                utc(version.valid_from),
                utc(version.valid_to) if version.valid_to else "now",
                numbers.get(version.superseded_by, "—") if version.superseded_by else "—",
                _outcome(version, row),
                version.content.sha256[:HASH_SHOWN] if version.content else "none",
                version.manifest.path,
            ]
        )
    if rows:
        say("")
        columns = ["version", "valid from (UTC)", "valid to", "superseded by", "outcome", "content", "arrived as"]
        show_table(columns, rows)
    canons = [
        [numbers[version.sequence], canon.attempt.fingerprint, utc(canon.created_at), _canon_state(canon)]
        for version in state.versions
        for canon in version.canons
    ]
    for version in state.versions:
        if proof := erasure_of(story, version):
            canons += [
                [numbers[version.sequence], fingerprint, "—", f"erased {utc(proof['erased_at'])}"]
                for fingerprint in _fingerprints(version, proof)
            ]
    if canons:
        say("")
        show_table(["canon of", "fingerprint", "made (UTC)", "state"], canons)
    _say_deletes(state)
    for proof in story.deletions:
        if proof["erased_at"] is not None:
            say(f"Erased {utc(proof['erased_at'])} UTC by {proof['erased_by']}: {proof['erased_why']}")


@click.command("as-of")
@click.argument("name", metavar="ID")
@click.argument("moment", metavar="TIME", type=Moment())
@json_option
def as_of(name: str, moment: datetime, as_json: bool) -> None:
    """What was valid of a document at TIME: its version, path and rights then, and whether consumers could see it.

    TIME is a date or a datetime of ISO 8601; without a zone it is UTC, and a date means its first instant. Versions
    begin when their event was taken in, so the clock is that of the connectors. What consumers saw is told by the
    policy that the source has now (`held_update`).

    \b
    Exit status: 0 a version was valid then; 1 none was (not known yet, deleted), or no document is called so.

    \b
    Examples:
      canonry as-of lease.docx 2026-03-01
      canonry as-of share:contracts/lease.docx 2026-03-01T09:30:00+01:00
    """
    from streams.ledger.history import Standing, past

    settings, story, state = _load(name)
    policy = settings.sources.get(state.source, SourceSettings()).held_update
    found = past(state, moment, policy)
    numbers = _numbers(state)
    if as_json:
        show_json(_past_json(state, story, moment, found, numbers))
    else:
        _tell(state, story, moment, found, numbers)
    if found.standing is not Standing.VALID:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


def _tell(state: SourceState, story: Story, moment: datetime, found: Past, numbers: dict[Sequence, int]) -> None:
    from streams.ledger.bounds import KEEP_VERSIONS
    from streams.ledger.history import Standing
    from streams.ops.history import erasure_of

    _head(state)
    at = f"{utc(moment)} UTC"
    say("")
    if found.standing is Standing.BEFORE:
        say(f"  At {at} nothing was known of it yet; the first that is known is from {utc(found.first_known)} UTC.")
        if len(state.versions) >= KEEP_VERSIONS:
            say(f"  Only the newest {KEEP_VERSIONS} versions are kept; older ones stand in the topic raw-arrived.")
        return
    if found.standing is Standing.UNKNOWN:
        say(f"  Which version was valid at {at} is not known: it is not kept any more.")
        return
    if found.standing is Standing.DELETED:
        say(f"  At {at} it was deleted: {_deleted(found.deleted)}")
        say(
            f"  Before that, version {numbers[found.version.sequence]} was the last one ({found.path})."
            if found.version is not None
            else "  Nothing of it had ever arrived."
        )
        return
    version = found.version
    assert version is not None
    say(f"  At {at} version {numbers[version.sequence]} of {len(numbers)} was valid.")
    proof = erasure_of(story, version)
    facts = [
        ("path", found.path),
        ("readers", ", ".join(found.readers) if found.readers else "nobody (the source said none)"),
        ("owner", found.owner),
        ("valid", f"{utc(version.valid_from)} to {utc(version.valid_to) if version.valid_to else 'now'}"),
        ("content", version.content.sha256 if version.content else "none: the source could not deliver it"),
        ("text", f"erased {utc(proof['erased_at'])} by {proof['erased_by']}: {proof['erased_why']}" if proof else None),
        ("outcome", _outcome_then(found)),
        ("consumers", _seen(found, numbers)),
    ]
    say("")
    for label, value in facts:
        if value is not None:
            say(f"  {label + ':':<12}{value}")


def _outcome_then(found: Past) -> str:
    from streams.records import Outcome

    assert found.outcome is not None
    if found.outcome is Outcome.UNKNOWN:
        return "not known: it was judged anew since"
    if found.outcome is Outcome.PENDING and found.version is not None and found.version.settled_at is not None:
        return f"pending: its outcome of today is from {utc(found.version.settled_at)}"
    return found.outcome.value


def _seen(found: Past, numbers: dict[Sequence, int]) -> str:
    if not found.seen_is_known:
        return "not known what they saw"
    if found.seen is None:
        return "saw nothing of it"
    if found.version is not None and found.seen.sequence == found.version.sequence:
        return "saw it"
    return f"saw version {numbers[found.seen.sequence]}" + (", marked stale" if found.stale else "")


def _past_json(
    state: SourceState, story: Story, moment: datetime, found: Past, numbers: dict[Sequence, int]
) -> dict[str, Any]:
    from streams.ops.history import erasure_of

    rows = {(row["epoch"], row["offset"]): row for row in story.versions}
    version = found.version
    return {
        "source_id": state.source_id,
        "at": moment.isoformat(),
        "standing": found.standing.value,
        "first_known": found.first_known.isoformat() if found.first_known else None,
        "version": _version_json(
            version, rows[version.sequence.epoch, version.sequence.offset], numbers, erasure_of(story, version)
        )
        if version
        else None,
        "path": found.path or None,
        "readers": found.readers,
        "owner": found.owner,
        "outcome": found.outcome.value if found.outcome else None,
        "visible": found.seen is not None if found.seen_is_known else None,
        "seen_version": numbers[found.seen.sequence] if found.seen else None,
        "stale": found.stale,
        "deleted": _deleted_json(found.deleted) if found.deleted else None,
    }


def _fingerprints(version: Version, proof: dict[str, Any]) -> list[str]:
    """Of the canons of this version's content that were erased."""
    content_hash = version.content.sha256 if version.content else None
    return [name for had in proof["erased"] if had["content_hash"] == content_hash for name in had["fingerprints"]]


def _version_json(
    version: Version, row: dict[str, Any], numbers: dict[Sequence, int], proof: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "number": numbers[version.sequence],
        "epoch": version.sequence.epoch,
        "offset": version.sequence.offset,
        "valid_from": version.valid_from.isoformat(),
        "valid_to": version.valid_to.isoformat() if version.valid_to else None,
        "superseded_by": numbers.get(version.superseded_by) if version.superseded_by else None,
        "outcome": version.outcome.value,
        "problems": row["problems"],
        "rule": row["rule"],
        "content_hash": version.content.sha256 if version.content else None,
        "size": version.content.size if version.content else None,
        "arrived_as": version.manifest.path,
        "canons": [
            {
                "fingerprint": canon.attempt.fingerprint,
                "key": canon.payload.key,
                "created_at": canon.created_at.isoformat(),
                "archived_at": canon.archived_at.isoformat() if canon.archived_at else None,
                "state": "archived" if canon.archived_at else "current",
            }
            for canon in version.canons
        ],
        "erased": {
            "at": proof["erased_at"].isoformat(),
            "by": proof["erased_by"],
            "why": proof["erased_why"],
            "fingerprints": _fingerprints(version, proof),
        }
        if proof
        else None,
    }


def _deleted_json(change: Change) -> dict[str, Any]:
    return {"at": change.at.isoformat(), "actor": change.actor, "reason": change.reason}


def _head(state: SourceState) -> None:
    click.secho(safe(state.path), bold=True)
    say(f"  {state.source_id}")


def _say_deletes(state: SourceState) -> None:
    deletes = _deletes(state)
    if deletes:
        say("")
    for change in deletes:
        say(f"Deleted {_deleted(change)}")


def _deleted(change: Change | None) -> str:
    if change is None:
        return ""
    by = f" by {change.actor}" if change.actor else ""
    why = f": {change.reason}" if change.reason else ""
    return f"{utc(change.at)} UTC{by}{why}"


def _deletes(state: SourceState) -> list[Change]:
    from streams.records import Operation

    return [change for change in state.changes if change.operation is Operation.DELETE]


def _canon_state(canon: CanonVersion) -> str:
    return f"archived {utc(canon.archived_at)}" if canon.archived_at else "current"


def _outcome(version: Version, row: dict[str, Any]) -> str:
    why = ", ".join(row["problems"]) or (f"rule {row['rule']}" if row["rule"] else "")
    return version.outcome.value + (f" ({why})" if why else "")


def _numbers(state: SourceState) -> dict[Sequence, int]:
    """Versions are numbered for a person in the order of the log."""
    return {version.sequence: number for number, version in enumerate(state.versions, 1)}
