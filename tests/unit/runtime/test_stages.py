"""The stages with real slots: what one passes on to the next."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from streams.blobs import open_store, original_key
from streams.errors import BlobNotFound, DocumentError
from streams.records import Child, Content, Decoded, Extracted, Failure, Lane, Outcome, Screened
from streams.records.headers import EventContext
from streams.runtime.messages import Incoming
from streams.runtime.screening import ScreenStage
from streams.runtime.slots import Slots
from streams.runtime.stages import ExtractStage, Workshop
from streams.settings import ScreenSettings, Settings
from tests.unit.ledger.make import result, up

CHILDREN = [Child(source_id="share:doc!a.txt", path="a.txt")]
TEXT = b"# Heading\n\nA text of some length that is **set** in a language for people and for machines.\n"


T = TypeVar("T")


def incoming(topic: str, record: Any) -> Incoming:
    return Incoming(
        topic=topic, partition=0, offset=0, timestamp=0.0, key="share:doc", record=record, context=EventContext.new()
    )


async def through(tmp_path: Path, decoded: Decoded) -> tuple[Extracted, Screened]:
    """What extract and screen make of it."""
    settings = Settings(data_dir=tmp_path)
    slots = Slots(settings.worker)
    workshop = Workshop(settings, open_store(settings), slots)
    try:
        (out,) = (await ExtractStage(workshop).handle(incoming("decoded", decoded))).first
        assert isinstance(out.record, Extracted)
        (end,) = (await ScreenStage(workshop).handle(incoming("extracted", out.record))).first
        assert isinstance(end.record, Screened)
        return out.record, end.record
    finally:
        await slots.stop()


async def test_children_and_the_named_tool_go_the_whole_way(tmp_path: Path) -> None:
    arrived = up(0, "x")
    stored = open_store(Settings(data_dir=tmp_path))
    path = tmp_path / "doc"
    path.write_bytes(TEXT)
    with path.open("rb") as file:
        put = stored.put_file(file)
    document = msgspec.structs.replace(result(arrived).document, content=Content(sha256=put.sha256, size=put.size))
    detection = result(arrived).detection
    for tool in (None, "markdown"):
        decoded = Decoded(document=document, detection=detection, tool=tool, children=CHILDREN)
        extracted, screened = await through(tmp_path, decoded)
        assert screened.attempt is not None
        assert screened.attempt.extractor == (tool or "text")
        assert extracted.children == screened.children == CHILDREN


async def test_children_of_what_could_not_be_extracted_are_not_lost(tmp_path: Path) -> None:
    failure = Failure(code="encrypted", message="It needs a password.")
    decoded = Decoded(document=result(up(0, "x")).document, failure=failure, children=CHILDREN)
    extracted, screened = await through(tmp_path, decoded)
    assert screened.screening.outcome is Outcome.QUARANTINED
    assert extracted.children == screened.children == CHILDREN


async def test_an_extractor_that_gave_no_canon_is_named_with_its_version(tmp_path: Path) -> None:
    """So that its next version can be told from the one that failed."""
    settings = Settings(data_dir=tmp_path)
    stage = ExtractStage(Workshop(settings, open_store(settings), Slots(settings.worker)))
    arrived = up(0, "x")
    error = DocumentError("parser_error", "It can't be opened.")
    for tool, name in ((None, "text"), ("markdown", "markdown")):
        decoded = Decoded(document=result(arrived).document, detection=result(arrived).detection, tool=tool)
        (out,) = stage.give_up(incoming("decoded", decoded), error).first
        assert isinstance(out.record, Extracted)
        assert out.record.payload is None
        assert out.record.attempt is not None
        assert (out.record.attempt.extractor, bool(out.record.attempt.fingerprint)) == (name, True)
    (out,) = stage.give_up(incoming("decoded", Decoded(document=result(arrived).document)), error).first
    assert isinstance(out.record, Extracted)
    assert out.record.attempt is None


class ErasedMeanwhile(Slots):
    """Slots during whose work the content is erased."""

    def __init__(self, settings: Settings, content: str) -> None:
        super().__init__(settings.worker)
        self._store = open_store(settings)
        self._content = content

    async def run(self, job: str, args: Any, result: type[T], **options: Any) -> tuple[T, bytes, float]:
        answer = await super().run(job, args, result, **options)
        self._store.erase(self._content)
        return answer


async def test_a_text_that_is_erased_while_it_is_extracted_does_not_come_back(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    store = open_store(settings)
    put = store.put_file(io.BytesIO(TEXT))
    made = result(up(0, "x"))
    document = msgspec.structs.replace(made.document, content=Content(sha256=put.sha256, size=put.size))
    event = incoming("decoded", Decoded(document=document, detection=made.detection))
    slots, late = Slots(settings.worker), ErasedMeanwhile(settings, put.sha256)
    try:
        stage = ExtractStage(Workshop(settings, store, late))
        with pytest.raises(BlobNotFound) as gone:
            await stage.handle(event)
        (out,) = stage.give_up(event, gone.value).first
        assert isinstance(out.record, Extracted)
        assert (out.record.payload, out.record.failure and out.record.failure.code) == (None, "corrupt")
        assert store.erase(put.sha256) == []

        # A worker that dies between writing and looking leaves a canon, which the redelivered event finds.
        store.put_file(io.BytesIO(TEXT))
        stage = ExtractStage(Workshop(settings, store, slots))
        await stage.handle(event)
        assert store.delete(original_key(put.sha256))
        with pytest.raises(BlobNotFound):
            await stage.handle(event)
        assert store.erase(put.sha256) == []
    finally:
        await slots.stop()
        await late.stop()


class Counting(Slots):
    """Slots that say which jobs they did."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.worker)
        self.jobs: list[str] = []

    async def run(self, job: str, args: Any, result: type[T], **options: Any) -> tuple[T, bytes, float]:
        self.jobs.append(job)
        return await super().run(job, args, result, **options)


