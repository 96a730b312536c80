"""What every connector is: one class that says what changed at its source (R-IN-4). All the rest is done here.

A connector yields documents, moves, deletes, rights and failures, and now and then a checkpoint. `run_connector` stores
the bytes first, then publishes the event, and tells the connector only when the log has confirmed it; so a connector
that remembers its place in `confirmed` or `checkpoint` alone never loses a change, whenever the process dies.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO, Protocol, TypeAlias, cast

from streams.blobs.store import Stored
from streams.connectors.names import MEMBER, display_path, file_name, readable
from streams.errors import DocumentError, UsageError
from streams.records import ChangeEvent, Content, Failure, Lane, Manifest, Operation
from streams.settings import Settings, SourceSettings


class Published(Protocol):
    """Where a confirmed event stands in the log."""

    @property
    def source_id(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...


class Publisher(Protocol):
    """Whatever puts a change event on `raw-arrived`."""

    async def publish(self, event: ChangeEvent, *, lane: Lane = Lane.LIVE) -> Published:
        """Returns when the log has confirmed the event. Raises BrokerUnavailable."""
        ...


class OriginalStore(Protocol):
    """The part of the blob store that a connector needs."""

    def put_file(self, stream: BinaryIO) -> Stored: ...


class ReadFailed(DocumentError):
    """The source could not give this document's bytes; it becomes a failed event under its own name (R-IN-7).

    Raise it in `Document.open` or while reading to choose the code, one of `PROBLEMS`, or with `skip` of `SKIP_RULES`.
    """

    code = "read_failed"

    def __init__(self, problem: str, message: str, *, skip: bool = False) -> None:
        super().__init__(problem, message)
        self.skip = skip

    @classmethod
    def of(cls, error: OSError) -> ReadFailed:
        """The failure that an error of the operating system means."""
        reason = error.strerror or str(error) or type(error).__name__
        if isinstance(error, FileNotFoundError):
            return cls("vanished", f"It was listed, then gone before it could be read: {reason}.")
        return cls("unreadable", f"It can't be read: {reason}.")


@dataclass(frozen=True, kw_only=True)
class Item:
    """What all changes say. `native_id` is the source's own stable id, never a path if there is anything better."""

    native_id: str
    path: str  # as a person reads it
    file_name: str | None = None  # default: last part of the path
    native_revision: str | None = None
    revision_order: int | None = None  # where revisions count upwards
    source_updated_at: datetime | None = None
    observed_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    owner: str | None = None  # default: the source's
    readers: list[str] | None = None  # default: the source's; none there either means nobody
    language_hint: str | None = None
    actor: str | None = None
    reason: str | None = None
    token: object = None  # the connector's own; comes back in `confirmed`


@dataclass(frozen=True, kw_only=True)
class Document(Item):
    """New or changed content.

    `open` is called in a thread, when the bytes are wanted, and may be called twice. An OSError that it or the stream
    raises makes a failed event of this document; so does ReadFailed, which says more.
    """

    open: Callable[[], BinaryIO]
    declared_media_type: str | None = None
    http_content_type: str | None = None
    steady: Callable[[], bool] | None = None  # asked after reading; False: it changed meanwhile, read it once more


@dataclass(frozen=True, kw_only=True)
class Moved(Item):
    """The same document, the same content, another path."""


@dataclass(frozen=True, kw_only=True)
class Gone(Item):
    """The source has it no more."""


@dataclass(frozen=True, kw_only=True)
class Rights(Item):
    """The same document and content, other readers or another owner."""


@dataclass(frozen=True, kw_only=True)
class Failed(Item):
    """A document that the connector could not deliver, or, with `skip`, leaves out by a rule."""

    code: str
    message: str
    skip: bool = False


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All before it is confirmed when `Connector.checkpoint` gets this value, e.g. the cursor of a delta listing."""

    value: str


Change: TypeAlias = Document | Moved | Gone | Rights | Failed


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One document of a listing: what a reconcile compares (R-IN-5)."""

    native_id: str
    path: str
    native_revision: str | None = None
    sha256: str | None = None  # where it is known without reading


