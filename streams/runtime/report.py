"""What a worker tells about itself: its gauges, whether it lives, and whether it is ready."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from streams.records.events import PROBLEMS
from streams.runtime.endpoints import Reply
from streams.runtime.held import Held
from streams.runtime.metrics import Metrics, build_info, gauge

if TYPE_CHECKING:
    from streams.runtime.stage import StageApp


class WorkerGauges(Collector):
    """What is true at the moment of asking, read from the stages: no series outlives its partition.

    `take` reads them, in the loop that the stages live in; `collect` gives what was taken, in any thread.
    """

    def __init__(
        self, apps: Iterable[StageApp], stores: Mapping[str, Sized], held: Held | None, metrics: Metrics
    ) -> None:
        self._apps = list(apps)
        self._stores = stores
        self._held = held
        self._metrics = metrics
        self._taken: list[GaugeMetricFamily] = []

    def take(self) -> None:
        """Reads the stages."""
        self._taken = [
            build_info(),
            *self._lags(),
            *self._stages(),
            *(self._quarantine(self._held) if self._held is not None else ()),
        ]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._taken

    def _lags(self) -> Iterable[GaugeMetricFamily]:
        labels = ["group", "topic", "partition"]
        records = gauge("canonry_group_lag_records", "Records of our partitions that are not done yet.", labels)
        seconds = gauge(
            "canonry_group_lag_seconds",
            "0 when caught up, else the age of the oldest record that is not done, by the log's timestamp.",
            labels,
        )
        now = time.time()
        for app in self._apps:
            for (topic, partition), lag in sorted(app.lags().items()):
                where = [app.group, topic, str(partition)]
                records.add_metric(where, lag.records)
                seconds.add_metric(where, lag.seconds(now))
        yield from (records, seconds)

    def _stages(self) -> Iterable[GaugeMetricFamily]:
        in_flight = gauge("canonry_events_in_flight", "Events that are accepted and not finished.", ["stage"])
        ready = gauge(
            "canonry_stage_ready", "1 when the stage joined, restored its state and caught up once.", ["stage"]
        )
        states = gauge("canonry_restored_states", "States in memory, as restored and changed since.", ["stage"])
        restore = gauge("canonry_restore_duration_seconds", "How long the last restoration of states took.", ["stage"])
        for app in self._apps:
            in_flight.add_metric([app.stage.name], app.active)
            ready.add_metric([app.stage.name], app.not_ready is None)
            if app.stage.name in self._stores:
                states.add_metric([app.stage.name], len(self._stores[app.stage.name]))
                if app.restored_in_s is not None:
                    restore.add_metric([app.stage.name], app.restored_in_s)
        yield from (in_flight, ready, states, restore)

    def _quarantine(self, held: Held) -> Iterable[GaugeMetricFamily]:
        count = gauge(
            "canonry_held_documents",
            "Documents in quarantine, of our partitions, each under the first of its problems.",
            ["source", "code"],
        )
        age = gauge("canonry_held_oldest_age_seconds", "How long the longest of them is held; 0: none is.", ["source"])
        counts: Counter[tuple[str, str]] = Counter()
        for (name, code), number in held.counts().items():
            counts[self._metrics.source(name), code if code in PROBLEMS else "other"] += number
        oldest: dict[str, float] = {}
        now = time.time()
        for name, (_, since) in held.oldest().items():
            source = self._metrics.source(name)
            oldest[source] = max(oldest.get(source, 0.0), now - since if since is not None else 0.0)
        for labels, number in counts.items():
            count.add_metric(labels, number)
        for source, seconds in oldest.items():
            age.add_metric([source], seconds)
        yield from (count, age)


def paths(
    metrics: Metrics, gauges: WorkerGauges, stuck: Callable[[], str | None], not_ready: Callable[[], list[str]]
) -> dict[str, Callable[[], Awaitable[Reply]]]:
    """What each path answers.

    Args:
        gauges: registered with `metrics`.
        stuck: why the worker will end itself, if it will.
        not_ready: why it is not ready; empty when it is.
    """

    # Thousands of lines take a tenth of a second or more. Not in the pool that stores use: they may all be waiting.
    renderer = ThreadPoolExecutor(1, thread_name_prefix="metrics")

    async def show() -> Reply:
        gauges.take()
        text = await asyncio.get_running_loop().run_in_executor(renderer, generate_latest, metrics.registry)
        return Reply(200, text, CONTENT_TYPE_PLAIN_0_0_4)

    async def live() -> Reply:
        why = stuck()
        return Reply(200, "alive\n") if why is None else Reply(503, f"{why}\n")

    async def ready() -> Reply:
        why = not_ready()
        return Reply(503, "".join(f"{reason}\n" for reason in why)) if why else Reply(200, "ready\n")

    return {"/metrics": show, "/livez": live, "/readyz": ready}
