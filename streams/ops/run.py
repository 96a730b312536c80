"""The whole way in one go: broker, topics, worker, connector, consumers; done when every document has its outcome."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.blobs import BlobStore, open_store
from streams.connectors.folder import FolderConnector
from streams.connectors.folder_look import Summary
from streams.consumers.catalog import Catalog
from streams.errors import BrokerUnavailable
from streams.log import broker as local_broker
from streams.log.client import cluster_id, end_offsets
from streams.log.freshness import Prober, Reads
from streams.log.publisher import Published, Publisher
from streams.log.topics import apply_topics
from streams.ops.consumers_task import ConsumersTask
from streams.ops.dead_letters import watch_dead_letters
from streams.ops.lag import behind, lag, our_groups
from streams.ops.tracker import Tracker
from streams.ops.worker_process import WorkerProcess
from streams.records import SourceState
from streams.settings import Settings, SourceSettings
from streams.topology import STAGES, group_id

CHECK_EVERY_S = 0.25
ASK_EVERY_S = 1.0
IDLE_S = 5.0
AWAY_S = 60.0
PLACES_S = 30.0
FEW = 2
CLUSTER = "cluster"


@dataclass
class Report:
    """What a run came to."""

    source: str
    summary: Summary = field(default_factory=Summary)
    settled: dict[str, int] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    worker_restarts: int = 0
    waiting: dict[str, int] = field(default_factory=dict)  # events of others, or of a replay, that stages have not done
    new_log: bool = False
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every document reached an outcome and none could be overlooked."""
        return not (self.lost or self.pending or self.summary.incomplete)


Progress = Callable[[str, int, int], None]  # phase, settled, expected


