"""Which published events have reached an outcome: what `canonry run` waits for, and what its progress shows.

Members of containers are waited for as well: their events are decode's, so they are known by the container that lists
them, and by the place in its history that their own states name (`Manifest.parent_order`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable

from streams.ledger.children import order_below
from streams.ledger.transitions import version_at
from streams.log.publisher import Published
from streams.records import TERMINAL, Sequence, SourceState, Status

DELETED = "deleted"


def outcome_of(state: SourceState) -> str | None:
    """Where a document stands: a terminal outcome, `deleted`, or None while its current version is pending."""
    if state.status is Status.DELETED:
        return DELETED
    version = version_at(state, state.current)
    if version is None:
        return DELETED
    return version.outcome.value if version.outcome in TERMINAL else None


class Tracker:
    """Events by source_id; the last event of a document counts."""

    def __init__(self) -> None:
        self.settled: Counter[str] = Counter()
        self.lost: dict[str, str] = {}  # source_id -> why its event went to dead-letter
        self.expected = 0
        self.moved_at = time.monotonic()
        self._pending: dict[str, tuple[int, int]] = {}  # source_id -> partition, offset
        self._seen: dict[str, tuple[int, str]] = {}  # settled states, perhaps before we know that we wait for them
        self._members: dict[str, list[Sequence]] = {}  # source_id -> the event of its container that brought it
        self._lists: dict[str, tuple[list[Sequence], list[str]]] = {}  # containers that ended: members, and since when
        self._heard: dict[str, tuple[list[Sequence], str]] = {}  # settled states of members
        self._changed = asyncio.Event()
        self._newly: list[Published] = []

    def expect(self, source_id: str, partition: int, offset: int) -> None:
        """An event was published at this place in raw-arrived."""
        self.expected += 1
        seen = self._seen.get(source_id)
        if seen is not None and seen[0] >= offset:
            self._settle(source_id, partition, offset, seen[1])
            return
        self._pending[source_id] = max((partition, offset), self._pending.get(source_id, (partition, -1)))

    def applied(self, states: Iterable[SourceState]) -> None:
        """States that the ledger published and the catalog has."""
        for state in states:
            outcome = outcome_of(state)
            if outcome is None:
                continue
            offset = state.high_water.offset
            self._seen[state.source_id] = (offset, outcome)
            version = version_at(state, state.current)
            if version is not None and state.children:
                below = order_below(version.manifest.parent_order, version.sequence)
                self._lists[state.source_id] = (below, state.children)
            if state.parent_source_id:
                self._heard_of_member(state, outcome)
            waiting = self._pending.get(state.source_id)
            if waiting is not None and offset >= waiting[1]:
                self.ended(Published(state.source_id, *waiting), outcome)

    def _heard_of_member(self, state: SourceState, outcome: str) -> None:
        facts = [*(version.manifest.parent_order for version in state.versions)]
        facts += [change.parent_order for change in state.changes]
        brought = max(facts, default=[])
        self._heard[state.source_id] = (brought, outcome)
        wanted = self._members.get(state.source_id)
        if wanted is not None and brought >= wanted:
            del self._members[state.source_id]
            self._count(state.source_id, outcome)

    def _expect_members(self, container: str) -> None:
        brought, members = self._lists.pop(container, ([], []))
        for source_id in members:
            self.expected += 1
            heard = self._heard.get(source_id)
            if heard is not None and heard[0] >= brought:
                self._count(source_id, heard[1])
            else:
                self._members[source_id] = brought

    def members_ended(self) -> None:
        """No stage has anything left to do: what is waited for of members was seen by another process."""
        self.expected -= len(self._members)
        self._members.clear()
        self._wake()

    def ended(self, event: Published, outcome: str) -> None:
        """This event is known to have ended; a later one of the same document goes on being waited for."""
        waiting = self._pending.get(event.source_id)
        if waiting is not None and event.offset >= waiting[1]:
            del self._pending[event.source_id]
            self._settle(event.source_id, *waiting, outcome)

    def dead(self, source_id: str, why: str) -> None:
        """An event of this document went to dead-letter: it will have no outcome."""
        waiting = self._pending.pop(source_id, None)
        if waiting is None and self._members.pop(source_id, None) is None:
            return
        self.lost[source_id] = why
        if waiting is not None:
            self._newly.append(Published(source_id, *waiting))
        self._wake()

    def _settle(self, source_id: str, partition: int, offset: int, outcome: str) -> None:
        self._newly.append(Published(source_id, partition, offset))
        self._count(source_id, outcome)

    def _count(self, source_id: str, outcome: str) -> None:
        self.settled[outcome] += 1
        self._expect_members(source_id)
        self._wake()

    def _wake(self) -> None:
        self.moved_at = time.monotonic()
        self._changed.set()

    def take_newly_settled(self) -> list[Published]:
        """What settled, or was lost, since the last call."""
        newly, self._newly = self._newly, []
        return newly

    @property
    def events(self) -> list[Published]:
        """What is still waited for."""
        return [Published(source_id, *place) for source_id, place in self._pending.items()]

    @property
    def pending(self) -> list[str]:
        return [*self._pending, *self._members]

    async def wait_for_change(self, timeout: float) -> None:
        """Returns when something settled, or after `timeout` seconds."""
        self._changed.clear()
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            return
