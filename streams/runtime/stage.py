"""One stage as a Faust app: keyed lanes, confirmed outputs, and commits of the contiguous prefix only.

What Faust does here: membership, assignment, fetching, flow control. What it does not do: acknowledge. Its topics are
declared with `acks=False` and this module commits for itself, because Faust commits past gaps (faust-streaming#606),
acknowledges messages it skipped after a rebalance, acknowledges when an agent raises, and believes in commits that
failed (#316).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import faust
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from streams.errors import BrokerUnavailable, CanonryError, UndecodableMessage
from streams.log.backoff import Backoff
from streams.log.client import faust_connection
from streams.log.freshness import RecordTimes
from streams.log.groups import ReplayMark
from streams.log.producer import MessageTooLarge
from streams.records import Lane
from streams.records.headers import EventContext, dead_letter_headers
from streams.runtime.commits import commit, committed, positions
from streams.runtime.lag import Book, PartitionLag
from streams.runtime.lanes import Lanes
from streams.runtime.mender import Fenced, Mender
from streams.runtime.messages import Handler, Incoming, Knowing, Outgoing, Outputs, Queueing, Telling, read
from streams.runtime.metrics import Metrics
from streams.runtime.offsets import PartitionOffsets
from streams.runtime.producer import Producer
from streams.settings import Settings
from streams.topology import DEAD_LETTER, Stage, group_id

log = logging.getLogger(__name__)

COMMIT_INTERVAL_S = 0.3
HAND_OVER_S = 30.0  # for what is being published when partitions are taken away; less than the rebalance timeout
REBALANCE_TIMEOUT_S = 60.0
SESSION_TIMEOUT_S = 10.0
POLL_RECORDS = 32
POLL_INTERVAL_S = 30 * 86400.0  # a longer hand-over makes aiokafka leave the group for ever

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
    """Hosts one stage.

    Args:
        client_id: under which it joins its group.
        metrics: of the process.
    """

    def __init__(
        self,
        stage: Stage,
        handler: Handler,
        settings: Settings,
        broker: str,
        producer: Producer,
        client_id: str = "canonry",
        metrics: Metrics | None = None,
    ) -> None:
        self.stage = stage
        self.done = 0  # events finished since the start
        self.dead_letters = 0
        self.restored_in_s: float | None = None  # how long the last restoration took
        self.caught_up = False  # once since the start: all was done that the log held then
        self.progressed_at = time.monotonic()
        self._handler = handler
        self._metrics = metrics or Metrics()
        self._metrics.begin(stage.name)
        self._producer = producer
        self._prefix = settings.kafka.topic_prefix
        self._lanes = Lanes(handler.ahead if isinstance(handler, Queueing) else settings.worker.in_flight)
        self._offsets: dict[Position, PartitionOffsets] = {}
        self._committed: dict[Position, int] = {}
        self._marks: dict[Position, ReplayMark] = {}  # replays that are under way
        self._book = Book()
        self._running: dict[tuple[str, int, int], _Job] = {}
        self._assigned = asyncio.Event()  # `_offsets` are those of the generation of now
        self._publishing = 0
        self._published = asyncio.Event()  # nothing is being published
        self._published.set()
        self._ready: asyncio.Task[None] | None = None
        self._stopping = False
        self._fatal: BaseException | None = None
        self._committer: asyncio.Task[None] | None = None
        self._mender: asyncio.Task[None] | None = None
        self.app = self._build(settings, broker, client_id)

    def _build(self, settings: Settings, broker: str, client_id: str) -> Any:
        data = settings.data_dir / "faust"  # stays empty, but Faust makes it, and not its parents
        data.mkdir(parents=True, exist_ok=True)
        app = faust.App(
            self.group,
            **faust_connection(settings, broker),
            broker_client_id=client_id,
            datadir=str(data),
            store="memory://",
            web_enabled=False,  # Faust would listen on all interfaces
            topic_disable_leader=True,
            topic_allow_declare=False,
            broker_max_poll_interval=POLL_INTERVAL_S,
            broker_max_poll_records=POLL_RECORDS,
            broker_session_timeout=SESSION_TIMEOUT_S,
            broker_heartbeat_interval=SESSION_TIMEOUT_S / 4,
            broker_rebalance_timeout=REBALANCE_TIMEOUT_S,
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
        if isinstance(self._handler, Fenced):
            mender = Mender(self._handler, self._lanes, self._settled_generation, self._deliver_again)
            self._mender = asyncio.create_task(self._mend_for_ever(mender))

    async def stop(self, drain_s: float) -> None:
        """Finishes what is running, at most `drain_s` seconds, commits, and leaves the group."""
        self._stopping = True
        if not await self._lanes.drained(drain_s):
            log.warning("%s: %d events were still running and will come again.", self.stage.name, self._lanes.active)
            await self._lanes.cancel()
        for task in (self._committer, self._mender):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if isinstance(self._handler, Fenced):
            await self._handler.unwatched()
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
    def group(self) -> str:
        """Its consumer group."""
        return group_id(self.stage.name, self._prefix)

    @property
    def active(self) -> int:
        return self._lanes.active

    @property
    def resting(self) -> bool:
        """Whether its events wait by the operator's will: for a meter, or for the end of a pause."""
        return isinstance(self._handler, Queueing) and self._handler.resting

    @property
    def idle_s(self) -> float:
        """Seconds since an event was done, or a job told that it has read more pages."""
        told_at = self._handler.told_at if isinstance(self._handler, Telling) else 0.0
        return time.monotonic() - max(self.progressed_at, told_at)

    @property
    def assigned(self) -> set[Position]:
        return set(self._offsets) if self._assigned.is_set() else set()

    def lag(self) -> int:
        """Records that are not done, as far as is known; 0 when nothing is known."""
        return sum(partition.records for partition in self.lags().values())

    def lags(self) -> dict[Position, PartitionLag]:
        """How far each of our partitions is behind."""
        return {where: self._book.lag(where, offsets) for where, offsets in self._offsets.items()}

    async def peek(self, times: RecordTimes) -> None:
        """Has the log looked into where nothing else can tell what is left to do. Raises BrokerUnavailable."""
        book = self._book
        unseen = book.unseen(self._offsets)
        for where, found in (await times.first_at({where: at for where, (at, _) in unseen.items()})).items():
            book.peeked(where, *unseen[where], found)

    @property
    def not_ready(self) -> str | None:
        """Why it has not joined, restored its state, and caught up once; None when it has."""
        if self._stopping:
            return "is stopping"
        if not self._assigned.is_set():
            return "has not joined its group"
        if self._ready is None or not self._ready.done() or self._ready.cancelled():
            return "restores its state"
        return None if self.caught_up else "has not caught up yet"

    async def _on_revoked(self, app: Any, revoked: Any, **_: Any) -> None:
        """Another process may get these partitions as soon as this returns: nothing may be published after it."""
        self._assigned.clear()
        try:
            async with asyncio.timeout(HAND_OVER_S):
                await self._published.wait()
        except TimeoutError:
            log.warning("%s: %d events are still being published.", self.stage.name, self._publishing)
        await self._commit()
        self._offsets = {}
        self._committed = {}
        self._book = Book()
        if self._ready is not None:
            self._ready.cancel()
        await self._handler.revoked()

    async def _on_assigned(self, app: Any, assigned: Any, **_: Any) -> None:
        self._offsets = {(self._logical(tp.topic), tp.partition): PartitionOffsets() for tp in assigned}
        self._committed = {}
        self._book = Book()
        self._ready = asyncio.create_task(self._restore({tp.partition for tp in assigned}))
        self._assigned.set()

    async def _restore(self, partitions: set[int]) -> None:
        backoff = Backoff()
        while True:
            try:
                self._marks = await self._begin()
                began = time.monotonic()
                await self._handler.assigned(partitions)
                if isinstance(self._handler, Knowing):
                    await self._handler.learn({at: mark.until for (_, at), mark in self._marks.items() if not mark.all})
                self.restored_in_s = time.monotonic() - began
                return
            except CanonryError as error:
                if not error.transient:
                    self._fatal = error
                    return
                log.warning("%s: state not restored yet: %s", self.stage.name, error)
                await backoff.wait()
            except Exception as error:  # without its state, a stage must not touch an event
                log.exception("%s: state can't be restored.", self.stage.name)
                self._fatal = error
                return

    async def _begin(self) -> dict[Position, ReplayMark]:
        """Learns from which offsets this assignment goes on; the marks that `canonry replay` left beside them.

        Raises:
            BrokerUnavailable: they could not be read.
        """
        try:
            found = await committed(self.app, map(self._tp, self._offsets))
        except (KafkaError, TimeoutError) as error:
            raise BrokerUnavailable(f"What {self.stage.name} has committed could not be read: {error!r}.") from error
        begins = {(self._logical(tp.topic), tp.partition): at for tp, at in found.items()}
        self._book.starts(dict.fromkeys(self._offsets, 0) | {where: at.offset for where, at in begins.items()})
        marks = {where: ReplayMark.of(at.metadata) for where, at in begins.items()}
        return {where: mark for where, mark in marks.items() if mark is not None}

    def _mark(self, where: Position, offset: int) -> ReplayMark | None:
        """The replay that this offset belongs to."""
        mark = self._marks.get(where)
        return mark if mark is not None and offset < mark.until else None

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
        # Faust may resume the flow before it says what is assigned; such an event must wait, not be lost.
        while self._is_current(message.generation_id) and not self._assigned.is_set():
            await self._assigned.wait()
        if not self._is_current(message.generation_id):
            return
        offsets = self._offsets.get((topic, message.partition))
        if offsets is None:
            return
        if not offsets.begin(message.offset, message.timestamp or 0.0):
            return  # once more within one assignment: it is running, or done
        if isinstance(self._handler, Knowing) and await self._passed_over(self._handler, topic, message):
            offsets.done(message.offset)
            self.done += 1
            self.progressed_at = time.monotonic()
            return
        where = (topic, message.partition, message.offset)
        running = self._running.get(where)
        if running is not None and not self._handler.keeps_state:
            running.generation = message.generation_id
            return
        # What a stage with state made of an event under an earlier assignment may rest on a state that others have
        # changed since. Such a job ends by itself; this one follows it in the same lane.
        job = self._running[where] = _Job(topic, message, message.generation_id)
        await self._restored()
        if not self._lanes.active:
            self.progressed_at = time.monotonic()  # it was idle until now
        await self._lanes.submit(message.key or b"", lambda: self._run(job))

    async def _passed_over(self, handler: Knowing, topic: str, message: Any) -> bool:
        """Whether a replay has nothing to gain from this event: its outcome is known, and would be the same."""
        await self._restored()
        mark = self._mark((topic, message.partition), message.offset)
        return (
            mark is not None
            and not mark.all
            and self._is_current(message.generation_id)
            and handler.known(message.partition, message.offset)
        )

    async def _restored(self) -> None:
        """Until state and marks of the newest assignment are there."""
        while self._ready is not None and not self._ready.done():
            await asyncio.wait({self._ready})

    def _is_current(self, generation: int) -> bool:
        return not self._stopping and generation == self.app.consumer_generation_id

    def _holds(self, job: _Job) -> bool:
        """Whether the partition is still assigned to us in the generation that delivered the event."""
        return (
            job.generation == self.app.consumer_generation_id
            and (job.topic, job.message.partition) in self._offsets
            and not self._fatal
        )

    def _ours(self, job: _Job) -> bool:
        """Whether this event's outcome may be published: the partition is ours and is not being taken away."""
        return self._assigned.is_set() and self._holds(job)

    async def _run(self, job: _Job) -> None:
        message = job.message
        where = (job.topic, message.partition, message.offset)
        try:
            await self._restored()  # an event that came again may have waited in its lane through a rebalance
            if not self._ours(job):
                return
            began = time.monotonic()
            if await self._work(job) and self._holds(job):
                self._offsets[job.topic, message.partition].done(message.offset)
                self.done += 1
                self.progressed_at = time.monotonic()
                self._metrics.processed.labels(self.stage.name).inc()
                self._metrics.work.labels(self.stage.name).observe(self.progressed_at - began)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("%s: %s failed beyond repair.", self.stage.name, job.event_id)
            self._fatal = error
        finally:
            if self._running.get(where) is job:
                del self._running[where]

    async def _work(self, job: _Job) -> bool:
        """Everything between acceptance and completion; whether the event's outcome is confirmed."""
        try:
            event = read(job.topic, job.message)
        except UndecodableMessage as error:
            return await self._dead_letter(job, error, error.code)
        if (mark := self._mark((job.topic, event.partition), event.offset)) is not None:
            event = dataclasses.replace(event, context=_replayed(event.context, mark))
        if not isinstance(self._handler, Queueing):
            return await self._handled(job, event)
        async with self._handler.turn(event):
            # It may have waited long: what became another's meanwhile is not worked on.
            return self._ours(job) and await self._handled(job, event)

    async def _handled(self, job: _Job, event: Incoming) -> bool:
        """The event handled, as often as it takes, and its outcome confirmed."""
        backoff = Backoff()
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
                        return False
                    continue
                failure: Exception = error
            except Exception as error:
                log.exception("%s: %s failed on %s.", self.stage.name, job.event_id, event.key)
                failure = error
            return await self._settle_failure(job, event, failure)

    async def _settle_failure(self, job: _Job, event: Incoming, failure: Exception) -> bool:
        """A failure that trying again won't mend: an outcome for the document, or else for the message."""
        backoff = Backoff()
        while self._ours(job):
            try:
                return await self._deliver(job, event, self._handler.give_up(event, failure))
            except CanonryError as error:
                if not error.transient:
                    break
                await backoff.wait()
            except Exception:
                log.exception("%s: no outcome could be made of %s.", self.stage.name, job.event_id)
                break
        return await self._dead_letter(job, failure, getattr(failure, "code", "internal_error"))

    async def _deliver(self, job: _Job, event: Incoming, outputs: Outputs) -> bool:
        if not self._ours(job):
            return False
        async with self._publication():
            for part in (outputs.first, outputs.proof, outputs.then):
                if part:
                    await self._publish(job, part, event, outputs.fence)
                if not self._holds(job):
                    return False
            if outputs.settle is not None:
                outputs.settle()
        return True

    async def _publish(self, job: _Job, part: list[Outgoing], event: Incoming, fence: str) -> None:
        await self._producer.send(
            part,
            stage=self.stage.name,
            event_id=job.event_id,
            context=event.context,
            partition=event.partition,
            fence=fence,
        )

    async def _mend_for_ever(self, mender: Mender) -> None:
        try:
            await mender.run()
        except Exception as error:
            log.exception("%s: what others overwrite can't be put right.", self.stage.name)
            self._fatal = error

    def _settled_generation(self) -> int | None:
        """The generation of now, once its partitions are ours and their state is restored."""
        ready = self._ready
        if self._stopping or not self._assigned.is_set() or ready is None or not ready.done() or ready.cancelled():
            return None
        generation: int = self.app.consumer_generation_id
        return generation

    async def _deliver_again(self, event: Incoming, outputs: Outputs) -> bool:
        return await self._deliver(_Job(event.topic, event, event.generation), event, outputs)

    @contextlib.asynccontextmanager
    async def _publication(self) -> AsyncIterator[None]:
        self._publishing += 1
        self._published.clear()
        try:
            yield
        finally:
            self._publishing -= 1
            if not self._publishing:
                self._published.set()

    async def _dead_letter(self, job: _Job, error: BaseException, code: str) -> bool:
        message = job.message
        headers = dead_letter_headers(
            list(message.headers or ()),
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            error=error,
            reason_code=code,
            attempt=1,
            stage=self.stage.name,
        )
        value = message.value
        backoff = Backoff()
        while self._ours(job):
            try:
                async with self._publication():
                    await self._producer.send_raw(DEAD_LETTER, message.key, value, headers)
            except MessageTooLarge:
                if value is None:
                    raise
                # Its place says where it stands; a message that no topic takes must not end every worker.
                headers = [*headers, ("value_omitted", str(len(value)).encode())]
                value = None
                continue
            except CanonryError as failed:
                if not failed.transient:
                    raise
                await backoff.wait()
                continue
            log.warning("%s: %s went to dead-letter: %s", self.stage.name, job.event_id, error)
            self.dead_letters += 1
            self._metrics.dead_letters.labels(self.stage.name, code).inc()
            return True
        return False

    # --- commits ------------------------------------------------------------------------------------------------

    async def _commit_for_ever(self) -> None:
        while True:
            await asyncio.sleep(COMMIT_INTERVAL_S)
            try:
                await self._commit()
                await self._look()
            except Exception as error:  # without commits, everything would be done again and again
                log.exception("%s: commits failed.", self.stage.name)
                self._fatal = error
                return

    async def _commit(self) -> None:
        """Commits what is done without a gap. What fails is tried again in the next round."""
        known = self._committed
        due = {
            self._tp(where): (where, done.committable)
            for where, done in self._offsets.items()
            if done.committable is not None and done.committable != known.get(where)
        }
        # A replay's mark stays until it is passed, so that who takes over from here knows of it.
        marked = {
            tp: OffsetAndMetadata(offset, str(self._mark(where, offset) or "")) for tp, (where, offset) in due.items()
        }
        try:
            for tp in await commit(self.app, marked):
                where, offset = due[tp]
                known[where] = offset
        except (CommitFailedError, IllegalStateError, KafkaError, TimeoutError) as error:
            log.info("%s: commit put off: %r", self.stage.name, error)
            self._metrics.commit_failures.labels(self.stage.name).inc()

    async def _look(self) -> None:
        book = self._book
        places = {self._tp(where): where for where in self._offsets}
        try:
            for tp, found in (await positions(self.app, places)).items():
                book.looked(places[tp], *found)
        except (IllegalStateError, KafkaError, TimeoutError) as error:
            log.info("%s: positions not known: %r", self.stage.name, error)
        if not self.caught_up and book is self._book and self._assigned.is_set():
            self.caught_up = book.caught_up(self._offsets)

    def _tp(self, where: Position) -> TopicPartition:
        return TopicPartition(self._prefix + where[0], where[1])


def _replayed(context: EventContext, mark: ReplayMark) -> EventContext:
    return dataclasses.replace(context, lane=Lane.REPLAY, run_id=mark.run_id)