def source_name(folder: Path) -> str:
    """The name of a folder as that of a source: letters, digits, dashes."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    return name or "folder"


def with_source(settings: Settings, name: str) -> Settings:
    """The settings with this folder registered. Its documents have no readers until settings name some."""
    if name in settings.sources:
        return settings
    return settings.model_copy(update={"sources": {**settings.sources, name: SourceSettings(kind="folder")}})


class Run:
    """One `canonry run`."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        source: str,
        *,
        approve_deletes: bool = False,
        progress: Progress | None = None,
        on_state: Callable[[SourceState], None] | None = None,
        on_held: Callable[[list[str]], None] | None = None,
    ) -> None:
        self._folder = folder
        self._settings = with_source(settings, source)
        self._source = source
        self._approve_deletes = approve_deletes
        self._progress = progress or (lambda phase, done, total: None)
        self._on_state = on_state
        self._on_held = on_held or (lambda source_ids: None)
        self._tracker = Tracker()
        self._broker = ""
        self._want_worker: Callable[[], None] = lambda: None
        self._tells_of_groups = True  # Tansu closes the connection when it is asked about consumer groups
        self._away_since: float | None = None  # the broker does not answer any more
        self.report = Report(source)

    async def once(self) -> Report:
        """Scans, publishes what is new, and waits for its outcomes.

        Raises:
            CanonryError: something outside failed; what was confirmed so far is in the log and goes on next time.
        """
        return await self._run(None)

    async def watch(self, stop: asyncio.Event) -> Report:
        """The same, and then follows the folder until `stop` is set."""
        return await self._run(stop)

    async def _run(self, stop: asyncio.Event | None) -> Report:
        started = time.monotonic()
        settings = self._settings
        self._progress("starting the broker", 0, 0)
        broker = self._broker = await asyncio.to_thread(local_broker.ensure, settings)
        local = local_broker.status(settings)
        self._tells_of_groups = local is None or local.address != broker or local.kind != "tansu"
        await apply_topics(settings, broker)
        store = await asyncio.to_thread(open_store, settings)
        await asyncio.to_thread(store.check)
        try:
            async with (
                WorkerProcess(settings, broker) as worker,
                ConsumersTask(settings, broker, store, on_applied=self._applied) as consumers,
                Publisher(settings, broker, name=f"folder/{self._source}") as publisher,
            ):
                letters = await watch_dead_letters(
                    self._settings, broker, lambda letter: self._tracker.dead(letter.source_id, letter.why)
                )
                try:
                    await self._work(broker, store, worker, consumers, publisher, stop)
                finally:
                    letters.cancel()
                    await asyncio.gather(letters, return_exceptions=True)
                    self.report.worker_restarts = worker.restarts
        finally:
            self.report.settled = dict(self._tracker.settled)
            self.report.lost = dict(self._tracker.lost)
            self.report.pending = self._tracker.pending
            self.report.seconds = time.monotonic() - started
        return self.report

    async def _work(
        self,
        broker: str,
        store: BlobStore,
        worker: WorkerProcess,
        consumers: ConsumersTask,
        publisher: Publisher,
        stop: asyncio.Event | None,
    ) -> None:
        with FolderConnector(self._folder, self._source, self._settings) as connector:
            await self._forget_a_lost_log(connector, broker)
            await asyncio.to_thread(self._expect_unsettled, connector)
            if self._tracker.pending or connector.state.count() == 0:
                worker.want()
            self._want_worker = worker.want  # else it costs three seconds of CPU to find that nothing has changed
            if stop is None:
                scan = connector.scan(
                    store, publisher, approve_deletes=self._approve_deletes, on_published=self._published
                )
                self.report.summary = await self._alongside(scan, connector, worker, consumers)
                await self._until_settled(connector, worker, consumers)
                await self._caught_up(consumers)
                self.report.waiting = await self._waiting()
            else:
                await self._alongside(
                    connector.watch(
                        store,
                        publisher,
                        stop,
                        approve_deletes=self._approve_deletes,
                        on_published=self._published,
                        on_summary=self._add_summary,
                    ),
                    connector,
                    worker,
                    consumers,
                )
                await self._until_settled(connector, worker, consumers, give_up_s=5.0)
            self._remember(connector)

    def _expect_unsettled(self, connector: FolderConnector) -> None:
        """What an earlier run published and did not see the end of; some of it may have ended meanwhile."""
        events = [Published(*event) for event in connector.state.unsettled()]
        if not events:
            return
        for event in events:
            self._tracker.expect(*event)
        self._ask_catalog(events)

    def _ask_catalog(self, events: list[Published]) -> None:
        with Catalog(self._settings) as catalog:
            ended = catalog.settled_all(events)
        for event in events:
            if event.source_id in ended:
                self._tracker.ended(event, ended[event.source_id])

    async def _forget_a_lost_log(self, connector: FolderConnector, broker: str) -> None:
        """A connector remembers what it published; on another log (or a lost one) that says nothing."""
        current = await cluster_id(self._settings, broker)
        known = connector.state.fact(CLUSTER)
        if known is not None and known != current:
            self.report.new_log = True
            await asyncio.to_thread(connector.state.forget)
        connector.state.set_fact(CLUSTER, current)

    async def _alongside(
        self, work: Any, connector: FolderConnector, worker: WorkerProcess, consumers: ConsumersTask
    ) -> Any:
        """Does the connector's work while progress is shown and the other parts are watched."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=CHECK_EVERY_S)
                self._tick("reading the folder", connector, worker, consumers)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _until_settled(
        self,
        connector: FolderConnector,
        worker: WorkerProcess,
        consumers: ConsumersTask,
        give_up_s: float | None = None,
    ) -> None:
        """Until every event has ended.

        What this process's own consumer does not see is asked of the catalog: another run on the same data may be the
        one that reads some partitions. When no stage has anything left to do, what is still open will not end by
        itself: its event is in `dead-letter`, perhaps since before this run.
        """
        started = asked = looked = idle_since = time.monotonic()
        while self._tracker.pending:
            await self._tracker.wait_for_change(CHECK_EVERY_S)
            self._tick(self._waiting_for(), connector, worker, consumers)
            now = time.monotonic()
            if give_up_s is not None and now - started > give_up_s:
                return
            if now - asked >= ASK_EVERY_S:
                await asyncio.to_thread(self._ask_catalog, self._tracker.events)
                if now - self._tracker.moved_at < IDLE_S:
                    idle_since = now
                elif now - looked >= IDLE_S:  # a look costs as much as a document
                    if await self._stages_behind():
                        idle_since = now
                    elif now - idle_since >= IDLE_S:
                        self._tracker.members_ended()
                        for source_id in self._tracker.pending:
                            self._tracker.dead(source_id, "no stage works on it any more; look into dead-letter")
                    looked = time.monotonic()
                asked = time.monotonic()

    async def _stages_behind(self) -> bool:
        """Whether a stage, or the catalog that tells of outcomes, has anything left to do.

        Raises:
            BrokerUnavailable: nothing could be learnt, and nothing moved, for AWAY_S seconds.
        """
        if not self._tells_of_groups:
            return True  # what was lost stands in dead-letter, which is read anyway
        try:
            groups = await lag(self._settings, self._broker)
        except BrokerUnavailable:
            since = self._away_since = max(self._away_since or time.monotonic(), self._tracker.moved_at)
            if time.monotonic() - since > AWAY_S:
                raise
            return True  # it may come back; the worker and the consumers wait for it, too
        self._away_since = None
        ours = {reads.group for reads in our_groups(self._settings.kafka.topic_prefix)}
        return any(group.records for group in groups if group.group in ours)

    async def _waiting(self) -> dict[str, int]:
        """What is left to do for stages when this run's own documents have ended: a replay, say."""
        if not self._tells_of_groups:
            return {}
        stages = {group_id(name, self._settings.kafka.topic_prefix): name for name in STAGES}
        try:
            groups = await lag(self._settings, self._broker)
        except BrokerUnavailable:
            return {}  # a note, no reason to fail: every document of this run has ended
        return {stages[group.group]: group.records for group in groups if group.records and group.group in stages}

    def _waiting_for(self) -> str:
        pending = self._tracker.pending
        return f"waiting for {', '.join(sorted(pending))}" if 0 < len(pending) <= FEW else "working"

    async def _caught_up(self, consumers: ConsumersTask) -> None:
        """Until catalog and search index have what the ledger published, so that the next command finds it."""
        self._progress("indexing", sum(self._tracker.settled.values()), self._tracker.expected)
        if self._tracker.expected and self._tells_of_groups:
            await self._places_told()
        await consumers.caught_up()

    async def _places_told(self) -> None:
        """Until `contents` tells where each content lives. The ledger publishes a document's place before its outcome;
        what the stage does not manage in time is no document's outcome, and the next worker goes on with it."""
        reads = Reads(group_id("provenance", self._settings.kafka.topic_prefix), STAGES["provenance"].reads)
        ends = await end_offsets(self._settings, self._broker, reads.topics)
        until = time.monotonic() + PLACES_S
        async with Prober(self._settings, self._broker) as prober:
            while time.monotonic() < until:
                if not await behind(prober, reads, ends):
                    return
                await asyncio.sleep(CHECK_EVERY_S)

    def _tick(self, phase: str, connector: FolderConnector, worker: WorkerProcess, consumers: ConsumersTask) -> None:
        worker.check()
        consumers.check()
        self._remember(connector)
        self._progress(phase, sum(self._tracker.settled.values()) + len(self._tracker.lost), self._tracker.expected)

    def _remember(self, connector: FolderConnector) -> None:
        newly = self._tracker.take_newly_settled()
        if newly:
            with connector.state.transaction():
                for event in newly:
                    connector.state.settle(*event)
                    if event.source_id in self._tracker.lost:
                        # Its event had no effect, so the next scan publishes the document again.
                        connector.again(event.source_id)

    def _published(self, event: Any, published: Any) -> None:
        self._want_worker()
        self._tracker.expect(*published)

    def _add_summary(self, summary: Summary) -> None:
        total = self.report.summary
        for name in ("new", "changed", "moved", "deleted", "failed"):
            setattr(total, name, getattr(total, name) + getattr(summary, name))
        held = [source_id for source_id in summary.held_deletes if source_id not in total.held_deletes]
        if summary.whole:  # a look at some paths says nothing of the others
            total.unchanged, total.incomplete = summary.unchanged, summary.incomplete
            total.held_deletes = summary.held_deletes
        else:
            total.held_deletes = [*total.held_deletes, *held]
        if held:
            self._on_held(total.held_deletes)

    def _applied(self, states: list[SourceState]) -> None:
        self._tracker.applied(states)
        if self._on_state is not None:
            for state in states:
                self._on_state(state)
