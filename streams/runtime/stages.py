"""The stages decode and extract: the pure core in slots, blobs in and out, records in and out.

The others, which share their base, stand in `streams.runtime.screening` and `streams.runtime.recognition`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from streams.blobs import BlobStore, canon_key, members_key, original_key
from streams.decode.rules import rules
from streams.errors import BlobCorrupt, BlobNotFound, DocumentError, SlotFailure
from streams.extract.progress import Told
from streams.extract.registry import fingerprint, plan
from streams.records import (
    Attempt,
    CanonBody,
    ChangeEvent,
    Child,
    Content,
    Decoded,
    Detection,
    DocumentRef,
    Extracted,
    Failure,
    Judged,
    Method,
    Operation,
    Payload,
    Sequence,
    Timing,
)
from streams.records.codec import decode as avro_decode
from streams.runtime.jobs import (
    DecodeAnswer,
    DecodeArgs,
    ExtractAnswer,
    ExtractArgs,
    ScreenArgs,
    attempt_of,
    path_text,
)
from streams.runtime.known import Now, unchanged_offsets, way_of
from streams.runtime.members import carries, child_events, keep, listing_name, open_members
from streams.runtime.messages import Incoming, Outgoing, Outputs
from streams.runtime.progress import Progress
from streams.runtime.scratch import scratch_folder
from streams.runtime.slots import Slots
from streams.screen.policy import load_policy
from streams.settings import Settings

log = logging.getLogger(__name__)

INLINE_BETWEEN_STAGES = 8 * 1024
"""Bytes of a canon that travels from stage to stage; a larger one stands in the store, and no stage needs to see it."""

R = TypeVar("R")


@dataclass(frozen=True)
class Workshop:
    """What the stages of one process share."""

    settings: Settings
    store: BlobStore
    slots: Slots


class Stage:
    """What decode, extract, screen and recognize have in common: no state, so nothing to restore."""

    name = ""
    keeps_state = False

    def __init__(self, workshop: Workshop) -> None:
        self._settings = workshop.settings
        self._store = workshop.store
        self._slots = workshop.slots
        self.told_at = 0.0  # see `streams.runtime.messages.Telling`
        # Copies of one content often come together; all but the first wait and find its canon. Between processes the
        # store's first write wins.
        self._making: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def assigned(self, partitions: set[int]) -> None:
        return None

    async def revoked(self) -> None:
        return None

    def _moving(self, told: Told) -> Told:
        """The same listener; while it hears of pages that are done, the stage makes progress."""

        def moving(done: int, total: int) -> None:
            self.told_at = time.monotonic()
            told(done, total)

        return moving

    def _timing(self, started: datetime, seconds: float) -> Timing:
        return Timing(stage=self.name, started_at=started, seconds=round(seconds, 6))

    @contextlib.asynccontextmanager
    async def _original(self, content: Content) -> AsyncIterator[Path]:
        """The verified original as a local file; verifying reads all of it, so it happens off the loop."""
        copy = self._store.local_copy(original_key(content.sha256), sha256=content.sha256)
        path = await asyncio.to_thread(copy.__enter__)
        try:
            yield path
        finally:
            copy.__exit__(None, None, None)  # at most the removal of a temporary file: less than a thread costs

    async def _canon(
        self, key: str, content: Content, make: Callable[[Path], Awaitable[tuple[ExtractAnswer, bytes]]]
    ) -> tuple[Payload, Attempt, Judged | None]:
        """The canon under this key; made of the original if it is not there, and then judged at once.

        What is made is kept under its own fingerprint: a canon that lacks pages is not found again under the key of
        the whole one.

        Raises:
            DocumentError, SlotFailure, BlobNotFound, BlobCorrupt: as `make` and the store.
        """
        async with self._making.setdefault(key, asyncio.Lock()):
            judged = None
            known = await self._known_canon(key)
            if known is not None:
                payload, attempt = known
            else:
                async with self._original(content) as path:
                    answer, body = await make(path)
                attempt = answer.attempt
                key = canon_key(content.sha256, attempt.fingerprint)
                payload, ours = await self._keep(key, body)
                if ours:
                    judged = answer.judged
            await self._take_back_if_erased(key, content)
        return payload, attempt, judged

    async def _known_canon(self, key: str) -> tuple[Payload, Attempt] | None:
        """The canon that is already there, verified; one that is damaged is made again."""
        try:
            found = await asyncio.to_thread(self._store.find, key)
            if found is None:
                return None
            data = await asyncio.to_thread(self._store.get, key, sha256=found.sha256)
        except BlobCorrupt:
            await asyncio.to_thread(self._store.delete, key)  # derived data: the original makes it again
            return None
        body = await asyncio.to_thread(avro_decode, CanonBody, data)
        return self._payload(key, found.sha256, data), attempt_of(body, 0.0)

    async def _keep(self, key: str, body: bytes) -> tuple[Payload, bool]:
        """Stores a canon, and whether its bytes stand: when another worker was quicker with others, those do."""
        sha256 = hashlib.sha256(body).hexdigest()
        if not await asyncio.to_thread(self._store.put, key, body):
            found = await asyncio.to_thread(self._store.find, key)
            if found is not None and found.sha256 != sha256:
                other = await asyncio.to_thread(self._store.get, key, sha256=found.sha256)
                return self._payload(key, found.sha256, other), False
        return self._payload(key, sha256, body), True

    async def _take_back_if_erased(self, key: str, content: Content) -> None:
        """Deletes a canon whose original was erased meanwhile; `BlobStore.erase` takes the original first.

        A canon that was found is looked at as well: its writer may have died before it could take it back.

        Raises:
            BlobNotFound: the original is gone, and so is the canon.
        """
        original = original_key(content.sha256)
        if not await asyncio.to_thread(self._store.exists, original):
            await asyncio.to_thread(self._store.delete, key)
            raise BlobNotFound(f"{original} was erased while its text was extracted.")

    def _payload(self, key: str, sha256: str, body: bytes) -> Payload:
        inline = body if len(body) <= min(INLINE_BETWEEN_STAGES, self._settings.worker.inline_bytes) else None
        return Payload(key=key, sha256=sha256, size=len(body), inline=inline)


def failure_of(error: Exception) -> Failure:
    """The outcome that an error means for its document."""
    if isinstance(error, DocumentError | SlotFailure):
        return Failure(code=error.problem, message=error.message)
    if isinstance(error, BlobNotFound | BlobCorrupt):
        return Failure(code="corrupt", message=f"The stored original can't be used: {error}")
    return Failure(code="parser_error", message=f"{type(error).__name__}: {error}")


async def with_attempts(most: int, once: Callable[[], Awaitable[R]]) -> R:
    """Tries a job again whose process died, at most `most` times in all; a job that ran out of time is not repeated.

    Raises:
        SlotFailure: of the last attempt.
        DocumentError: the document is at fault.
    """
    for attempt in range(1, most + 1):
        try:
            return await once()
        except SlotFailure as error:
            if error.problem == "timeout" or attempt == most:
                raise
    raise AssertionError("max_attempts is at least 1")


def screen_args(settings: Settings, size: int, source: str | None = None) -> ScreenArgs:
    """How a canon of a content of `size` bytes is judged for a source: a canon is shared, a judgement is not."""
    policy = settings.screen.policy_file
    return ScreenArgs(size=size, policy_file=str(policy) if policy else None, source=source)


class DecodeStage(Stage):
    """raw-arrived -> decoded: what are these bytes; and -> raw-arrived: the members of containers.

    Members are told before their container's `decoded`, which lists them. What an event has told of its members is
    told once: a mark in the store says so, or each replay would add all members to the log again.
    """

    name = "decode"

    def __init__(self, workshop: Workshop, broker: str = "") -> None:
        super().__init__(workshop)
        self._marking: set[asyncio.Future[bool]] = set()
        self._broker = broker
        self._known: dict[int, set[int]] = {}  # events of replays that would bring what they brought before

    async def learn(self, replays: Mapping[int, int]) -> None:
        """See `streams.runtime.messages.Knowing`."""
        self._known = {}
        if replays:
            way = await asyncio.to_thread(way_of, self._settings)
            now = Now(await asyncio.to_thread(rules), load_policy(self._settings).id, way)
            self._known = await unchanged_offsets(self._settings, self._broker, replays, now)

    def known(self, partition: int, offset: int) -> bool:
        """See `streams.runtime.messages.Knowing`."""
        return offset in self._known.get(partition, ())

    async def handle(self, event: Incoming) -> Outputs:
        change = event.record
        assert isinstance(change, ChangeEvent)
        if change.operation is not Operation.UPSERT or change.content is None:
            return Outputs()  # moves, rights, deletes and failures are the ledger's, which reads the same topic
        started, clock = datetime.now(UTC), time.perf_counter()
        async with self._original(change.content) as path:
            args = DecodeArgs(
                path=path_text(path),
                file_name=change.manifest.file_name,
                declared_media_type=change.content.declared_media_type,
                http_content_type=change.content.http_content_type,
                max_bytes=self._settings.limits.max_document_bytes,
            )
            found, _, _ = await with_attempts(
                self._settings.worker.max_attempts, lambda: self._slots.run("decode", args, DecodeAnswer)
            )
            document = self._document(event, change)
            detection, failure = found.detection, found.failure
            told: list[tuple[Child, ChangeEvent]] = []
            if detection is not None and carries(detection, failure):
                with scratch_folder(self._settings) as folder:
                    opened = await open_members(
                        self._slots,
                        self._settings,
                        path,
                        change.manifest.file_name,
                        detection,
                        failure,
                        depth=len(change.manifest.parent_order),
                        into=folder,
                    )
                    await asyncio.to_thread(keep, self._store, folder, opened.members)
                detection, failure = opened.detection, opened.failure
                told = child_events(change, document.sequence, opened.members)
        decoded = Decoded(
            document=document,
            detection=detection,
            failure=failure,
            timings=[self._timing(started, time.perf_counter() - clock)],
            children=[child for child, _ in told],
        )
        out = Outgoing("decoded", event.key, decoded)
        if not told:
            return Outputs(first=[out])
        mark = members_key(change.content.sha256, listing_name(change.source_id, document.sequence, told))
        if await asyncio.to_thread(self._store.exists, mark):
            return Outputs(first=[out])
        events = [Outgoing("raw-arrived", child.source_id, child, partition_by_key=True) for _, child in told]
        return Outputs(first=events, then=[out], settle=lambda: self._mark(mark))

    def _mark(self, key: str) -> None:
        """Leaves the mark beside the work. One that is lost costs a repetition, which the ledger recognises."""
        marking = asyncio.ensure_future(asyncio.to_thread(self._store.put, key, b""))
        self._marking.add(marking)
        marking.add_done_callback(self._marked)

    def _marked(self, marking: asyncio.Future[bool]) -> None:
        self._marking.discard(marking)
        if not marking.cancelled() and (error := marking.exception()) is not None:
            log.warning("decode: it could not be noted that members were told: %s", error)

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        change = event.record
        assert isinstance(change, ChangeEvent)
        if change.content is None:
            raise error
        return self._decoded(event, Decoded(document=self._document(event, change), failure=failure_of(error)))

    def _document(self, event: Incoming, change: ChangeEvent) -> DocumentRef:
        assert change.content is not None
        return DocumentRef(
            source_id=change.source_id,
            sequence=Sequence(
                epoch=self._settings.kafka.log_epoch,
                offset=event.offset if event.replay_of is None else event.replay_of,
            ),
            content=change.content,
            manifest=change.manifest,
        )

    @staticmethod
    def _decoded(event: Incoming, decoded: Decoded) -> Outputs:
        return Outputs(first=[Outgoing("decoded", event.key, decoded)])


class ExtractStage(Stage):
    """decoded -> extracted: the canon, from the store when the same extractor has met the same content before."""

    name = "extract"

    async def handle(self, event: Incoming) -> Outputs:
        decoded = event.record
        assert isinstance(decoded, Decoded)
        if decoded.failure is not None or decoded.detection is None:
            return self._extracted(event, decoded, failure=decoded.failure or unknown_format())
        started, clock = datetime.now(UTC), time.perf_counter()
        content, detection = decoded.document.content, decoded.detection
        spec = plan(detection, decoded.tool)
        if spec is None:
            return self._extracted(event, decoded, failure=unknown_format(detection.media_type))
        key = canon_key(content.sha256, fingerprint(spec, detection))
        told = self._moving(Progress("Extraction").of(event.key))
        payload, attempt, judged = await self._canon(
            key, content, lambda path: self._extract(path, decoded, detection, told)
        )
        return self._extracted(
            event,
            decoded,
            payload=payload,
            attempt=attempt,
            timing=self._timing(started, time.perf_counter() - clock - (judged.seconds if judged else 0.0)),
            judged=judged,
        )

    async def _extract(
        self, path: Path, decoded: Decoded, detection: Detection, told: Told
    ) -> tuple[ExtractAnswer, bytes]:
        content = decoded.document.content
        args = ExtractArgs(
            path=path_text(path),
            content_hash=content.sha256,
            detection=detection,
            language_hint=decoded.document.manifest.language_hint,
            max_pages=self._settings.limits.max_pages,
            tool=decoded.tool,
            screen=screen_args(self._settings, content.size, decoded.document.manifest.source),
        )
        answer, body, _ = await with_attempts(
            self._settings.worker.max_attempts, lambda: self._slots.run("extract", args, ExtractAnswer, told=told)
        )
        return answer, body

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        decoded = event.record
        assert isinstance(decoded, Decoded)
        return self._extracted(event, decoded, attempt=_failed_attempt(decoded), failure=failure_of(error))

    @staticmethod
    def _extracted(
        event: Incoming,
        decoded: Decoded,
        *,
        payload: Payload | None = None,
        attempt: Attempt | None = None,
        failure: Failure | None = None,
        timing: Timing | None = None,
        judged: Judged | None = None,
    ) -> Outputs:
        record = Extracted(
            document=decoded.document,
            detection=decoded.detection,
            payload=payload,
            attempt=attempt,
            failure=failure,
            timings=[*decoded.timings, *([timing] if timing else [])],
            children=decoded.children,
            judged=judged,
            tool=decoded.tool,
            earlier=decoded.earlier,
        )
        return Outputs(first=[Outgoing("extracted", event.key, record)])


def unknown_format(media_type: str = "an unknown format") -> Failure:
    return Failure(code="unsupported_format", message=f"No extractor reads {media_type}.")


def _failed_attempt(decoded: Decoded) -> Attempt | None:
    """Which extractor gave no canon, so that its next version can be told from the one that failed."""
    spec = plan(decoded.detection, decoded.tool) if decoded.detection is not None else None
    if spec is None or decoded.detection is None:
        return None
    return Attempt(
        extractor=spec.name,
        extractor_version=spec.version,
        fingerprint=fingerprint(spec, decoded.detection),
        method=Method.NATIVE,
        seconds=0.0,
    )
