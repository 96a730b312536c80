"""The stages with real slots: what one passes on to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from streams.blobs import open_store
from streams.records import Child, Content, Decoded, Extracted, Failure, Outcome, Screened
from streams.records.headers import EventContext
from streams.runtime.messages import Incoming
from streams.runtime.slots import Slots
from streams.runtime.stages import ExtractStage, ScreenStage, Workshop
from streams.settings import Settings
from tests.unit.ledger.make import result, up

CHILDREN = [Child(source_id="share:doc!a.txt", path="a.txt")]
TEXT = b"# Heading\n\nA text of some length that is **set** in a language for people and for machines.\n"


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
