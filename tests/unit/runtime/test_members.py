"""Decode with real slots over containers: what it tells of members, once, and what it says when it can't look."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from streams.blobs import open_store, original_key
from streams.connectors.base import source_id
from streams.decode.unpack.model import MAX_NAME
from streams.errors import BlobNotFound
from streams.records import ChangeEvent, Child, Content, Decoded, Operation, Sequence
from streams.records.headers import EventContext
from streams.runtime.members import MAX_ID, container_of, member_id
from streams.runtime.messages import Incoming, Outputs
from streams.runtime.slots import Slots
from streams.runtime.stages import DecodeStage, Workshop
from streams.settings import LimitSettings, Settings
from tests.unit.ledger.make import up

ABOVE = Sequence(epoch=0, offset=3)


class Decode:
    """The stage over a store of its own."""

    def __init__(self, folder: Path, **limits: int) -> None:
        self.settings = Settings(data_dir=folder, limits=LimitSettings(**limits))
        self.slots = Slots(self.settings.worker)
        self.store = open_store(self.settings)
        self.stage = DecodeStage(Workshop(self.settings, self.store, self.slots))

    async def __call__(self, data: bytes, name: str, *, offset: int = 7, depth: int = 0) -> Outputs:
        put = self.store.put_file(io.BytesIO(data))
        event = up(offset, "x", source_id="share:box", path=f"in/{name}").event
        manifest = msgspec.structs.replace(event.manifest, file_name=name, parent_order=[ABOVE] * depth)
        change = msgspec.structs.replace(event, content=Content(sha256=put.sha256, size=put.size), manifest=manifest)
        return await self.stage.handle(
            Incoming(
                topic="raw-arrived",
                partition=0,
                offset=offset,
                timestamp=0.0,
                key="share:box",
                record=change,
                context=EventContext.new(),
            )
        )


@pytest.fixture
async def decode(tmp_path: Path) -> AsyncIterator[Decode]:
    decode = Decode(tmp_path, max_container_depth=3)
    yield decode
    await decode.slots.stop()


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


def result(outputs: Outputs) -> Decoded:
    (out,) = outputs.then or outputs.first
    assert out.topic == "decoded"
    assert isinstance(out.record, Decoded)
    return out.record


def told(outputs: Outputs) -> list[ChangeEvent]:
    found = []
    for out in outputs.first if outputs.then else []:
        assert isinstance(out.record, ChangeEvent)
        assert (out.topic, out.key, out.partition_by_key) == ("raw-arrived", out.record.source_id, True)
        found.append(out.record)
    return found


async def test_members_are_documents_of_their_own_in_the_place_of_their_container(decode: Decode) -> None:
    outputs = await decode(zipped(("a/one.txt", b"first text"), ("two.txt", b"second text")), "box.zip", depth=1)
    decoded = result(outputs)
    assert decoded.failure is not None
    assert (decoded.failure.code, decoded.failure.skip) == ("container", True)
    assert decoded.children == [
        Child(source_id="share:box!/a/one.txt", path="a/one.txt"),
        Child(source_id="share:box!/two.txt", path="two.txt"),
    ]
    one, two = told(outputs)
    assert one.operation is two.operation is Operation.UPSERT
    assert one.source_id == "share:box!/a/one.txt"
    assert one.manifest.path == "in/box.zip/a/one.txt"
    assert one.manifest.file_name == "one.txt"
    assert one.manifest.parent_source_id == "share:box"
    assert one.manifest.parent_order == [ABOVE, decoded.document.sequence]
    assert (one.manifest.child_index, two.manifest.child_index) == (0, 1)
    assert one.manifest.readers == decoded.document.manifest.readers
    assert one.manifest.ingested_at == decoded.document.manifest.ingested_at
    assert two.content is not None
    assert decode.store.get(original_key(two.content.sha256), sha256=two.content.sha256) == b"second text"
    assert list((decode.settings.data_dir / "scratch").iterdir()) == []


async def test_what_was_told_is_told_once(decode: Decode) -> None:
    data = zipped(("one.txt", b"first text"))
    first = await decode(data, "box.zip")
    again = await decode(data, "box.zip")
    assert len(told(first)) == len(told(again)) == 1  # nothing was confirmed yet
    assert first.settle is not None
    first.settle()
    for marking in list(decode.stage._marking):
        await marking
    third = await decode(data, "box.zip")
    assert told(third) == []
    assert result(third).children == result(first).children
    assert len(told(await decode(data, "box.zip", offset=8))) == 1  # another event of it
    content = hashlib.sha256(data).hexdigest()
    assert any(key.startswith(f"members/{content}/") for key in decode.store.erase(content))
    with pytest.raises(BlobNotFound):
        decode.store.get(original_key(content), sha256=content)


async def test_a_container_in_too_many_containers_stays_shut(decode: Decode) -> None:
    outputs = await decode(zipped(("one.txt", b"first text")), "box.zip", depth=3)
    decoded = result(outputs)
    assert decoded.failure is not None
    assert (decoded.failure.code, decoded.failure.skip) == ("bomb", False)
    assert "3 containers" in decoded.failure.message
    assert told(outputs) == []
    assert decoded.children == []


async def test_a_bomb_has_no_members(tmp_path: Path) -> None:
    decode = Decode(tmp_path, max_container_members=3)
    try:
        outputs = await decode(zipped(*((f"{number}.txt", b"text") for number in range(4))), "box.zip")
    finally:
        await decode.slots.stop()
    decoded = result(outputs)
    assert decoded.failure is not None
    assert decoded.failure.code == "bomb"
    assert "0.txt" in decoded.failure.message
    assert told(outputs) == []
    assert decoded.children == []


async def test_one_damaged_member_costs_only_itself(decode: Decode) -> None:
    text = b"some text that is long enough to be found in the bytes of the archive. " * 40
    data = bytearray(zipped(("good.txt", text), ("bad.txt", text[::-1])))
    at = data.rindex(b"bad.txt", 0, data.rindex(b"PK\x01\x02")) + 20
    data[at : at + 8] = b"\xff" * 8
    outputs = await decode(bytes(data), "box.zip")
    decoded = result(outputs)
    good, bad = told(outputs)
    assert good.operation is Operation.UPSERT
    assert bad.operation is Operation.FAILED
    assert bad.failure is not None
    assert bad.failure.code == "corrupt"
    assert decoded.detection is not None
    assert "members_unreadable" in decoded.detection.warnings
    assert decoded.failure is not None
    assert decoded.failure.code == "container"


async def test_an_archive_of_which_nothing_can_be_read_is_held_itself(decode: Decode) -> None:
    text = b"some text that is long enough to be found in the bytes of the archive. " * 40
    data = bytearray(zipped(("bad.txt", text)))
    at = data.index(b"bad.txt") + 20
    data[at : at + 8] = b"\xff" * 8
    outputs = await decode(bytes(data), "box.zip")
    decoded = result(outputs)
    assert decoded.failure is not None
    assert (decoded.failure.code, decoded.failure.skip) == ("corrupt", False)
    assert told(outputs) == []
    assert decoded.children == []


async def test_a_document_without_members_leaves_no_trace_of_the_search(decode: Decode) -> None:
    outputs = await decode(b"A text of its own.\n", "note.txt")
    assert result(outputs).children == []
    assert not (decode.settings.data_dir / "scratch").exists()


def test_ids_are_bounded_and_differ() -> None:
    names = [f"{'x' * MAX_NAME}{number}" for number in range(2)]
    ids = {member_id("share:box", name) for name in names}
    assert len(ids) == 2
    assert all(len(source_id) <= MAX_ID and source_id.startswith("share:box!/") for source_id in ids)
    assert member_id("share:box", "a.txt") == "share:box!/a.txt"


def test_no_name_takes_the_place_of_a_member() -> None:
    nested = member_id(member_id("share:box", "b.zip"), "c.txt")
    assert nested == "share:box!/b.zip!/c.txt"
    named = [
        member_id("share:box", key) for key in ("b.zip!/c.txt", "b.zip%21/c.txt", "b.zip%2521/c.txt", "b.zip!c.txt")
    ]
    assert len({nested, *named}) == 5
    assert source_id("share", "box!/b.zip!/c.txt") != nested
    assert container_of(nested) == "share:box!/b.zip"
    assert container_of("share:box!b.zip") is None
