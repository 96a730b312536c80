"""recognize -> extracted: the text of pages that are pictures, a few pages at a time, in slots that step back.

A long scan is many short events: each reads a few pages, stores the canon so far and asks for the rest, behind whatever
came meanwhile. So no event takes longer than its pages, nothing is done twice after a kill, and a short document waits
for a few pages of a long one at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from streams.blobs import canon_key
from streams.blobs.claim import payload_bytes
from streams.errors import SlotFailure
from streams.extract.progress import Told
from streams.records import (
    Detection,
    Extracted,
    Lane,
    RecognitionRequest,
)
from streams.runtime.jobs import (
    ExtractAnswer,
    RecogniseArgs,
    RecognitionPlan,
    RecognitionPlanArgs,
    ScreenArgs,
    path_text,
)
from streams.runtime.messages import Incoming, Outgoing, Outputs
from streams.runtime.meter import Meter
from streams.runtime.metrics import Metrics
from streams.runtime.progress import Progress
from streams.runtime.slots import Slots
from streams.runtime.stages import Stage, Workshop, failure_of, screen_args, with_attempts
from streams.settings import RecognitionSettings, Settings

log = logging.getLogger(__name__)

SWITCHED_OFF = "Recognition is switched off (recognition.enabled)."
NO_PAGE = "Recognition found no page that it could read."

PAGES_AT_ONCE = 2
"""Pages of one event: with their time limits they stay below the time after which a worker counts as stuck."""


LOOK_AHEAD = 512
"""Events that wait in one worker: among these, those of the lane live go first."""

BACKLOG = frozenset({Lane.REPLAY, Lane.BACKFILL})


def pages_of(request: RecognitionRequest) -> int:
    """Pages that a request is about, as the screen has counted them where the request does not say it."""
    if request.pages or request.judged is None:
        return max(1, len(request.pages))
    judged = request.judged
    count = judged.summary.page_count if judged.summary is not None else None
    return max(1, round((count or 1) * judged.screening.scores.get("image_only_pages", 0.0)))


def job_s(settings: Settings, pages: int) -> float:
    """Seconds that a job for so many pages may take: theirs, and as much as for one for putting the canon together."""
    return settings.recognition.page_timeout_s * (pages + 1)


def longest_s(settings: Settings) -> float:
    """Seconds that an event may take: its pages together, and one of them alone where that failed."""
    return job_s(settings, PAGES_AT_ONCE) + job_s(settings, 1)


class Recogniser:
    """Reads a few pages in a slot; without a log."""

    def __init__(self, settings: Settings, slots: Slots) -> None:
        self._settings = settings
        self._slots = slots

    async def plan(
        self, body: bytes, detection: Detection, pages: list[int], languages: list[str], *, most: int | None = None
    ) -> RecognitionPlan:
        """Which pages come next, and the fingerprint of the canon that they will give.

        Args:
            pages: those that are asked for; empty: all that need it.
            most: pages at once; None: as many as one event has.

        Raises:
            SlotFailure, DocumentError: as the slots.
        """
        args = RecognitionPlanArgs(
            detection=detection,
            pages=pages,
            languages=languages,
            max_pixels=self._settings.recognition.max_pixels,
            most=most or PAGES_AT_ONCE,
        )
        plan, _, _ = await with_attempts(
            self._settings.worker.max_attempts,
            lambda: self._slots.run("recognition_plan", args, RecognitionPlan, body=body),
        )
        return plan

    async def read(
        self,
        path: Path,
        body: bytes,
        detection: Detection,
        pages: list[int],
        languages: list[str],
        screen: ScreenArgs,
        told: Told,
    ) -> tuple[ExtractAnswer, bytes]:
        """The canon with these pages read, and what the screen says of it.

        Raises:
            SlotFailure, DocumentError: as the slots.
        """
        args = RecogniseArgs(
            path=path_text(path),
            detection=detection,
            pages=pages,
            languages=languages,
            max_pixels=self._settings.recognition.max_pixels,
            page_timeout_s=self._settings.recognition.page_timeout_s,
            screen=screen,
        )
        timeout_s = job_s(self._settings, len(pages))
        answer, out, _ = await with_attempts(
            self._settings.worker.max_attempts,
            lambda: self._slots.run("recognise", args, ExtractAnswer, body=body, timeout_s=timeout_s, told=told),
        )
        return answer, out

    async def whole(
        self, path: Path, body: bytes, detection: Detection, languages: list[str], screen: ScreenArgs
    ) -> tuple[ExtractAnswer, bytes] | str:
        """All pages that need it, for work without a log; or why nothing can be read.

        Raises:
            SlotFailure, DocumentError: as the slots.
        """
        pages: list[int] = []
        most: int | None = None
        done: ExtractAnswer | None = None
        progress = Progress("Recognition")
        while True:
            plan = await self.plan(body, detection, pages, languages, most=most)
            if plan.unavailable is not None or not plan.pages:
                return plan.unavailable or NO_PAGE
            try:
                told = progress.of(path.name, after=len(plan.rest))
                done, body = await self.read(path, body, detection, plan.pages, languages, screen, told)
            except SlotFailure:
                if len(plan.pages) > 1:
                    pages, most = [*plan.pages, *plan.rest], 1
                    continue
                if not plan.rest and done is None:
                    raise
            most = None
            if not plan.rest:
                assert done is not None
                return done, body
            pages = plan.rest


class RecognizeStage(Stage):
    """recognize -> extracted, by way of recognize for documents of many pages."""

    name = "recognize"
    ahead = LOOK_AHEAD

    def __init__(self, workshop: Workshop, slots: Slots, metrics: Metrics | None = None) -> None:
        super().__init__(workshop)
        self._recogniser = Recogniser(workshop.settings, slots)
        self._metrics = metrics or Metrics()
        self._progress = Progress("Recognition")  # of all events, for each is about a few pages only
        limits = workshop.settings.recognition
        self._meter = Meter(limits.slots, limits.pages_per_minute, paused=limits.paused)

    def limit(self, settings: RecognitionSettings) -> None:
        """Other limits from now on."""
        self._meter.set(settings.pages_per_minute, paused=settings.paused)

    @property
    def resting(self) -> bool:
        """See `streams.runtime.messages.Queueing`."""
        return self._meter.resting

    @contextlib.asynccontextmanager
    async def turn(self, event: Incoming) -> AsyncIterator[None]:
        """See `streams.runtime.messages.Queueing`: what somebody waits for goes before what is done once more."""
        request = event.record
        assert isinstance(request, RecognitionRequest)
        if not self._settings.recognition.enabled:  # nothing is read, so nothing is metered
            yield
            return
        lane = event.context.lane
        waiting = self._metrics.recognition_waiting.labels(lane.value)
        pages = pages_of(request)
        async with contextlib.AsyncExitStack() as stack:
            waiting.inc(pages)
            try:
                await stack.enter_async_context(self._meter.turn(int(lane in BACKLOG)))
            finally:
                waiting.dec(pages)
            yield

    async def handle(self, event: Incoming) -> Outputs:
        request = event.record
        assert isinstance(request, RecognitionRequest)
        assert request.payload is not None
        if not self._settings.recognition.enabled:
            return self._gave_nothing(event, request, SWITCHED_OFF)
        started, clock = datetime.now(UTC), time.perf_counter()
        body = await asyncio.to_thread(payload_bytes, request.payload, self._store)
        plan = await self._recogniser.plan(body, request.detection, request.pages, request.languages)
        if plan.unavailable is not None or not plan.pages:
            return self._gave_nothing(event, request, plan.unavailable or NO_PAGE)
        content = request.document.content
        screen = screen_args(self._settings, content.size, request.document.manifest.source)

        async def read(path: Path) -> tuple[ExtractAnswer, bytes]:
            self._meter.spend(len(plan.pages))
            told = self._moving(self._progress.of(event.key, after=len(plan.rest)))
            found = await self._recogniser.read(
                path, body, request.detection, plan.pages, request.languages, screen, told
            )
            self._metrics.recognised.labels(event.context.lane.value).inc(len(plan.pages))
            return found

        while True:
            try:
                key = canon_key(content.sha256, plan.fingerprint)
                payload, attempt, judged = await self._canon(key, content, read)
                break
            except SlotFailure as error:
                log.warning("recognize: pages %s of %s could not be read: %s", plan.pages, event.key, error)
                if len(plan.pages) > 1:
                    # One of them is at fault: the first is read alone now, the others come with the next event.
                    pages = [*plan.pages, *plan.rest]
                    plan = await self._recogniser.plan(body, request.detection, pages, request.languages, most=1)
                elif plan.rest:
                    # This page stays as it was, and the screen will name it; the others are not lost with it.
                    more = msgspec.structs.replace(request, pages=plan.rest)
                    return Outputs(first=[Outgoing("recognize", event.key, more)])
                else:
                    raise
        timing = self._timing(started, time.perf_counter() - clock - (judged.seconds if judged else 0.0))
        timings = [*request.timings, timing]
        if plan.rest:
            more = msgspec.structs.replace(
                request, payload=payload, attempt=attempt, judged=judged, pages=plan.rest, timings=timings
            )
            return Outputs(first=[Outgoing("recognize", event.key, more)])
        record = Extracted(
            document=request.document,
            detection=request.detection,
            payload=payload,
            attempt=attempt,
            timings=timings,
            children=request.children,
            judged=judged,
            earlier=request.earlier,
        )
        return Outputs(first=[Outgoing("extracted", event.key, record)])

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        request = event.record
        assert isinstance(request, RecognitionRequest)
        failure = failure_of(error)
        return self._gave_nothing(event, request, f"Recognition failed: {failure.code}: {failure.message}")

    def _gave_nothing(self, event: Incoming, request: RecognitionRequest, why: str) -> Outputs:
        """The canon as it was goes on, and its judgement with the reason."""
        record = Extracted(
            document=request.document,
            detection=request.detection,
            payload=request.payload,
            attempt=request.attempt,
            timings=request.timings,
            children=request.children,
            judged=request.judged,
            unrecognised=why,
            earlier=[tried for tried in request.earlier if tried.attempt != request.attempt],
        )
        return Outputs(first=[Outgoing("extracted", event.key, record)])
