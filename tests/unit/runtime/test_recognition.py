"""The stage recognize with real slots and the real engine: a few pages at a time, once, and what stands without it."""

from __future__ import annotations

import asyncio
import dataclasses
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pymupdf
import pytest

from streams.blobs import open_store, original_key
from streams.blobs.claim import payload_bytes
from streams.errors import BlobNotFound, SlotFailure
from streams.extract.recognise.engine import EngineUnavailable
from streams.extract.tools.tesseract import Tesseract
from streams.records import Content, Decoded, Detection, Extracted, Method, Outcome, RecognitionRequest, Screened
from streams.records.headers import EventContext
from streams.runtime import progress, recognition
from streams.runtime.jobs import ScreenArgs
from streams.runtime.messages import Outputs
from streams.runtime.recognition import RecognizeStage
from streams.runtime.screening import ScreenStage
from streams.runtime.slots import Slots
from streams.runtime.stages import ExtractStage, Workshop
from streams.settings import RecognitionSettings, Settings
from tests.unit.ledger.make import result, up
from tests.unit.runtime.test_stages import incoming

T = TypeVar("T")
PDF = Detection(media_type="application/pdf", detected_by="signature:pdf", rules="1")


def engine_missing() -> bool:
    try:
        return not Tesseract().languages()
    except EngineUnavailable:
        return True


pytestmark = pytest.mark.skipif(engine_missing(), reason="tesseract is not installed")


def scan(*pages: str) -> bytes:
    """A PDF whose pages are pictures of text."""
    out = pymupdf.open()
    for text in pages:
        typed = pymupdf.open()
        page = typed.new_page(width=420, height=300)
        page.insert_textbox(pymupdf.Rect(30, 30, 390, 270), text, fontsize=16)
        picture = page.get_pixmap(dpi=200)
        out.new_page(width=420, height=300).insert_image(pymupdf.Rect(0, 0, 420, 300), pixmap=picture)
    return bytes(out.tobytes())


def sentence(about: str) -> str:
    return f"The {about} of the harbour keeps a book in which the names of all ships are written down every evening."


class Stages:
    """Extract, screen and recognize over a store of their own."""

    def __init__(self, folder: Path, **fields: Any) -> None:
        self.settings = Settings(data_dir=folder, recognition=RecognitionSettings(slots=1, languages=["en"], **fields))
        self.store = open_store(self.settings)
        self.slots = Slots(self.settings.worker)
        workshop = Workshop(self.settings, self.store, self.slots)
        self.extract, self.screen = ExtractStage(workshop), ScreenStage(workshop)
        self.recognize = RecognizeStage(workshop, self.slots)

    def decoded(self, data: bytes) -> Decoded:
        put = self.store.put_file(io.BytesIO(data))
        document = result(up(0, "x")).document
        return Decoded(
            document=msgspec.structs.replace(document, content=Content(sha256=put.sha256, size=put.size)),
            detection=PDF,
        )


def only(outputs: Outputs) -> tuple[str, Any]:
    (out,) = outputs.first
    return out.topic, out.record


@pytest.fixture
async def stages(tmp_path: Path) -> AsyncIterator[Stages]:
    stages = Stages(tmp_path)
    yield stages
    await stages.slots.stop()


async def requested(stages: Stages, data: bytes) -> RecognitionRequest:
    _, extracted = only(await stages.extract.handle(incoming("decoded", stages.decoded(data))))
    topic, request = only(await stages.screen.handle(incoming("extracted", extracted)))
    assert topic == "recognize"
    assert isinstance(request, RecognitionRequest)
    return request


