"""A stage on a real broker with a handler of the test's own, and looks at the log from outside."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from streams.blobs import BlobStore
from streams.errors import BlobStoreUnavailable, DocumentError
from streams.log.client import connection
from streams.records import ChangeEvent, Content, Decoded, DocumentRef, Failure, Record, Sequence
from streams.records.codec import TOPIC_RECORDS, decode, encode
from streams.records.headers import EventContext, event_headers
from streams.runtime.messages import Incoming, Outgoing, Outputs
from streams.runtime.producer import Producer
from streams.runtime.stage import StageApp
from streams.settings import Settings
from streams.topology import Stage, group_id
from tests.unit.ledger.make import broken, up

AGGRESSIVE = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "1000",
    "delete.retention.ms": "1000",
    "max.message.bytes": "8388608",
}
"""Settings of a compacted topic with which the broker cleans within seconds."""

PROBE = Stage("probe", ("raw-arrived",), ("decoded",), "a stage of a test")


class Unforeseen(RuntimeError):
    """A bug of a handler."""


class Probe:
    """Publishes one Decoded for each upsert; misbehaves on the ids that a test names."""

    keeps_state = False

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.slow: dict[str, asyncio.Event] = {}  # waits for it
        self.transient: Counter[str] = Counter()  # fails so many times
        self.terminal: set[str] = set()
        self.hopeless: set[str] = set()  # give_up fails, too
        self.assignments: list[set[int]] = []
        self.restoring = asyncio.Event()  # assigned() waits for it
        self.restoring.set()
        self.restore_error: Exception | None = None

    async def assigned(self, partitions: set[int]) -> None:
        self.assignments.append(partitions)
        await self.restoring.wait()
        if self.restore_error is not None:
            raise self.restore_error

    async def revoked(self) -> None:
        return None

    async def handle(self, event: Incoming) -> Outputs:
        self.began.append(event.key)
        if event.key in self.slow:
            await self.slow[event.key].wait()
        if self.transient[event.key]:
            self.transient[event.key] -= 1
            raise BlobStoreUnavailable("The store is away.")
        if event.key in self.hopeless:
            raise Unforeseen("a bug")
        if event.key in self.terminal:
            raise DocumentError("corrupt", "It is broken.")
        self.ended.append(event.key)
        return Outputs(first=[Outgoing("decoded", event.key, _decoded(event))])

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        if event.key in self.hopeless:
            raise Unforeseen("another bug")
        code = error.problem if isinstance(error, DocumentError) else "parser_error"
        failure = Failure(code=code, message=str(error))
        return Outputs(first=[Outgoing("decoded", event.key, _decoded(event, failure))])


def _decoded(event: Incoming, failure: Failure | None = None) -> Decoded:
    change = event.record
    assert isinstance(change, ChangeEvent)
    assert change.content is not None
    return Decoded(
        document=DocumentRef(
            source_id=event.key,
            sequence=Sequence(epoch=1, offset=event.offset),
            content=change.content,
            manifest=change.manifest,
        ),
        failure=failure,
    )


@contextlib.asynccontextmanager
async def stage_app(
    settings: Settings, handler: Any, stage: Stage = PROBE, *, drain_s: float = 5
) -> AsyncIterator[StageApp]:
    """A running stage; the producer is its own, as in a process of its own."""
    producer = Producer(settings, settings.broker)
    await producer.start()
    app = StageApp(stage, handler, settings, settings.broker, producer)
    try:
        await app.start()
        yield app
    finally:
        async with asyncio.timeout(60):
            await app.stop(drain_s)
            await producer.stop()


async def until(condition: Callable[[], bool], seconds: float = 30, what: str = "") -> None:
    """Waits for something that another task or process does."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - of another thread or process
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"Not within {seconds:g} s: {what or condition}") from None


async def until_async(
    condition: Callable[[], Awaitable[bool]], seconds: float = 30, what: str = "", *, every_s: float = 0.1
) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not await condition():  # noqa: ASYNC110 - of the broker
                await asyncio.sleep(every_s)
    except TimeoutError:
        raise AssertionError(f"Not within {seconds:g} s: {what or condition}") from None


def upsert(source_id: str, content: str = "text") -> ChangeEvent:
    return up(0, content, source_id=source_id).event


def document(store: BlobStore, source_id: str, data: bytes, name: str = "doc.txt") -> ChangeEvent:
    """An upsert of a document whose original is stored."""
    stored = store.put_file(io.BytesIO(data))
    event = up(0, "", source_id=source_id, path=f"in/{name}", file_name=name).event
    return msgspec.structs.replace(event, content=Content(sha256=stored.sha256, size=stored.size))


