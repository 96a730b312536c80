"""One stage as a Faust app: keyed lanes, confirmed outputs, and commits of the contiguous prefix only.

What Faust does here: membership, assignment, fetching, flow control. What it does not do: acknowledge. Its topics are
declared with `acks=False` and this module commits for itself, because Faust commits past gaps (faust-streaming#606),
acknowledges messages it skipped after a rebalance, acknowledges when an agent raises, and believes in commits that
failed (#316).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import Any

import faust
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata
from faust.types import TP

from streams.errors import CanonryError, UndecodableMessage
from streams.log.client import faust_connection
from streams.records.codec import TOPIC_RECORDS, decode
from streams.records.headers import dead_letter_headers, read_context
from streams.runtime.lanes import Lanes
from streams.runtime.messages import Handler, Incoming, Outgoing, Outputs
from streams.runtime.offsets import PartitionOffsets
from streams.runtime.producer import Producer
from streams.settings import Settings
from streams.topology import DEAD_LETTER, Stage, group_id

log = logging.getLogger(__name__)

COMMIT_INTERVAL_S = 0.3
COMMIT_TIMEOUT_S = 5.0
SESSION_TIMEOUT_S = 10.0
POLL_RECORDS = 32
POLL_INTERVAL_S = 30 * 86400.0  # a longer hand-over makes aiokafka leave the group for ever
BACKOFF_FIRST_S = 0.2
BACKOFF_MOST_S = 15.0

Position = tuple[str, int]  # topic without prefix, partition


class _Job:
    """One event on its way; a redelivery of it attaches here by raising `generation`."""

    __slots__ = ("generation", "message", "topic")

    def __init__(self, topic: str, message: Any, generation: int) -> None:
        self.topic = topic
        self.message = message
        self.generation = generation

    @property
    def event_id(self) -> str:
        return f"{self.topic}/{self.message.partition}/{self.message.offset}"


class StageApp:
    """Hosts one stage."""

    def __init__(self, stage: Stage, handler: Handler, settings: Settings, broker: str, producer: Producer) -> None:
        self.stage = stage
        self.done = 0  # events finished since the start
        self.dead_letters = 0
        self.progressed_at = time.monotonic()
        self._handler = handler
        self._producer = producer
        self._prefix = settings.kafka.topic_prefix
        self._lanes = Lanes(settings.worker.in_flight)
        self._offsets: dict[Position, PartitionOffsets] = {}
        self._committed: dict[Position, int] = {}
        self._running: dict[tuple[str, int, int], _Job] = {}
        self._ready: asyncio.Task[None] | None = None
        self._stopping = False
        self._fatal: BaseException | None = None
        self._committer: asyncio.Task[None] | None = None
        self.app = self._build(settings, broker)

    def _build(self, settings: Settings, broker: str) -> Any:
        app = faust.App(
            group_id(self.stage.name, self._prefix),
            **faust_connection(settings, broker),
            datadir=str(settings.data_dir / "faust"),
            store="memory://",
            web_enabled=False,  # Faust would listen on all interfaces
            topic_disable_leader=True,
            topic_allow_declare=False,
            broker_max_poll_interval=POLL_INTERVAL_S,
            broker_max_poll_records=POLL_RECORDS,
            broker_session_timeout=SESSION_TIMEOUT_S,
            broker_heartbeat_interval=SESSION_TIMEOUT_S / 4,
            broker_rebalance_timeout=60.0,
            broker_commit_livelock_soft_timeout=POLL_INTERVAL_S,
            stream_buffer_maxsize=POLL_RECORDS,
            stream_wait_empty=False,
            stream_processing_timeout=POLL_INTERVAL_S,
            consumer_auto_offset_reset="earliest",
            producer_threaded=False,
        )
        for topic in self.stage.reads:
            channel = app.topic(
                self._prefix + topic,
                key_type=bytes,
                value_type=bytes,
                key_serializer="raw",
                value_serializer="raw",
                allow_empty=True,
                acks=False,
            )
            app.agent(channel, concurrency=1, name=f"{self.stage.name}.{topic}")(self._agent(topic))
        app.on_partitions_revoked.connect(self._on_revoked, weak=False)
        app.on_partitions_assigned.connect(self._on_assigned, weak=False)
        return app

    # --- membership ---------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Joins the group and begins to work."""
        await self.app.start()
        self._committer = asyncio.create_task(self._commit_for_ever())

    async def stop(self, drain_s: float) -> None:
        """Finishes what is running, at most `drain_s` seconds, commits, and leaves the group."""
        self._stopping = True
        if not await self._lanes.drained(drain_s):
            log.warning("%s: %d events were still running and will come again.", self.stage.name, self._lanes.active)
            await self._lanes.cancel()
        if self._committer is not None:
            self._committer.cancel()
            await asyncio.gather(self._committer, return_exceptions=True)
        await self._commit()
        await self.app.stop()

    @property
    def failure(self) -> BaseException | None:
        """Why this app can't go on, if it can't."""
        if self._fatal is not None:
            return self._fatal
        if self.app.crashed:
            reason: BaseException | None = self.app.crash_reason
            return reason or RuntimeError("The Faust app crashed.")
        return None

    @property
    def active(self) -> int:
        return self._lanes.active

    @property
    def assigned(self) -> set[Position]:
        return set(self._offsets)

    def lag(self) -> int:
        """Records behind the high watermark, as far as the consumer knows it; 0 when nothing is known."""
        behind = 0
        for (topic, partition), offsets in self._offsets.items():
            high = self.app.consumer.highwater(_tp(self._prefix + topic, partition))
            done = offsets.committable or self._committed.get((topic, partition))
            if high is not None and done is not None:
                behind += max(0, high - done)
        return behind

    async def _on_revoked(self, app: Any, revoked: Any, **_: Any) -> None:
        await self._commit()
        self._offsets.clear()
        self._committed.clear()
        if self._ready is not None:
            self._ready.cancel()
        await self._handler.revoked()

    async def _on_assigned(self, app: Any, assigned: Any, **_: Any) -> None:
        self._offsets = {(self._logical(tp.topic), tp.partition): PartitionOffsets() for tp in assigned}
        self._committed = {}
        self._ready = asyncio.create_task(self._restore({tp.partition for tp in assigned}))

    async def _restore(self, partitions: set[int]) -> None:
        backoff = _Backoff()
        while True:
            try:
                return await self._handler.assigned(partitions)
            except CanonryError as error:
                if not error.transient:
                    self._fatal = error
                    return None
                log.warning("%s: state not restored yet: %s", self.stage.name, error)
                await backoff.wait()

    def _logical(self, topic: str) -> str:
        return topic.removeprefix(self._prefix)

    # --- events -------------------------------------------------------------------------------------------------

    def _agent(self, topic: str) -> Any:
        async def agent(stream: Any) -> None:
            async for event in stream.noack().events():
                try:
                    await self._accept(topic, event.message)
                except Exception as error:
                    # An exception that leaves an agent would be taken for an acknowledgement. End the process instead.
                    log.exception("%s: the harness failed.", self.stage.name)
                    self._fatal = error
                    await asyncio.Event().wait()

        return agent

    async def _accept(self, topic: str, message: Any) -> None:
        if self._stopping or message.generation_id != self.app.consumer_generation_id:
            return
        offsets = self._offsets.get((topic, message.partition))
        if offsets is None:
            return
        where = (topic, message.partition, message.offset)
        offsets.begin(message.offset)
        running = self._running.get(where)
        if running is not None:
            running.generation = message.generation_id
            return
        job = self._running[where] = _Job(topic, message, message.generation_id)
        if self._ready is not None and not self._ready.done():
            await asyncio.wait({self._ready})
        await self._lanes.submit(message.key or b"", lambda: self._run(job))

    def _ours(self, job: _Job) -> bool:
        """Whether the partition is still assigned to us in the generation that delivered the event."""
        return (
            job.generation == self.app.consumer_generation_id
            and (job.topic, job.message.partition) in self._offsets
            and not self._fatal
        )

    async def _run(self, job: _Job) -> None:
        message = job.message
        try:
            if not self._ours(job):
                return
            await self._work(job)
            if self._ours(job):
                self._offsets[job.topic, message.partition].done(message.offset)
                self.done += 1
                self.progressed_at = time.monotonic()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("%s: %s failed beyond repair.", self.stage.name, job.event_id)
            self._fatal = error
        finally:
            self._running.pop((job.topic, message.partition, message.offset), None)

    async def _work(self, job: _Job) -> None:
        """Everything between acceptance and completion; returns when the event's outcome is confirmed."""
        message = job.message
        try:
            if message.value is None:
                raise UndecodableMessage("A null on a topic that has no tombstones.")
            record = decode(TOPIC_RECORDS[job.topic], message.value)
            key = (message.key or b"").decode("utf-8")
            if getattr(record, "source_id", None) is None and not hasattr(record, "document"):
                raise UndecodableMessage("A record without a source_id.")
        except (UndecodableMessage, UnicodeDecodeError) as error:
            return await self._dead_letter(job, error, "undecodable_message", 1)
        event = Incoming(
            topic=job.topic,
            partition=message.partition,
            offset=message.offset,
            timestamp=message.timestamp or 0.0,
            key=key,
            record=record,
            context=read_context(message.headers),
        )
        backoff = _Backoff()
        outputs: Outputs | None = None
        while True:
            try:
                if outputs is None:
                    outputs = await self._handler.handle(event)
                return await self._deliver(job, event, outputs)
            except CanonryError as error:
                if error.transient:
                    log.warning("%s: %s waits: %s", self.stage.name, event.key, error)
                    self.progressed_at = time.monotonic()  # waiting for the world is not a hang
                    await backoff.wait()
                    if not self._ours(job):
                        return None
                    continue
                failure: Exception = error
            except Exception as error:
                log.exception("%s: %s failed on %s.", self.stage.name, job.event_id, event.key)
                failure = error
            return await self._settle_failure(job, event, failure)

    async def _settle_failure(self, job: _Job, event: Incoming, failure: Exception) -> None:
        """A failure that trying again won't mend: an outcome for the document, or else for the message."""
        backoff = _Backoff()
        while self._ours(job):
            try:
                await self._deliver(job, event, self._handler.give_up(event, failure))
                return
            except CanonryError as error:
                if not error.transient:
                    break
                await backoff.wait()
            except Exception:
                log.exception("%s: no outcome could be made of %s.", self.stage.name, job.event_id)
                break
        await self._dead_letter(job, failure, getattr(failure, "code", "internal_error"), 1)

    async def _deliver(self, job: _Job, event: Incoming, outputs: Outputs) -> None:
        for part in (outputs.first, outputs.then):
            if part:
                if not self._ours(job):
                    return
                await self._publish(job, part, event)
        if outputs.settle is not None and self._ours(job):
            outputs.settle()

    async def _publish(self, job: _Job, part: list[Outgoing], event: Incoming) -> None:
        await self._producer.send(part, stage=self.stage.name, event_id=job.event_id, context=event.context)

    async def _dead_letter(self, job: _Job, error: BaseException, code: str, attempt: int) -> None:
        message = job.message
        headers = dead_letter_headers(
            list(message.headers or ()),
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            error=error,
            reason_code=code,
            attempt=attempt,
            stage=self.stage.name,
        )
        backoff = _Backoff()
        while self._ours(job):
            try:
                await self._producer.send_raw(DEAD_LETTER, message.key, message.value, headers)
            except CanonryError as failed:
                if not failed.transient:
                    raise
                await backoff.wait()
                continue
            log.warning("%s: %s went to dead-letter: %s", self.stage.name, job.event_id, error)
            self.dead_letters += 1
            return

    # --- commits ------------------------------------------------------------------------------------------------

    async def _commit_for_ever(self) -> None:
        while True:
            await asyncio.sleep(COMMIT_INTERVAL_S)
            await self._commit()

    async def _commit(self) -> None:
        """Commits what is done without a gap. What fails is tried again in the next round."""
        due = {
            where: offsets.committable
            for where, offsets in self._offsets.items()
            if offsets.committable is not None and offsets.committable != self._committed.get(where)
        }
        if not due:
            return
        thread = self.app.consumer._thread
        wanted = {
            TopicPartition(self._prefix + topic, partition): OffsetAndMetadata(offset, "")
            for (topic, partition), offset in due.items()
        }
        try:
            async with asyncio.timeout(COMMIT_TIMEOUT_S):
                await thread.call_thread(_commit_in_thread, thread, wanted)
        except (CommitFailedError, IllegalStateError, KafkaError, TimeoutError) as error:
            log.info("%s: commit put off: %r", self.stage.name, error)
            return
        self._committed.update({where: offset for where, offset in due.items() if offset is not None})


async def _commit_in_thread(thread: Any, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
    """Runs on the consumer's own loop; Faust's commit would end the app on any error."""
    consumer = thread._consumer
    assigned = consumer.assignment()
    mine = {tp: offset for tp, offset in offsets.items() if tp in assigned}
    if mine:
        await consumer.commit(mine)


def _tp(topic: str, partition: int) -> Any:
    return TP(topic, partition)


class _Backoff:
    """Exponential, with full jitter."""

    def __init__(self) -> None:
        self._next = BACKOFF_FIRST_S

    async def wait(self) -> None:
        await asyncio.sleep(random.uniform(self._next / 2, self._next))  # noqa: S311 - jitter, no secret
        self._next = min(self._next * 2, BACKOFF_MOST_S)