@dataclass(frozen=True, kw_only=True)
class ListingEnd:
    """The last item of a listing. A listing without one broke off, and nothing may be deleted because of it."""

    complete: bool
    reasons: list[str] = field(default_factory=list)  # why it is not complete, for a person


class Connector(ABC):
    """One source. Subclasses set `source`, a name under [sources] of the settings, and write `changes`."""

    source: str

    @abstractmethod
    def changes(self) -> AsyncGenerator[Change | Checkpoint, None]:
        """What is new since the last checkpoint. Changes of one document are published in the order given here."""

    async def confirmed(self, change: Change, event: ChangeEvent, published: Published) -> None:  # noqa: B027
        """The log has `event`, made from `change`. Called once per change, in order for each document."""

    async def checkpoint(self, value: str) -> None:  # noqa: B027  (many sources have none)
        """Everything before the checkpoint is confirmed: the place to remember it."""

    async def listing(self) -> AsyncGenerator[Listed | ListingEnd, None]:
        """All ids of the source, as cheaply as it can; the last item says whether it is complete.

        Without an implementation the listing is incomplete, so that nothing is ever deleted because of it.
        """
        yield ListingEnd(complete=False, reasons=[f"{type(self).__name__} can't list its documents."])

    async def fetch(self, native_id: str) -> Change:
        """One document again, for a reconcile that misses it.

        Raises:
            UsageError: this connector can't fetch single documents.
        """
        raise UsageError(f"{type(self).__name__} can't fetch {native_id}: it has no access to single documents.")


@dataclass
class RunSummary:
    """What one run published."""

    published: Counter[Operation] = field(default_factory=Counter)
    documents_bytes: int = 0
    checkpoint: str | None = None  # the last one
    seconds: float = 0.0


def stable_id(native_id: str) -> str:
    """The native id as it travels. One with invisible or undecodable characters is spelled, with a hash of what it was.

    Raises:
        UsageError: the id is empty.
    """
    if not native_id:
        raise UsageError("A connector gave a document without an id.")
    if readable(native_id) == native_id and MEMBER not in native_id:
        return native_id
    raw = native_id.encode("utf-8", "surrogatepass")
    return f"{display_path(raw)}#{hashlib.sha256(raw).hexdigest()[:16]}"


def source_id(source: str, native_id: str) -> str:
    """`<source>:<native id>`, the key of everything that concerns the document. Raises UsageError as `stable_id`."""
    return f"{source}:{stable_id(native_id)}"


async def run_connector(
    connector: Connector,
    store: OriginalStore,
    publisher: Publisher,
    settings: Settings,
    *,
    lane: Lane = Lane.LIVE,
    in_flight: int = 32,
    on_published: Callable[[ChangeEvent, Published], None] | None = None,
) -> RunSummary:
    """Publishes all that `connector.changes()` gives, at most `in_flight` documents at once.

    Raises:
        UnknownSource: the source is not registered; nothing was read.
        CanonryError: the store or the broker failed. What was confirmed until then is recorded; the rest comes again
            in the next run.
    """
    return await _Run(connector, store, publisher, settings, lane, in_flight, on_published).run()