def failed(source_id: str, code: str = "unreadable", **fields: Any) -> ChangeEvent:
    return broken(0, code, source_id=source_id, **fields).event


async def publish(settings: Settings, topic: str, records: Iterable[Record], partition: int | None = None) -> list[int]:
    """Publishes records in their order; their offsets."""
    values = []
    for record in records:
        source_id = getattr(record, "source_id", None) or record.document.source_id  # type: ignore[attr-defined]
        values.append((source_id.encode(), encode(record)))
    return await publish_raw(settings, topic, values, partition)


async def publish_raw(
    settings: Settings,
    topic: str,
    values: Iterable[tuple[bytes | None, bytes | None]],
    partition: int | None = None,
) -> list[int]:
    headers = event_headers(
        record="ChangeEvent", source="test", subject="test", event_id="test", context=EventContext.new(run_id="run-7")
    )
    producer = AIOKafkaProducer(**connection(settings, settings.broker), acks="all", max_request_size=8_300_000)
    await producer.start()
    try:
        sent = [
            await producer.send(
                settings.kafka.topic_prefix + topic, value, key=key, partition=partition, headers=headers
            )
            for key, value in values
        ]
        return [(await one).offset for one in sent]
    finally:
        await producer.stop()


async def read(settings: Settings, topic: str) -> list[Any]:
    """All messages of a topic up to the high watermark of now, partition by partition."""
    name = settings.kafka.topic_prefix + topic
    consumer = AIOKafkaConsumer(**connection(settings, settings.broker), auto_offset_reset="earliest")
    await consumer.start()
    try:
        partitions = [
            TopicPartition(name, n)
            for n in sorted(consumer.partitions_for_topic(name) or await _partitions(consumer, name))
        ]
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        found: dict[Any, list[Any]] = {tp: [] for tp in partitions}
        async with asyncio.timeout(30):
            while any([await consumer.position(tp) < ends[tp] for tp in partitions]):
                for tp, messages in (await consumer.getmany(timeout_ms=200)).items():
                    found[tp] += [message for message in messages if message.offset < ends[tp]]
        return [message for tp in partitions for message in found[tp]]
    finally:
        await consumer.stop()


async def _partitions(consumer: Any, name: str) -> set[int]:
    await consumer._client.force_metadata_update()
    consumer._client.add_topic(name)
    await consumer._client.force_metadata_update()
    found: set[int] = consumer.partitions_for_topic(name) or set()
    return found


async def records(settings: Settings, topic: str) -> list[Any]:
    """The decoded records of a topic, None for a tombstone, each with its key."""
    return [
        (message.key.decode(), decode(TOPIC_RECORDS[topic], message.value) if message.value is not None else None)
        for message in await read(settings, topic)
    ]


async def committed(settings: Settings, stage: str, topic: str, partition: int) -> int | None:
    """What a stage's group has committed."""
    consumer = AIOKafkaConsumer(
        **connection(settings, settings.broker),
        group_id=group_id(stage, settings.kafka.topic_prefix),
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        found: int | None = await consumer.committed(TopicPartition(settings.kafka.topic_prefix + topic, partition))
        return found
    finally:
        await consumer.stop()


class WorkerProcess:
    """`canonry worker` as a process."""

    def __init__(self, settings: Settings, log_file: Path, *stages: str, **extra: str) -> None:
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("CANONRY_")},
            "CANONRY_BROKER": settings.broker,
            "CANONRY_DATA_DIR": str(settings.data_dir),
            "CANONRY_KAFKA__TOPIC_PREFIX": settings.kafka.topic_prefix,
            "CANONRY_BLOBS__FSYNC": "false",
            "CANONRY_WORKER__SLOTS": "1",
            "CANONRY_LOG_LEVEL": "INFO",
            **extra,
        }
        self.log_file = log_file
        with log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streams.cli", "worker", *stages],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
            )

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8", "replace")

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self, within_s: float) -> int:
        """SIGTERM; the exit status. Raises TimeoutExpired."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(within_s)
        self.seconds = time.monotonic() - started
        return status


@contextlib.contextmanager
def worker(settings: Settings, log_file: Path, *stages: str, **extra: str) -> Any:
    process = WorkerProcess(settings, log_file, *stages, **extra)
    try:
        yield process
    finally:
        process.kill()
