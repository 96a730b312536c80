"""Erasing a deleted document: a decision that the ledger carries out, then what the blob store still holds of it.

Each step is found done or is done again, so a run that was broken off is finished by the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from streams.blobs import BlobStore, open_store
from streams.consumers.catalog import Catalog
from streams.consumers.catalog_rows import Story
from streams.consumers.received import read_message
from streams.errors import CanonryError, UndecodableMessage, UsageError
from streams.ledger.bounds import KEEP_VERSIONS
from streams.log import broker as local_broker
from streams.log.publisher import Publisher
from streams.log.scan import scan
from streams.log.topics import load_topics
from streams.ops.barrier import Barrier
from streams.ops.dead_letters import watch_dead_letters
from streams.ops.lookup import one_document
from streams.records import ChangeEvent, Decision, DecisionKind, Sequence
from streams.settings import Settings

REFUSAL_S = 10.0
"""How long the reason of a refusal may take to arrive after it."""

PERHAPS_TRIMMED = KEEP_VERSIONS // 2
"""A state with fewer versions has lost none: neither to the bound on their number nor to that on bytes."""

INLINE = {
    "extracted": "texts up to 256 KiB",
    "screened": "texts up to 256 KiB",
    "canon-ready": "the text, until its null has replaced it",
    "quarantine": "what was said about it, until its null has replaced it",
    "versions": "its title and what was said about it, until the new state has replaced it",
    "dead-letter": "messages about it that could not be read",
}
"""Topics that may still hold something of an erased document for a while, and what."""


class EraseRefused(CanonryError):
    """The ledger did not carry out an erasure."""

    code = "erase_refused"


class Content(msgspec.Struct, kw_only=True):
    """One content of an erased document."""

    content_hash: str
    erased: list[str] = []  # keys of the blob store
    kept_for: list[str] = []  # paths of living documents with the same content


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the log something may be for a while, and for how long at most."""

    topic: str
    what: str
    days: float


class Erased(msgspec.Struct, kw_only=True):
    """What an erasure came to, of one document."""

    source_id: str
    path: str
    already: bool  # the ledger had carried it out before
    erased_at: datetime | None = None  # None: there was nothing to erase
    erased_by: str | None = None
    erased_why: str | None = None
    contents: list[Content] = []


