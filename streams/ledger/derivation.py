"""Everything of a state that follows from its facts: validity, which version is current, what consumers see."""

from __future__ import annotations

from datetime import datetime

import msgspec

from streams.ledger.children import living
from streams.ledger.conflicts import Contest, held, ranked
from streams.ledger.policy import Policy
from streams.ledger.timeline import EARLIEST, Life, latest_place, latest_rights, lives_of, order, published_of
from streams.records import SourceState, Status, Version


def derive(state: SourceState, policy: Policy) -> SourceState:
    """Fills in everything that follows from the facts of `state`."""
    lives = lives_of(state.versions, state.changes)
    contests: list[Contest] = []
    for life in lives:
        ordered, contests = ranked(life.versions, policy)
        life.versions = held(ordered, contests if life is lives[-1] else [])
    versions: list[Version] = []
    floor = EARLIEST
    for life in lives:
        found = _intervals(life, floor)
        versions += found
        floor = max(floor, found[-1].valid_to or floor) if found else floor
    last = lives[-1]
    deleted = not last.versions and any(life.deleted is not None for life in lives)
    current = last.versions[-1] if last.versions else None
    published, stale = published_of(last.versions, policy.held_update)
    path, file_name, source = latest_place(state)
    readers, owner = latest_rights(state)
    state = msgspec.structs.replace(
        state,
        status=Status.DELETED if deleted else Status.LIVE,
        versions=sorted(versions, key=order),
        changes=sorted(state.changes, key=order),
        current=current.sequence if current else None,
        published=published.sequence if published else None,
        stale=stale,
        conflict=bool(contests),
        path=path,
        file_name=file_name,
        source=source,
        readers=readers,
        owner=owner,
        parent_source_id=current.manifest.parent_source_id if current else state.parent_source_id,
    )
    return msgspec.structs.replace(state, children=living(state))


def _intervals(life: Life, floor: datetime) -> list[Version]:
    """No two versions are valid at once. `floor` is the end of the life before.

    A revision that was delivered late began after its follower did: its interval is empty, and the follower's stays.
    """
    found: list[Version] = []
    begins = [max(version.manifest.ingested_at, floor) for version in life.versions]
    for index in range(len(begins) - 2, -1, -1):
        begins[index] = min(begins[index], begins[index + 1])
    for index, version in enumerate(life.versions):
        follower = life.versions[index + 1] if index + 1 < len(life.versions) else None
        if follower is not None:
            end: datetime | None = begins[index + 1]
        else:
            end = max(life.deleted.at, begins[index]) if life.deleted is not None else None
        found.append(
            msgspec.structs.replace(
                version,
                valid_from=begins[index],
                valid_to=end,
                superseded_by=follower.sequence if follower is not None else None,
            )
        )
    return found
