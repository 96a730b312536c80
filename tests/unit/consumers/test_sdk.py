"""When deletes may have been missed, and what a claim check is worth."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from streams.blobs import open_store
from streams.consumers.reader import NOTE_REBUILD, GroupStarts, PartitionFacts
from streams.consumers.received import Partition, read_message
from streams.consumers.sdk import _missed_deletes, load_body
from streams.errors import BlobCorrupt, BlobNotFound, BlobStoreUnavailable, UndecodableMessage
from streams.log import backoff
from streams.records import CanonBody, Payload
from streams.records.codec import decode, encode
from streams.settings import BlobSettings, Settings
from tests.unit.consumers.make import NOW, body, canon, paragraph, payload

PLACE = Partition("canon-ready", 0)
DAY = 24 * 3600.0


def facts(
    committed: int | None, note: str, *, begin: int = 0, end: int = 10, kept: float | None = DAY
) -> PartitionFacts:
    return PartitionFacts(PLACE, begin, end, committed, note, kept)


@pytest.mark.parametrize(
    ("fact", "missed"),
    [
        (facts(5, (NOW - timedelta(hours=23)).isoformat()), False),
        (facts(5, (NOW - timedelta(hours=25)).isoformat()), True),
        (facts(10, (NOW - timedelta(days=99)).isoformat()), False),  # nothing was written since
        (facts(None, ""), False),
        (facts(5, ""), False),  # set by hand
        (facts(5, NOTE_REBUILD), True),
        (facts(11, NOW.isoformat()), True),  # another log
        (facts(5, NOW.isoformat(), begin=6), True),
        (facts(5, (NOW - timedelta(days=99)).isoformat(), kept=None), False),  # no tombstones there
    ],
)
def test_missed_deletes(fact: PartitionFacts, missed: bool) -> None:
    assert _missed_deletes(fact, NOW) is missed


@pytest.mark.parametrize(("committed", "begin", "place"), [(None, 3, 3), (5, 3, 5), (2, 3, 3), (11, 3, 3), (10, 0, 10)])
async def test_the_group_s_commit_is_where_reading_starts(committed: int | None, begin: int, place: int) -> None:
    assert await GroupStarts().begin("log", [facts(committed, "", begin=begin)]) == {PLACE: place}


class Store:
    """A store that is away for the first calls; else the directory store."""

    def __init__(self, path: Path, away: int = 0) -> None:
        self.real = open_store(Settings(data_dir=path, blobs=BlobSettings(fsync=False)))
        self.away = away

    def get(self, key: str, *, sha256: str) -> bytes:
        if self.away:
            self.away -= 1
            raise BlobStoreUnavailable("Away.")
        return self.real.get(key, sha256=sha256)


TEXT = body(paragraph("words"))


async def test_a_body_is_waited_for_while_the_store_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_S", 0.001)
    monkeypatch.setattr(backoff, "MOST_S", 0.001)
    store: Any = Store(tmp_path, away=3)
    claim = payload(TEXT, inline=False)
    store.real.put(claim.key, encode(TEXT))
    assert await load_body(claim, store) == TEXT
    assert store.away == 0


async def test_a_body_that_is_not_what_was_announced_is_an_error(tmp_path: Path) -> None:
    store: Any = Store(tmp_path)
    claim = payload(TEXT)
    assert await load_body(claim, store) == TEXT
    with pytest.raises(BlobCorrupt):
        await load_body(replace(claim, sha256="0" * 64), store)
    with pytest.raises(BlobNotFound):
        await load_body(replace(claim, inline=None), store)
    other = Payload(key=claim.key, sha256=claim.sha256, size=1)
    store.real.put(claim.key, b"not this")
    with pytest.raises(BlobCorrupt):
        await load_body(other, store)


class Message:
    """What aiokafka gives, as far as it is read."""

    topic = "p-canon-ready"
    partition = 0
    offset = 0
    timestamp = -1
    headers = ()

    def __init__(self, key: bytes | None, value: bytes | None) -> None:
        self.key = key
        self.value = value


def test_a_message_is_read_with_its_key() -> None:
    record = canon("a")
    received = read_message(Message(b"s:a", encode(record)), "p-")
    assert (received.topic, received.key, received.record) == ("canon-ready", "s:a", record)
    assert read_message(Message(b"s:a", None), "p-").record is None


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, encode(canon("a")), "no key"),
        (b"", None, "no key"),
        (b"\xff", None, "no UTF-8"),
        (b"s:b", encode(canon("a")), "'s:a' stands under the key 's:b'"),
        (b'"s:a"', encode(canon("a")), "stands under the key"),
        (b"s:a", b"null", "4 bytes without"),
        (b"s:a", encode(TEXT), "A CanonBody where a Canon"),
    ],
)
def test_a_message_that_is_no_record_says_why(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(UndecodableMessage, match=reason):
        read_message(Message(key, value), "p-")


def test_the_body_travels_as_avro() -> None:
    assert decode(CanonBody, canon("a", "x").payload.inline or b"").blocks[0].text == "x"
