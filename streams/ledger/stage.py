"""The ledger as a stage: state from the store, the pure `apply`, effects confirmed first, then the new state."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import UTC, datetime, timedelta

import msgspec

from streams.blobs import BlobStore
from streams.errors import BlobCorrupt, BlobNotFound
from streams.ledger.fence import Watch
from streams.ledger.judgement import attempts, held_since
from streams.ledger.links import links
from streams.ledger.store import StateStore
from streams.ledger.timeline import version_at
from streams.ledger.transitions import Arrived, Effects, Event, Policy, apply, standing
from streams.records import (
    Canon,
    CanonSummary,
    ChangeEvent,
    Decision,
    Lane,
    PageScores,
    Payload,
    Quarantined,
    Screened,
    Sequence,
    SourceState,
    Version,
)
from streams.records.headers import EventContext
from streams.runtime.languages import languages_of
from streams.runtime.messages import Incoming, Outgoing, Outputs
from streams.runtime.metrics import Metrics
from streams.settings import Settings, SourceSettings

log = logging.getLogger(__name__)

UNREGISTERED = SourceSettings()
FENCED = ("versions", "canon-ready", "quarantine")
"""Where a record that comes too late would replace a newer one; the others' tell their sequence, or are facts."""


class LedgerStage:
    """raw-arrived, screened, decisions -> canon-ready, quarantine, deleted, versions, content-links."""

    keeps_state = True

    def __init__(
        self, settings: Settings, store: BlobStore, states: StateStore, metrics: Metrics | None = None
    ) -> None:
        self._settings = settings
        self._ranks = {name: known.rank for name, known in settings.sources.items() if known.rank is not None}
        self._metrics = metrics or Metrics()
        self._store = store
        self._states = states
        self._watch: Watch | None = None

    async def assigned(self, partitions: set[int]) -> None:
        if self._watch is None:
            self._watch = Watch(self._settings, self._states.broker, FENCED)
        await self._watch.begin(partitions)
        await self._states.restore(partitions)

    async def revoked(self) -> None:
        return None

    async def handle(self, event: Incoming) -> Outputs:
        if event.replay_of is not None:
            return Outputs()  # the original told it already; this copy is for decode
        before = self._states.get(event.partition, event.key)
        change = self._event(event)
        now = datetime.now(UTC)
        after, effects = apply(before, change, now=now, policy=self._policy(event), lane=event.context.lane)
        if after is before or (before is not None and after == before):
            return Outputs()
        return Outputs(
            first=[*await self._effects(event, after, effects, now), *_links(before, after)],
            # A Deletion says that the text was withdrawn, so it comes after that: `canonry deletes status` rests on it.
            proof=[Outgoing("deleted", event.key, deletion) for deletion in effects.deletions],
            then=[Outgoing("versions", event.key, after)],
            settle=lambda: self._settle(event.partition, after, now),
            fence=self._states.token(event.partition, event.generation).text(),
        )

    async def overwritten(self, generation: int) -> set[tuple[int, str]]:
        assert self._watch is not None
        for partition, key, token in await self._watch.look():
            if token < self._states.token(partition, generation):
                self._states.overwritten.add((partition, key))
        found = {(partition, key.decode("utf-8", "replace")) for partition, key in self._states.overwritten}
        self._states.overwritten.clear()
        return found

    async def restated(self, partition: int, key: str, generation: int) -> tuple[Incoming, Outputs] | None:
        """The document once more as it stands, for whoever was told something older; None if it is unknown here.

        A limit: the state has no scores per page, so `Canon.pages` and `Quarantined.pages` are empty until the document
        is judged again.
        """
        state = self._states.get(partition, key) if self._states.holds(partition) else None
        if state is None:
            return None  # of an event that is still to come, or not ours any more
        now = datetime.now(UTC)
        event = Incoming(
            topic="raw-arrived",
            partition=partition,
            offset=state.high_water.offset,
            timestamp=now.timestamp(),
            key=key,
            record=state,
            context=EventContext.new(Lane.RECONCILE),
            generation=generation,
        )
        outputs = Outputs(
            first=await self._effects(event, state, standing(state), now),
            then=[Outgoing("versions", key, state)],
            fence=self._states.token(partition, generation).text(),
        )
        return event, outputs

    async def unwatched(self) -> None:
        if self._watch is not None:
            await self._watch.stop()

    def _settle(self, partition: int, after: SourceState, now: datetime) -> None:
        """The effects and the state are confirmed."""
        self._states.put(partition, after)
        for version in after.versions:
            if version.settled_at == now and version.screening is not None:
                self._metrics.judged(after.source, version)
            if version.ready_at == now and version.sequence == after.published:
                manifest = version.manifest
                self._metrics.ready(after.source, version.lane, now, manifest.ingested_at, manifest.source_updated_at)

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        """The message is at fault, never the document: it goes to dead-letter, and the document stays as it was."""
        raise error

    def _event(self, event: Incoming) -> Event:
        record = event.record
        if isinstance(record, ChangeEvent):
            return Arrived(record, Sequence(epoch=self._settings.kafka.log_epoch, offset=event.offset))
        assert isinstance(record, Screened | Decision)
        return record

    def _policy(self, event: Incoming) -> Policy:
        record = event.record
        if isinstance(record, ChangeEvent):
            name = record.manifest.source
        elif isinstance(record, Screened):
            name = record.document.manifest.source
        else:
            name = event.key.split(":", 1)[0]
        return Policy(
            held_update=self._settings.sources.get(name, UNREGISTERED).held_update,
            ranks=self._ranks,
            conflict_window=timedelta(seconds=self._settings.ledger.conflict_window_s),
        )

    async def _effects(self, event: Incoming, state: SourceState, effects: Effects, now: datetime) -> list[Outgoing]:
        out: list[Outgoing] = []
        if effects.publish:
            out.append(Outgoing("canon-ready", event.key, await self._canon(event, state, now)))
        if effects.withdraw:
            out.append(Outgoing("canon-ready", event.key, None, name="Canon"))
        if effects.hold:
            out.append(Outgoing("quarantine", event.key, self._quarantined(event, state, now)))
        if effects.release:
            out.append(Outgoing("quarantine", event.key, None, name="Quarantined"))
        out += [Outgoing("decoded", event.key, decoded) for decoded in effects.extract]
        for request in effects.recognize:
            likely = languages_of(self._settings, request.document.manifest)
            out.append(Outgoing("recognize", event.key, msgspec.structs.replace(request, languages=likely)))
        out += [Outgoing("raw-arrived", told.source_id, told, partition_by_key=True) for told in effects.children]
        return out

    async def _canon(self, event: Incoming, state: SourceState, now: datetime) -> Canon:
        version = version_at(state, state.published)
        assert version is not None
        assert version.content is not None
        canon = version.canons[-1]
        screening = version.screening
        return Canon(
            source_id=state.source_id,
            sequence=version.sequence,
            source=state.source,
            path=state.path,
            file_name=state.file_name,
            owner=state.owner,
            readers=state.readers,
            parent_source_id=state.parent_source_id,
            content_hash=version.content.sha256,
            size=version.content.size,
            media_type=version.detection.media_type if version.detection else "application/octet-stream",
            fingerprint=canon.attempt.fingerprint,
            valid_from=version.valid_from,
            stale=state.stale,
            summary=version.summary or CanonSummary(),
            problems=screening.problems if screening else [],
            warnings=screening.warnings if screening else [],
            scores=screening.scores if screening else {},
            pages=_pages(event, version),
            source_updated_at=version.manifest.source_updated_at,
            ingested_at=version.manifest.ingested_at,
            canon_ready_at=now,
            payload=await self._with_bytes(event, canon.payload),
        )

    async def _with_bytes(self, event: Incoming, payload: Payload) -> Payload:
        """Small canons travel inline, also when an old one is published again under a new path."""
        if payload.size > self._settings.worker.inline_bytes:
            return payload
        record = event.record
        if isinstance(record, Screened) and record.payload is not None and record.payload.sha256 == payload.sha256:
            inline = record.payload.inline
            if inline is not None and hashlib.sha256(inline).hexdigest() == payload.sha256:
                return record.payload
        try:
            data = await asyncio.to_thread(self._store.get, payload.key, sha256=payload.sha256)
        except (BlobCorrupt, BlobNotFound) as error:
            # Derived data is no reason to lose a fact: new rights or a new path count at once, the text by reference.
            log.warning("%s: the stored canon can't be used: %s", event.key, error)
            return payload
        return Payload(key=payload.key, sha256=payload.sha256, size=payload.size, inline=data)

    def _quarantined(self, event: Incoming, state: SourceState, now: datetime) -> Quarantined:
        version = version_at(state, state.current)
        assert version is not None
        screening = version.screening
        attempt = version.attempt or (version.canons[-1].attempt if version.canons else None)
        source = self._settings.sources.get(state.source, UNREGISTERED)
        since = held_since(version) or now
        return Quarantined(
            source_id=state.source_id,
            sequence=version.sequence,
            source=state.source,
            path=state.path,
            file_name=state.file_name,
            owner=state.owner or source.owner or None,
            readers=state.readers,
            content_hash=version.content.sha256 if version.content else None,
            size=version.content.size if version.content else None,
            media_type=version.detection.media_type if version.detection else None,
            problems=screening.problems if screening else [],
            error=screening.error if screening else None,
            extractor=attempt.extractor if attempt else None,
            extractor_version=attempt.extractor_version if attempt else None,
            scores=screening.scores if screening else {},
            pages=_pages(event, version),
            attempts=attempts(version),
            payload=version.canons[-1].payload if version.canons else None,
            held_since=since,
            deadline=since + timedelta(seconds=source.decide_within_s) if source.decide_within_s else None,
        )


def _links(before: SourceState | None, after: SourceState) -> list[Outgoing]:
    return [Outgoing("content-links", link.content_hash, link, partition_by_key=True) for link in links(before, after)]


def _pages(event: Incoming, version: Version) -> list[PageScores]:
    """The scores per page, which only the screen's own record carries."""
    record = event.record
    if isinstance(record, Screened) and record.document.sequence == version.sequence:
        return record.screening.pages
    return []