async def test_a_fresh_canon_is_judged_where_it_was_made_and_anew_when_that_does_not_count(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    store = open_store(settings)
    put = store.put_file(io.BytesIO(TEXT))
    made = result(up(0, "x"))
    document = msgspec.structs.replace(made.document, content=Content(sha256=put.sha256, size=put.size))
    slots = Counting(settings)
    workshop = Workshop(settings, store, slots)
    try:
        await slots.warm_up()  # a first document takes long, and what takes long is judged apart
        (out,) = (
            await ExtractStage(workshop).handle(
                incoming("decoded", Decoded(document=document, detection=made.detection))
            )
        ).first
        extracted = out.record
        assert isinstance(extracted, Extracted)
        assert extracted.judged is not None

        async def judged(record: Extracted, lane: Lane = Lane.LIVE, settings: Settings = settings) -> Screened:
            event = dataclasses.replace(incoming("extracted", record), context=EventContext.new(lane))
            (end,) = (await ScreenStage(Workshop(settings, store, slots)).handle(event)).first
            assert isinstance(end.record, Screened)
            return end.record

        at_once = await judged(extracted)
        assert slots.jobs == ["extract"]
        assert at_once.screening == extracted.judged.screening
        assert [timing.stage for timing in at_once.timings] == ["extract", "screen"]
        replayed = await judged(extracted, Lane.REPLAY)
        assert slots.jobs == ["extract", "screen"]
        assert (replayed.screening, replayed.summary) == (at_once.screening, at_once.summary)
        policy = tmp_path / "policy.toml"
        policy.write_text('version = "2"\n[defaults]\nmin_characters = 51\n')
        other = Settings(data_dir=tmp_path, screen=ScreenSettings(policy_file=policy))
        assert (await judged(extracted, settings=other)).screening.policy != at_once.screening.policy
        assert slots.jobs == ["extract", "screen", "screen"]
        # A canon that was there already has nobody's judgement with it.
        (out,) = (
            await ExtractStage(workshop).handle(
                incoming("decoded", Decoded(document=document, detection=made.detection))
            )
        ).first
        assert isinstance(out.record, Extracted)
        assert (out.record.judged, out.record.payload) == (None, extracted.payload)
    finally:
        await slots.stop()
