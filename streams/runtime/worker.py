"""A worker process: hosts the Faust apps of its stages, watches them, and ends within a bound."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, NoReturn

from streams.blobs import open_store
from streams.errors import UsageError
from streams.ledger.provenance import ProvenanceStage
from streams.ledger.stage import LedgerStage
from streams.ledger.store import RecordStore, StateStore
from streams.log.groups import client_id
from streams.log.topics import require_topics
from streams.records import Provenance
from streams.runtime.endpoints import Endpoints
from streams.runtime.held import Held, follow
from streams.runtime.lag import peek_for_ever
from streams.runtime.messages import Handler
from streams.runtime.meter import follow_settings
from streams.runtime.metrics import Metrics
from streams.runtime.producer import Producer
from streams.runtime.recognition import RecognizeStage, longest_s
from streams.runtime.report import WorkerGauges, paths
from streams.runtime.screening import ScreenStage
from streams.runtime.slots import Slots
from streams.runtime.stage import StageApp
from streams.runtime.stages import DecodeStage, ExtractStage, Workshop
from streams.settings import Settings
from streams.topology import STAGES

log = logging.getLogger(__name__)

WATCH_INTERVAL_S = 0.5
LAST_RESORT_S = 3.0
RECOGNITION_NICENESS = 5
"""Recognition steps back: a page takes seconds, and nobody waits for it as for a short text. Not so far that a backlog
of other work would keep it from ending in its time."""

EXIT_STUCK = 70  # EX_SOFTWARE of sysexits.h


class Worker:
    """The stages of this process and what they share.

    Args:
        of_run: the process that started this one ends it, too.
    """

    def __init__(self, settings: Settings, broker: str, stages: Iterable[str], *, of_run: bool = False) -> None:
        names = list(stages) or list(STAGES)
        unknown = [name for name in names if name not in STAGES]
        if unknown:
            raise UsageError(f"No stage is called {', '.join(unknown)}. There are: {', '.join(STAGES)}.")
        self._settings = settings
        self._broker = broker
        self._producer = Producer(settings, broker)
        self._metrics = metrics = Metrics(settings.sources)
        self._stores: dict[str, RecordStore[Any]] = {}
        self._held = Held() if "ledger" in names else None
        self._metered: RecognizeStage | None = None
        self._stopping = False
        self.slots = Slots(settings.worker, on_failure=self._slot_failed)
        behind = settings.worker.model_copy(update={"slots": settings.recognition.slots})
        self.recognition_slots = Slots(behind, on_failure=self._slot_failed, niceness=RECOGNITION_NICENESS)
        workshop = Workshop(settings, open_store(settings), self.slots)
        self._uses_slots = any(name not in ("ledger", "provenance") for name in names)
        name_in_groups = client_id(of_run=of_run)
        self.apps = [
            StageApp(
                STAGES[name], self._handler(name, workshop), settings, broker, self._producer, name_in_groups, metrics
            )
            for name in names
        ]
        gauges = WorkerGauges(self.apps, self._stores, self._held, metrics)
        metrics.registry.register(gauges)
        address = settings.worker.metrics_address
        self.endpoints = Endpoints(address, paths(metrics, gauges, self.stuck, self.not_ready)) if address else None

    def _slot_failed(self, problem: str) -> None:
        self._metrics.slot_failures.labels(problem).inc()

    def _handler(self, name: str, workshop: Workshop) -> Handler:
        if name == "ledger":
            states = self._stores[name] = StateStore(self._settings, self._broker)
            return LedgerStage(self._settings, workshop.store, states, self._metrics)
        if name == "provenance":
            contents = self._stores[name] = RecordStore(self._settings, self._broker, "contents", Provenance)
            return ProvenanceStage(contents)
        handlers: dict[str, Callable[[Workshop], Handler]] = {
            "decode": partial(DecodeStage, broker=self._broker),
            "extract": ExtractStage,
            "screen": ScreenStage,
            "recognize": partial(RecognizeStage, slots=self.recognition_slots, metrics=self._metrics),
        }
        handler = handlers[name](workshop)
        if isinstance(handler, RecognizeStage):
            self._metered = handler
        return handler

    async def run(self, stop: asyncio.Event) -> int:
        """Works until `stop` is set or an app can't go on. The exit status: 0, or 70 when it ended itself."""
        await require_topics(self._settings, self._broker)
        if self.endpoints is not None:
            await self.endpoints.start()
        await self._producer.start()
        beside = [asyncio.create_task(each) for each in self._beside()]
        try:
            return await self._work(stop)
        finally:
            for task in beside:
                task.cancel()

    def _beside(self) -> list[Coroutine[Any, Any, None]]:
        """What looks at the work and never holds it up."""
        found = [peek_for_ever(self._settings, self._broker, self.apps)]
        if self._metered is not None:
            found.append(follow_settings(self._metered.limit))
        if self.endpoints is not None and self._held is not None:
            ledger = next(app for app in self.apps if app.stage.name == "ledger")
            found.append(
                follow(
                    self._settings, self._broker, self._held, lambda: {partition for _, partition in ledger.assigned}
                )
            )
        return found

    async def _work(self, stop: asyncio.Event) -> int:
        # The slots load their models while the groups are joined; what comes before they are done waits for them.
        warm = [self.slots.warm_up()] if self._uses_slots else []
        starting = asyncio.gather(*warm, *(app.start() for app in self.apps))
        stopping = asyncio.create_task(stop.wait())
        either: set[asyncio.Future[Any]] = {starting, stopping}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        status = 0
        if not starting.done():
            log.warning("Stopped before every stage had started.")
            starting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            starting.cancel()
        elif (error := starting.exception()) is not None:
            # From here on there are Faust's threads: the process must end by the status, or it would hang on them.
            log.error("A stage could not start. The process ends and should be restarted.", exc_info=error)
            status = EXIT_STUCK
        else:
            log.info("Working: %s.", ", ".join(app.stage.name for app in self.apps))
            status = await self._watch(stop)
        await self._shut_down(status)
        return status

    async def _watch(self, stop: asyncio.Event) -> int:
        while not stop.is_set():
            for app in self.apps:
                if app.resting or not (app.active or app.lag()):
                    app.progressed_at = time.monotonic()  # without work there is nothing to be late with
            if (why := self.stuck()) is not None:
                log.critical("%s The process ends and should be restarted.", why)
                return EXIT_STUCK
            try:
                async with asyncio.timeout(WATCH_INTERVAL_S):
                    await stop.wait()
            except TimeoutError:
                continue
        return 0

    def stuck(self) -> str | None:
        """Why this process can't go on, if it can't."""
        for app in self.apps:
            if app.failure is not None:
                return f"{app.stage.name} can't go on: {app.failure!r}."
            idle = app.idle_s
            if idle > self._patience_s(app) and (app.active or app.lag()):
                return (
                    f"{app.stage.name} has work ({app.active} running, {app.lag()} behind) and made no progress for "
                    f"{idle:.0f} s."
                )
        return None

    def _patience_s(self, app: StageApp) -> float:
        """How long a stage may have work and make no progress; no shorter than one of its events may take."""
        longest = longest_s(self._settings) + WATCH_INTERVAL_S if app.stage.name == "recognize" else 0.0
        return max(self._settings.worker.watchdog_s, longest)

    def not_ready(self) -> list[str]:
        """Why not every stage has joined, restored its state and caught up once; empty when all have."""
        if self._stopping:
            return ["The worker is stopping."]
        return [f"{app.stage.name} {app.not_ready}." for app in self.apps if app.not_ready is not None]

    async def _shut_down(self, status: int) -> None:
        self._stopping = True
        bound = self._settings.worker.shutdown_s
        # Faust waits for its consumer's thread without a bound and without the loop, so a clock of its own stands by.
        last_resort = threading.Timer(bound + LAST_RESORT_S, os._exit, (status,))
        last_resort.daemon = True
        last_resort.start()
        try:
            async with asyncio.timeout(bound):
                ends = await asyncio.gather(*(app.stop(bound * 0.6) for app in self.apps), return_exceptions=True)
                for app, end in zip(self.apps, ends, strict=True):
                    if isinstance(end, Exception):
                        log.warning("%s did not stop in order: %r", app.stage.name, end)
                await self._producer.stop()
        except TimeoutError:
            log.warning("Shutdown took longer than %.0f s; what was not finished comes again.", bound)
        finally:
            if self.endpoints is not None:
                await self.endpoints.stop()
            await asyncio.gather(self.slots.stop(), self.recognition_slots.stop())
            last_resort.cancel()


def run_worker(settings: Settings, broker: str, stages: Iterable[str], *, until_stdin_closes: bool = False) -> NoReturn:
    """Runs a worker in this process until SIGTERM or SIGINT, then ends the process with its exit status.

    Args:
        until_stdin_closes: also stop when standard input does: the parent that holds its other end is gone.

    Raises:
        CanonryError: it could not start.
    """

    async def main() -> int:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, stop.set)
        if until_stdin_closes:
            loop.add_reader(sys.stdin.fileno(), lambda: _read_or_stop(loop, stop))
        worker = Worker(settings, broker, stages, of_run=until_stdin_closes)
        try:
            return await worker.run(stop)
        finally:
            await asyncio.gather(worker.slots.stop(), worker.recognition_slots.stop())

    status = asyncio.Runner().run(main())
    sys.stdout.flush()
    sys.stderr.flush()
    # Faust's consumer threads are no daemons: an app that did not stop in time must not keep the process alive.
    os._exit(status)


def _read_or_stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        stop.set()