class _Run:
    def __init__(
        self,
        connector: Connector,
        store: OriginalStore,
        publisher: Publisher,
        settings: Settings,
        lane: Lane,
        in_flight: int,
        on_published: Callable[[ChangeEvent, Published], None] | None,
    ) -> None:
        self._connector = connector
        self._store = store
        self._publisher = publisher
        self._source = settings.source(connector.source)
        self._lane = lane
        self._slots = asyncio.Semaphore(in_flight)
        self._on_published = on_published
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._last: dict[str, asyncio.Task[None]] = {}  # of each document with work in flight
        self._error: BaseException | None = None
        self._summary = RunSummary()

    async def run(self) -> RunSummary:
        started = time.monotonic()
        try:
            async with aclosing(self._connector.changes()) as changes:
                async for change in changes:
                    if isinstance(change, Checkpoint):
                        await self._drain()
                    else:
                        await self._slots.acquire()
                    if self._error is not None:
                        break
                    if isinstance(change, Checkpoint):
                        await self._connector.checkpoint(change.value)
                        self._summary.checkpoint = change.value
                    else:
                        self._start(change)
            await self._drain()
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            raise
        finally:
            await self._drain()  # also when the connector itself failed: what it gave before is sound
        if self._error is not None:
            raise self._error
        self._summary.seconds = time.monotonic() - started
        return self._summary

    def _start(self, change: Change) -> None:
        task = asyncio.create_task(self._deliver(change, self._last.get(change.native_id)))
        self._last[change.native_id] = task
        self._tasks[task] = change.native_id
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._slots.release()
        native_id = self._tasks.pop(task)
        if self._last.get(native_id) is task:
            del self._last[native_id]
        if not task.cancelled() and self._error is None:
            self._error = task.exception()

    async def _drain(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _deliver(self, change: Change, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        if self._error is not None:
            return  # comes again in the next run, in its order
        event = await self._event(change)
        published = await self._publisher.publish(event, lane=self._lane)
        await self._connector.confirmed(change, event, published)
        self._summary.published[event.operation] += 1
        if self._on_published is not None:
            self._on_published(event, published)

    async def _event(self, change: Change) -> ChangeEvent:
        content: Content | None = None
        failure: Failure | None = None
        match change:
            case Document():
                try:
                    stored = await asyncio.to_thread(self._read, change)
                except ReadFailed as error:
                    operation, failure = (
                        Operation.FAILED,
                        Failure(code=error.problem, message=error.message, skip=error.skip),
                    )
                else:
                    operation = Operation.UPSERT
                    self._summary.documents_bytes += stored.size
                    content = Content(
                        sha256=stored.sha256,
                        size=stored.size,
                        declared_media_type=change.declared_media_type,
                        http_content_type=change.http_content_type,
                    )
            case Failed():
                operation, failure = (
                    Operation.FAILED,
                    Failure(code=change.code, message=change.message, skip=change.skip),
                )
            case Moved():
                operation = Operation.MOVE
            case Gone():
                operation = Operation.DELETE
            case Rights():
                operation = Operation.ACL
        return ChangeEvent(
            source_id=source_id(self._connector.source, change.native_id),
            operation=operation,
            manifest=_manifest(self._connector.source, self._source, change),
            content=content,
            failure=failure,
            actor=change.actor,
            reason=change.reason,
        )

    def _read(self, document: Document) -> Stored:
        """Stores the bytes; a document that changed meanwhile is read once more, then taken as it was."""
        stored = self._store_once(document)
        if document.steady is not None and not document.steady():
            stored = self._store_once(document)
        return stored

    def _store_once(self, document: Document) -> Stored:
        try:
            stream = document.open()
        except OSError as error:
            raise ReadFailed.of(error) from error
        with stream:
            return self._store.put_file(cast(BinaryIO, _SourceStream(stream)))


class _SourceStream(io.RawIOBase):
    """Tells errors of the source from errors of the store: only the source's become failures of the document."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size)
        except OSError as error:
            raise ReadFailed.of(error) from error

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _manifest(source: str, settings: SourceSettings, change: Change) -> Manifest:
    path = readable(change.path)
    return Manifest(
        path=path,
        file_name=readable(change.file_name) if change.file_name is not None else file_name(path),
        source=source,
        native_id=stable_id(change.native_id),
        native_revision=change.native_revision,
        revision_order=change.revision_order,
        source_updated_at=change.source_updated_at,
        observed_at=change.observed_at,
        ingested_at=datetime.now(UTC),
        owner=change.owner if change.owner is not None else (settings.owner or None),
        readers=change.readers if change.readers is not None else settings.readers,
        language_hint=change.language_hint if change.language_hint is not None else settings.language,
    )