async def test_a_scan_goes_by_way_of_recognition_and_is_ready(stages: Stages) -> None:
    request = await requested(stages, scan(sentence("master")))
    assert request.languages == ["en"]
    topic, extracted = only(await stages.recognize.handle(incoming("recognize", request)))
    assert topic == "extracted"
    assert isinstance(extracted, Extracted)
    assert extracted.attempt is not None
    assert extracted.attempt.method is Method.OCR
    before, end = (await stages.screen.handle(incoming("extracted", extracted))).first
    assert before.topic == end.topic == "screened"
    assert isinstance(before.record, Screened)
    assert before.record.attempt is not None
    assert before.record.attempt.method is Method.NATIVE
    assert "needs_recognition" in before.record.screening.problems
    screened = end.record
    assert isinstance(screened, Screened)
    assert screened.screening.outcome is Outcome.READY, screened.screening
    assert screened.summary is not None
    assert screened.summary.method is Method.OCR
    assert [timing.stage for timing in screened.timings] == ["extract", "recognize", "screen"]
    # Once more, the pages are not read again.
    topic, again = only(await stages.recognize.handle(incoming("recognize", request)))
    assert isinstance(again, Extracted)
    assert again.payload == extracted.payload
    assert again.judged is None


async def test_many_pages_are_many_events(stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "PAGES_AT_ONCE", 1)
    request = await requested(stages, scan(sentence("master"), sentence("pilot")))
    topic, more = only(await stages.recognize.handle(incoming("recognize", request)))
    assert topic == "recognize"
    assert isinstance(more, RecognitionRequest)
    assert more.pages == [2]
    topic, extracted = only(await stages.recognize.handle(incoming("recognize", more)))
    assert topic == "extracted"
    assert isinstance(extracted, Extracted)
    assert extracted.payload is not None
    data = stages.store.get(extracted.payload.key, sha256=extracted.payload.sha256)
    assert b"master" in data
    assert b"pilot" in data


async def test_a_long_scan_tells_how_far_it_is(
    stages: Stages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recognition, "PAGES_AT_ONCE", 1)
    caplog.set_level("INFO", logger=progress.__name__)
    request = await requested(stages, scan(sentence("master"), sentence("pilot")))
    await stages.recognize.handle(incoming("recognize", request))
    assert not caplog.messages  # quickly done
    monkeypatch.setattr(progress, "TELL_EVERY_S", 0.0)
    await stages.slots.stop()  # a new slot tells its first step at once
    request = await requested(stages, scan(sentence("captain"), sentence("keeper")))
    await stages.slots.stop()
    await stages.recognize.handle(incoming("recognize", request))
    assert caplog.messages == [f"{doing} of share:doc: pages to go: 2" for doing in ("Extraction", "Recognition")]
    assert stages.extract.told_at > 0
    assert stages.recognize.told_at > 0


async def test_what_recognition_could_not_do_is_held_with_the_reason(stages: Stages) -> None:
    request = await requested(stages, scan(sentence("master")))
    failure = SlotFailure("timeout", "It took longer than 60 seconds and was stopped.")
    topic, extracted = only(stages.recognize.give_up(incoming("recognize", request), failure))
    assert topic == "extracted"
    topic, screened = only(await stages.screen.handle(incoming("extracted", extracted)))
    assert topic == "screened"
    assert isinstance(screened, Screened)
    assert screened.screening.outcome is Outcome.QUARANTINED
    assert "needs_recognition" in screened.screening.problems
    assert "took longer than 60 seconds" in (screened.screening.error or "")
    assert screened.payload == request.payload


