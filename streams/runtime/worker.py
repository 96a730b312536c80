"""A worker process: hosts the Faust apps of its stages, watches them, and ends within a bound."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from streams.blobs import open_store
from streams.errors import UsageError
from streams.ledger.provenance import ProvenanceStage
from streams.ledger.stage import LedgerStage
from streams.ledger.store import RecordStore, StateStore
from streams.log.groups import client_id
from streams.log.topics import require_topics
from streams.records import Provenance
from streams.runtime.messages import Handler
from streams.runtime.producer import Producer
from streams.runtime.slots import Slots
from streams.runtime.stage import StageApp
from streams.runtime.stages import DecodeStage, ExtractStage, ScreenStage, Workshop
from streams.settings import Settings
from streams.topology import STAGES

log = logging.getLogger(__name__)

WATCH_INTERVAL_S = 0.5
LAST_RESORT_S = 3.0
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
        self.slots = Slots(settings.worker)
        workshop = Workshop(settings, open_store(settings), self.slots)
        self._uses_slots = any(name not in ("ledger", "provenance") for name in names)
        name_in_groups = client_id(of_run=of_run)
        self.apps = [
            StageApp(STAGES[name], self._handler(name, workshop), settings, broker, self._producer, name_in_groups)
            for name in names
        ]

    def _handler(self, name: str, workshop: Workshop) -> Handler:
        if name == "ledger":
            return LedgerStage(self._settings, workshop.store, StateStore(self._settings, self._broker))
        if name == "provenance":
            return ProvenanceStage(RecordStore(self._settings, self._broker, "contents", Provenance))
        handlers: dict[str, Callable[[Workshop], Handler]] = {
            "decode": DecodeStage,
            "extract": ExtractStage,
            "screen": ScreenStage,
        }
        return handlers[name](workshop)

    async def run(self, stop: asyncio.Event) -> int:
        """Works until `stop` is set or an app can't go on. The exit status: 0, or 70 when it ended itself."""
        await require_topics(self._settings, self._broker)
        await self._producer.start()
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
                if app.failure is not None:
                    log.critical(
                        "%s can't go on: %r. The process ends and should be restarted.", app.stage.name, app.failure
                    )
                    return EXIT_STUCK
                if not (app.active or app.lag()):
                    app.progressed_at = time.monotonic()  # without work there is nothing to be late with
                idle = time.monotonic() - app.progressed_at
                if idle > self._settings.worker.watchdog_s:
                    log.critical(
                        "%s has work (%d running, %d behind) and made no progress for %.0f s. The process ends and "
                        "should be restarted.",
                        app.stage.name,
                        app.active,
                        app.lag(),
                        idle,
                    )
                    return EXIT_STUCK
            try:
                async with asyncio.timeout(WATCH_INTERVAL_S):
                    await stop.wait()
            except TimeoutError:
                continue
        return 0

    async def _shut_down(self, status: int) -> None:
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
            await self.slots.stop()
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
            await worker.slots.stop()

    status = asyncio.Runner().run(main())
    sys.stdout.flush()
    sys.stderr.flush()
    # Faust's consumer threads are no daemons: an app that did not stop in time must not keep the process alive.
    os._exit(status)


def _read_or_stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        loop.remove_reader(sys.stdin.fileno())
        stop.set()