class Eraser:
    """Erases documents; use it as an async context manager, in which a ledger and the consumers are at work."""

    def __init__(
        self,
        settings: Settings,
        broker: str,
        store: BlobStore,
        barrier: Barrier,
        refusals: dict[str, str],
    ) -> None:
        self._settings = settings
        self._broker = broker
        self._store = store
        self._barrier = barrier
        self._refusals = refusals

    async def find(self, name: str) -> list[Story]:
        """The document that `name` means, and what was in it (its children, and theirs), once the catalog is current.

        Raises:
            NotFound, UsageError: as `one_document`; UsageError too when one of them is not deleted.
        """
        await self._barrier.passed()
        return await asyncio.to_thread(self._find, name)

    async def erase(self, story: Story, actor: str, reason: str) -> Erased:
        """One document. Raises EraseRefused."""
        row = story.document
        proof = _proof(story)
        already = proof is not None
        if proof is None and story.versions:
            story = await self._decide(story, actor, reason)
            proof = _proof(story)
            if proof is None:
                raise EraseRefused(
                    f"The ledger did not erase {row.source_id}: {self._refusals.get(row.source_id, 'no reason came')}.",
                    remedy="`canonry doc` tells how it stands; see dead-letter for the decision.",
                )
        found = Erased(source_id=row.source_id, path=row.path, already=already)
        if proof is None:
            return found
        found.erased_at, found.erased_by, found.erased_why = proof["erased_at"], proof["erased_by"], proof["erased_why"]
        # Asked as late as can be: whoever came to have the same content meanwhile keeps it.
        await self._barrier.passed()
        for content_hash in sorted(await self._contents(story)):
            found.contents.append(await asyncio.to_thread(self._remove, content_hash))
        return found

    async def _contents(self, story: Story) -> set[str]:
        """The hashes of all contents that the document ever had; of many, the oldest stand in raw-arrived alone."""
        found = {version["content_hash"] for version in story.versions if version["content_hash"]}
        if len(story.versions) >= PERHAPS_TRIMMED:
            row, prefix = story.document, self._settings.kafka.topic_prefix
            async for message in scan(self._settings, self._broker, "raw-arrived", numbers=[row.partition]):
                if message.key == row.source_id.encode():
                    with suppress(UndecodableMessage):  # no stage could read it either
                        event = read_message(message, prefix).record
                        if isinstance(event, ChangeEvent) and event.content is not None:
                            found.add(event.content.sha256)
        return found

    def _find(self, name: str) -> list[Story]:
        with Catalog(self._settings) as catalog:
            found = [catalog.document(one_document(catalog, name).source_id)]
            for story in found:  # grows while it is gone through
                found += [catalog.document(child.source_id) for child in story.children]
        for story in found:
            if story.document.status != "deleted":
                raise UsageError(
                    f"{story.document.source_id} is {story.document.status}: only what is deleted can be erased.",
                    remedy="Delete it at its source first; `canonry run` or the source's connector then says so.",
                )
        return found

    async def _decide(self, story: Story, actor: str, reason: str) -> Story:
        row = story.document
        last = story.versions[-1]
        decision = Decision(
            source_id=row.source_id,
            sequence=Sequence(epoch=last["epoch"], offset=last["offset"]),
            kind=DecisionKind.ERASE,
            actor=actor,
            reason=reason,
            decided_at=datetime.now(UTC),
        )
        async with Publisher(self._settings, self._broker, name="erase") as publisher:
            await publisher.decide(decision, row.partition)
        await self._barrier.passed()
        after = await asyncio.to_thread(self._story, row.source_id)
        if _proof(after) is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFUSAL_S):
                    while row.source_id not in self._refusals:  # noqa: ASYNC110 - of another task
                        await asyncio.sleep(0.05)
        return after

    def _story(self, source_id: str) -> Story:
        with Catalog(self._settings) as catalog:
            return catalog.document(source_id)

    def _remove(self, content_hash: str) -> Content:
        with Catalog(self._settings) as catalog:
            living = catalog.living_with(content_hash)
        if living:
            return Content(content_hash=content_hash, kept_for=[path for _, path in living])
        return Content(content_hash=content_hash, erased=self._store.erase(content_hash))


@asynccontextmanager
async def eraser(settings: Settings, note: Callable[[str], None]) -> AsyncIterator[Eraser]:
    """An Eraser with all that it needs; parts that nobody runs are started and ended.

    Args:
        note: is told what a person should know on the way.

    Raises:
        BrokerUnavailable, BlobStoreUnavailable, DatabaseUnavailable: no answer.
    """
    broker = await asyncio.to_thread(local_broker.ensure, settings)
    store = await asyncio.to_thread(open_store, settings)
    refusals: dict[str, str] = {}
    async with Barrier(settings, broker, store, note) as barrier:
        letters = await watch_dead_letters(
            settings, broker, lambda letter: refusals.__setitem__(letter.source_id, letter.why)
        )
        try:
            yield Eraser(settings, broker, store, barrier, refusals)
        finally:
            letters.cancel()
            await asyncio.gather(letters, return_exceptions=True)


def remains() -> list[Remains]:
    """How long the log may still hold something of what was erased just now, as topics.yaml has it.

    Cleaning takes closed segments alone, so the time that a segment stays open counts, too.
    """
    found = []
    for topic in load_topics():
        if topic.name in INLINE:
            compacted = "compact" in topic.config["cleanup.policy"]
            kept = float(topic.config["max.compaction.lag.ms" if compacted else "retention.ms"])
            days = (kept + float(topic.config["segment.ms"])) / 86_400_000
            found.append(Remains(topic=topic.name, what=INLINE[topic.name], days=round(days, 2)))
    return found


def _proof(story: Story) -> dict[str, Any] | None:
    """The erasure after the last version, if there was one."""
    if not story.versions:
        return None
    last = max((version["epoch"], version["offset"]) for version in story.versions)
    proofs = [d for d in story.deletions if d["erased_at"] is not None and (d["epoch"], d["offset"]) > last]
    return proofs[-1] if proofs else None