async def test_without_an_engine_a_scan_is_held_and_says_why(
    stages: Stages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = await requested(stages, scan(sentence("master")))
    monkeypatch.setenv("PATH", str(tmp_path))  # the slots of now find no program
    await stages.slots.stop()
    _, extracted = only(await stages.recognize.handle(incoming("recognize", request)))
    assert isinstance(extracted, Extracted)
    assert "tesseract" in (extracted.unrecognised or "")


async def test_switched_off_nothing_is_asked_for(tmp_path: Path) -> None:
    stages = Stages(tmp_path, enabled=False)
    try:
        _, extracted = only(await stages.extract.handle(incoming("decoded", stages.decoded(scan(sentence("master"))))))
        topic, screened = only(await stages.screen.handle(incoming("extracted", extracted)))
    finally:
        await stages.slots.stop()
    assert topic == "screened"
    assert screened.screening.problems[:1] == ["needs_recognition"]


async def test_switched_off_what_waits_is_given_back_unread_even_while_paused(stages: Stages, tmp_path: Path) -> None:
    request = await requested(stages, scan(sentence("master")))
    off = Stages(tmp_path, enabled=False, paused=True)
    event = incoming("recognize", request)
    try:
        async with asyncio.timeout(5), off.recognize.turn(event):
            topic, extracted = only(await off.recognize.handle(event))
        assert (topic, extracted.payload, extracted.judged) == ("extracted", request.payload, request.judged)
        topic, screened = only(await off.screen.handle(incoming("extracted", extracted)))
    finally:
        await off.slots.stop()
    assert topic == "screened"
    assert screened.screening.outcome is Outcome.QUARANTINED
    assert (screened.screening.error or "").endswith(recognition.SWITCHED_OFF)


async def test_a_replay_judges_anew_and_asks_again(stages: Stages) -> None:
    from streams.records import Lane

    _, extracted = only(await stages.extract.handle(incoming("decoded", stages.decoded(scan(sentence("master"))))))
    event = dataclasses.replace(incoming("extracted", extracted), context=EventContext.new(Lane.REPLAY))
    assert only(await stages.screen.handle(event))[0] == "recognize"


class Dying(Slots):
    """Slots whose first process for each kind of job dies."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.worker)
        self.died: list[str] = []

    async def run(self, job: str, args: Any, result: type[T], **options: Any) -> tuple[T, bytes, float]:
        if job not in self.died:
            self.died.append(job)
            raise SlotFailure("crashed", "Its process ended with SIGKILL while working on it.")
        return await super().run(job, args, result, **options)


class Deadly(Slots):
    """Slots whose processes die of every page."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.worker)

    async def run(self, job: str, args: Any, result: type[T], **options: Any) -> tuple[T, bytes, float]:
        if job == "recognise":
            raise SlotFailure("crashed", "Its process ended with SIGKILL while working on it.")
        return await super().run(job, args, result, **options)


async def test_a_process_that_dies_costs_one_attempt(stages: Stages) -> None:
    request = await requested(stages, scan(sentence("master")))
    dying = Dying(stages.settings)
    workshop = Workshop(stages.settings, stages.store, stages.slots)
    try:
        topic, extracted = only(await RecognizeStage(workshop, dying).handle(incoming("recognize", request)))
    finally:
        await dying.stop()
    assert dying.died == ["recognition_plan", "recognise"]
    assert (topic, extracted.attempt.method) == ("extracted", Method.OCR)


async def test_pages_whose_process_dies_do_not_take_the_others_with_them(
    stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognition, "PAGES_AT_ONCE", 1)
    request = await requested(stages, scan(sentence("master"), sentence("pilot")))
    deadly = Deadly(stages.settings)
    workshop = Workshop(stages.settings, stages.store, stages.slots)
    try:
        topic, more = only(await RecognizeStage(workshop, deadly).handle(incoming("recognize", request)))
    finally:
        await deadly.stop()
    assert (topic, more.pages, more.payload) == ("recognize", [2], request.payload)
    topic, extracted = only(await stages.recognize.handle(incoming("recognize", more)))
    assert topic == "extracted"
    data = stages.store.get(extracted.payload.key, sha256=extracted.payload.sha256)
    assert b"pilot" in data
    assert b"master" not in data
    outputs = await stages.screen.handle(incoming("extracted", extracted))
    for screened in (out.record for out in outputs.first):  # each attempt is told
        assert isinstance(screened, Screened)
        assert screened.screening.outcome is Outcome.QUARANTINED
        assert "needs_recognition" in screened.screening.problems


class DeadlyPage(Slots):
    """Slots whose processes die of one page, with whatever is read beside it."""

    def __init__(self, settings: Settings, page: int) -> None:
        super().__init__(settings.worker)
        self._page = page

    async def run(self, job: str, args: Any, result: type[T], **options: Any) -> tuple[T, bytes, float]:
        if job == "recognise" and self._page in args.pages:
            raise SlotFailure("crashed", "Its process ended with SIGKILL while working on it.")
        return await super().run(job, args, result, **options)


@pytest.mark.parametrize(("page", "read", "lost"), [(1, b"pilot", b"master"), (2, b"master", b"pilot")])
async def test_a_deadly_page_costs_itself_alone(stages: Stages, page: int, read: bytes, lost: bytes) -> None:
    request = await requested(stages, scan(sentence("master"), sentence("pilot")))
    deadly = DeadlyPage(stages.settings, page)
    stage = RecognizeStage(Workshop(stages.settings, stages.store, stages.slots), deadly)
    try:
        topic, more = only(await stage.handle(incoming("recognize", request)))
        assert (topic, more.pages) == ("recognize", [2])
        try:
            topic, extracted = only(await stage.handle(incoming("recognize", more)))
        except SlotFailure as error:
            topic, extracted = only(stage.give_up(incoming("recognize", more), error))
    finally:
        await deadly.stop()
    assert topic == "extracted"
    data = stages.store.get(extracted.payload.key, sha256=extracted.payload.sha256)
    assert read in data
    assert lost not in data


async def test_two_processes_make_the_same_bytes(stages: Stages) -> None:
    request = await requested(stages, scan(sentence("master")))
    assert request.payload is not None
    body = payload_bytes(request.payload, stages.store)
    content = request.document.content
    made = []
    for _ in range(2):
        slots = Slots(stages.settings.worker)
        try:
            with stages.store.local_copy(original_key(content.sha256), sha256=content.sha256) as path:
                found = await recognition.Recogniser(stages.settings, slots).whole(
                    path, body, request.detection, ["en"], ScreenArgs(size=content.size)
                )
        finally:
            await slots.stop()
        assert not isinstance(found, str)
        made.append(found[1])
    assert made[0] == made[1]
    assert b"master" in made[0]


async def test_a_scan_that_was_erased_meanwhile_does_not_come_back(stages: Stages) -> None:
    request = await requested(stages, scan(sentence("master")))
    _, extracted = only(await stages.recognize.handle(incoming("recognize", request)))
    assert stages.store.delete(original_key(request.document.content.sha256))
    with pytest.raises(BlobNotFound):
        await stages.recognize.handle(incoming("recognize", request))
    assert not stages.store.exists(extracted.payload.key)


async def test_live_pages_go_first_and_pages_are_counted(stages: Stages) -> None:
    from streams.records import Lane

    request = await requested(stages, scan(sentence("master"), sentence("pilot")))
    done: list[str] = []

    async def work(name: str, lane: Lane, seconds: float = 0.0) -> None:
        event = incoming("recognize", request)
        event = dataclasses.replace(event, context=dataclasses.replace(event.context, lane=lane))
        async with stages.recognize.turn(event):
            done.append(name)
            await asyncio.sleep(seconds)

    metrics = stages.recognize._metrics.registry
    async with asyncio.TaskGroup() as group:
        group.create_task(work("first", Lane.BACKFILL, 0.1))
        await asyncio.sleep(0.02)
        group.create_task(work("replayed", Lane.REPLAY))
        group.create_task(work("live", Lane.LIVE))
        await asyncio.sleep(0.02)
        assert metrics.get_sample_value("canonry_recognition_waiting_pages", {"lane": "live"}) == 2
        assert not stages.recognize.resting  # the first is at work
    assert done == ["first", "live", "replayed"]
    assert metrics.get_sample_value("canonry_recognition_waiting_pages", {"lane": "live"}) == 0
    async with stages.recognize.turn(incoming("recognize", request)):
        await stages.recognize.handle(incoming("recognize", request))
    assert metrics.get_sample_value("canonry_recognition_pages_total", {"lane": "live"}) == 2


async def test_a_pause_is_no_hang_and_ends_when_the_settings_say_so(tmp_path: Path) -> None:
    stages = Stages(tmp_path, paused=True)
    try:
        request = await requested(stages, scan(sentence("master")))

        async def work() -> None:
            async with stages.recognize.turn(incoming("recognize", request)):
                pass

        task = asyncio.create_task(work())
        await asyncio.sleep(0.02)
        assert stages.recognize.resting
        stages.recognize.limit(RecognitionSettings(paused=False))
        await task
        assert not stages.recognize.resting
    finally:
        await stages.slots.stop()
