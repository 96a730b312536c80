"""extracted -> screened: scores, the verdict, and whose turn it is where the verdict is no end (R-SCR-3)."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import msgspec

from streams.blobs.claim import payload_bytes
from streams.extract.registry import named, plan
from streams.records import (
    NEEDS_RECOGNITION,
    TEXT_IN_PICTURES,
    Attempt,
    CanonSummary,
    Decoded,
    Detection,
    Extracted,
    Judged,
    Lane,
    Outcome,
    Payload,
    RecognitionRequest,
    Screened,
    Screening,
    Tried,
)
from streams.runtime.jobs import ScreenAnswer, failed
from streams.runtime.languages import languages_of
from streams.runtime.messages import Incoming, Outgoing, Outputs
from streams.runtime.stages import (
    Stage,
    Workshop,
    failure_of,
    screen_args,
    unknown_format,
    with_attempts,
)
from streams.screen.policy import Policy, load_policy
from streams.settings import Settings


def recognition_wanted(settings: Settings, screening: Screening, attempt: Attempt | None) -> bool:
    """Whether a canon goes to recognition before it is judged for good."""
    fresh = attempt is not None and named(attempt.extractor) is not None  # else it was recognised already
    pictures = NEEDS_RECOGNITION in screening.problems or TEXT_IN_PICTURES in screening.warnings
    return settings.recognition.enabled and fresh and pictures


def unrecognised(judged: Judged, why: str) -> Judged:
    """What the screen said, with the reason why recognition did not help."""
    screening = judged.screening
    if screening.outcome is not Outcome.QUARANTINED:
        return judged
    error = f"{screening.error}; {why}" if screening.error else why
    return msgspec.structs.replace(judged, screening=msgspec.structs.replace(screening, error=error))


def next_tool(policy: Policy, detection: Detection | None, tried: list[Tried]) -> str | None:
    """The extractor whose turn it is after these attempts, by the policy; None when it ends with them."""
    if detection is None or tried[-1].screening.outcome is not Outcome.QUARANTINED:
        return None
    first = plan(detection)
    names = [each.tool or (first.name if first else "") for each in tried]
    problems = {code for each in tried for code in each.screening.problems}
    if NEEDS_RECOGNITION in problems:  # there is nothing that another extractor could find
        return None
    return policy.next_tool(media_type=detection.media_type, problems=problems, tried=names)


def merit(screening: Screening, summary: CanonSummary | None, number: int) -> tuple[bool, bool, int, float, int]:
    """How good an attempt is beside others at the same document: of two that satisfy the later one is better."""
    held = screening.outcome is Outcome.QUARANTINED
    rate = screening.scores.get("dictionary_rate", 0.0) if held else 0.0
    return (not held, summary is not None and summary.characters > 0, -len(screening.problems), rate, number)


class ScreenStage(Stage):
    """extracted -> screened: scores and the verdict; or once more to extract or recognize, where another may do better.

    Attempts that did not satisfy travel along; in the end all of them are told, and the best one last.

    A fresh canon comes with what the slot that made it said of it. That counts under the policy of now; a replay, which
    may follow a mended screen, judges anew.
    """

    name = "screen"

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._policy = load_policy(workshop.settings)

    async def handle(self, event: Incoming) -> Outputs:
        extracted = event.record
        assert isinstance(extracted, Extracted)
        started = datetime.now(UTC)
        if extracted.payload is None:
            failure = extracted.failure or unknown_format()
            return self._next(event, extracted, self._tried(extracted, failed(failure), None, started, 0.0))
        judged = extracted.judged
        if judged is None or judged.screening.policy != self._policy.id or event.context.lane is Lane.REPLAY:
            judged = await self._judge(extracted, extracted.payload)
        if extracted.unrecognised is not None:
            judged = unrecognised(judged, extracted.unrecognised)
        elif recognition_wanted(self._settings, judged.screening, extracted.attempt):
            return self._recognize(event, extracted, judged, started)
        tried = self._tried(extracted, judged.screening, judged.summary, started, judged.seconds)
        return self._next(event, extracted, tried)

    def _tried(
        self,
        extracted: Extracted,
        screening: Screening,
        summary: CanonSummary | None,
        started: datetime,
        seconds: float,
    ) -> Tried:
        return Tried(
            tool=extracted.tool,
            payload=extracted.payload,
            attempt=extracted.attempt,
            summary=summary,
            screening=screening,
            # The time of a judgement says which of two is the newer one, so it is never missing.
            timings=[*extracted.timings, self._timing(started, seconds)],
        )

    def _next(self, event: Incoming, extracted: Extracted, tried: Tried) -> Outputs:
        """Another extractor's turn, where the policy names one and nobody has decided on this one; or the end."""
        all_tried = [*extracted.earlier, tried]
        tool = next_tool(self._policy, extracted.detection, all_tried)
        decided = extracted.tool is not None and not extracted.earlier
        if tool is None or decided:
            return self._end(event, extracted, all_tried)
        record = Decoded(
            document=extracted.document,
            detection=extracted.detection,
            tool=tool,
            timings=[timing for timing in extracted.timings if timing.stage == "decode"],
            children=extracted.children,
            earlier=all_tried,
        )
        return Outputs(first=[Outgoing("decoded", event.key, record)])

    def _end(self, event: Incoming, extracted: Extracted, tried: list[Tried]) -> Outputs:
        best = max(range(len(tried)), key=lambda number: merit(tried[number].screening, tried[number].summary, number))
        if best != len(tried) - 1:  # of those that are held, the newest counts
            chosen = tried.pop(best)
            now = self._timing(datetime.now(UTC), 0.0)
            tried.append(msgspec.structs.replace(chosen, timings=[*chosen.timings, now]))
        records = [
            Screened(
                document=extracted.document,
                detection=extracted.detection,
                payload=each.payload,
                attempt=each.attempt,
                summary=each.summary,
                screening=each.screening,
                timings=each.timings,
                children=extracted.children,
            )
            for each in tried
        ]
        return Outputs(first=[Outgoing("screened", event.key, record) for record in records])

    def _recognize(self, event: Incoming, extracted: Extracted, judged: Judged, started: datetime) -> Outputs:
        document, detection = extracted.document, extracted.detection
        tried = self._tried(extracted, judged.screening, judged.summary, started, judged.seconds)
        assert detection is not None  # without one there is no canon
        record = RecognitionRequest(
            document=document,
            detection=detection,
            payload=extracted.payload,
            languages=languages_of(self._settings, document.manifest),
            timings=extracted.timings,
            attempt=extracted.attempt,
            judged=judged,
            children=extracted.children,
            earlier=[*extracted.earlier, tried],
        )
        return Outputs(first=[Outgoing("recognize", event.key, record)])

    async def _judge(self, extracted: Extracted, payload: Payload) -> Judged:
        clock = time.perf_counter()
        if payload.inline is not None:
            body = payload_bytes(payload, self._store)  # only a hash: less than a thread costs
        else:
            body = await asyncio.to_thread(payload_bytes, payload, self._store)
        document = extracted.document
        args = screen_args(self._settings, document.content.size, document.manifest.source)
        answer, _, _ = await with_attempts(
            self._settings.worker.max_attempts,
            lambda: self._slots.run("screen", args, ScreenAnswer, body=body),
        )
        return Judged(screening=answer.screening, summary=answer.summary, seconds=time.perf_counter() - clock)

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        extracted = event.record
        assert isinstance(extracted, Extracted)
        tried = self._tried(extracted, failed(failure_of(error)), None, datetime.now(UTC), 0.0)
        return self._end(event, extracted, [*extracted.earlier, tried])
