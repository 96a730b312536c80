"""`canonry versions` and `canonry as-of` on a catalog that knows one eventful document."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from pathlib import Path

import msgspec
import pytest

from streams.cli.times import Moment
from streams.consumers.catalog import CatalogWriter
from streams.consumers.reader import PartitionFacts
from streams.consumers.received import Partition
from streams.records import Outcome
from streams.settings import Settings
from tests.unit.cli.conftest import Canonry
from tests.unit.consumers.make import batch, received
from tests.unit.ledger.make import ID, Ledger, acl, delete, result, sha, up

NAME = "Übersicht.txt"
PATH = f"in/{NAME}"


@pytest.fixture
def catalog(tmp_path: Path) -> None:
    """One document: A, a held B, new rights, deleted, and A again; event n came in minute n of 2026."""
    ledger = Ledger()
    first, second = up(1, "A", path=PATH, file_name=NAME), up(2, "B", path=PATH, file_name=NAME)
    for event in (
        first,
        result(first),
        second,
        result(second, Outcome.QUARANTINED),
        acl(3, ["board"]),
        delete(4),
        up(6, "A", path=PATH, file_name=NAME),
    ):
        ledger.take(event)
    _cataloged(tmp_path, ledger)


def _cataloged(tmp_path: Path, ledger: Ledger) -> None:
    writer = CatalogWriter(Settings(data_dir=tmp_path / "data"))
    facts = [PartitionFacts(Partition("versions", 0), 0, 1, None, "", None)]
    asyncio.run(writer.positions.begin("log", facts))
    writer.apply(batch(received("versions", 0, ID, ledger.state)))
    writer.close()


def test_what_was_ready_and_judged_again_is_not_called_pending(canonry: Canonry, tmp_path: Path) -> None:
    ledger = Ledger()
    one = up(1, "A", path=PATH, file_name=NAME)
    first = result(one)
    ledger.take(one, first)
    ready = ledger.version(1).ready_at
    assert ready is not None
    warned = msgspec.structs.replace(first.screening, warnings=["few_letters"])
    ledger.take(msgspec.structs.replace(result(one, work=500), screening=warned))
    _cataloged(tmp_path, ledger)
    found = json.loads(canonry("as-of", PATH, ready.isoformat(), "--json").out)
    assert (found["outcome"], found["visible"]) == ("unknown", None)
    told = canonry("as-of", PATH, ready.isoformat()).out
    assert "not known: it was judged anew since" in told
    assert "not known what they saw" in told


@pytest.mark.usefixtures("catalog")
def test_versions_are_told_with_validity_successor_outcome_and_canons(canonry: Canonry) -> None:
    found = json.loads(canonry("versions", PATH, "--json").out)
    one, two, three = found["versions"]
    assert (found["source_id"], found["status"]) == (ID, "live")
    assert [v["number"] for v in found["versions"]] == [1, 2, 3]
    assert [v["content_hash"] for v in found["versions"]] == [sha("A"), sha("B"), sha("A")]
    assert (one["valid_from"], one["valid_to"]) == ("2026-01-01T00:01:00+00:00", "2026-01-01T00:02:00+00:00")
    assert (two["valid_to"], three["valid_from"], three["valid_to"]) == (
        "2026-01-01T00:04:00+00:00",
        "2026-01-01T00:06:00+00:00",
        None,
    )
    assert [v["superseded_by"] for v in found["versions"]] == [2, None, None]
    assert [(v["outcome"], v["problems"]) for v in (one, two)] == [("ready", []), ("quarantined", ["truncated"])]
    assert [(canon["fingerprint"], canon["state"]) for canon in one["canons"]] == [("text-1", "current")]
    (deletion,) = found["deletions"]
    assert deletion == {"at": "2026-01-01T00:04:00+00:00", "actor": "connector", "reason": None}
    said = canonry("versions", PATH)
    assert said.status == 0
    assert "quarantined (truncated)" in said.out
    assert "Deleted 2026-01-01 00:04:00 UTC by connector" in said.out


@pytest.mark.usefixtures("catalog")
def test_both_normal_forms_of_a_name_and_the_id_give_the_same_answer(canonry: Canonry) -> None:
    forms = [unicodedata.normalize(form, PATH) for form in ("NFC", "NFD")]
    assert forms[0] != forms[1]
    answers = {canonry("versions", name, "--json").out for name in (*forms, ID, NAME)}
    assert len(answers) == 1
    assert len({canonry("as-of", name, "2026-01-02", "--json").out for name in (*forms, ID, NAME)}) == 1


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize(
    ("time", "status", "standing", "version", "readers"),
    [
        ("2025-12-31", 1, "before", None, None),
        ("2026-01-01T00:00:59Z", 1, "before", None, None),
        ("2026-01-01T00:01", 0, "valid", 1, ["staff"]),
        ("2026-01-01T00:02:30", 0, "valid", 2, ["staff"]),
        ("2026-01-01 01:03:30+01:00", 0, "valid", 2, ["board"]),
        ("2026-01-01T00:05", 1, "deleted", 2, ["board"]),
        ("2026-01-02", 0, "valid", 3, ["staff"]),
    ],
)
def test_as_of_a_moment(
    time: str, status: int, standing: str, version: int | None, readers: list[str] | None, canonry: Canonry
) -> None:
    said = canonry("as-of", PATH, time, "--json")
    found = json.loads(said.out)
    assert (said.status, found["standing"]) == (status, standing)
    assert (found["version"]["number"] if found["version"] else None, found["readers"]) == (version, readers)
    assert canonry("as-of", PATH, time).status == status


@pytest.mark.usefixtures("catalog")
def test_a_person_is_told_what_was_and_what_was_not(canonry: Canonry) -> None:
    before = canonry("as-of", PATH, "2025-12-31").out
    assert (
        "At 2025-12-31 00:00:00 UTC nothing was known of it yet; the first that is known is from 2026-01-01" in before
    )
    assert "it was deleted: 2026-01-01 00:04:00 UTC by connector" in canonry("as-of", PATH, "2026-01-01T00:05").out
    # The results came in June: until then nothing could be seen, and the version of January was still pending.
    valid = canonry("as-of", PATH, "2026-01-01T00:02:30").out
    assert "version 2 of 3 was valid" in valid
    assert "pending" in valid
    assert "saw nothing of it" in valid


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("time", ["yesterday", "2026-13-01", "", "2026-01-01T25:00"])
def test_what_is_no_time_is_a_wrong_call(time: str, canonry: Canonry) -> None:
    said = canonry("as-of", PATH, time)
    assert said.status == 2
    assert "2026-11-30T14:05:00+01:00" in said.err


def test_of_nobody_s_document_there_are_no_versions(canonry: Canonry) -> None:
    assert canonry("versions", "nobody.txt").status == 1
    assert canonry("as-of", "nobody.txt", "2026-01-01").status == 1


def test_a_time_without_a_zone_is_utc() -> None:
    naive, zoned = (Moment().convert(text, None, None) for text in ("2026-01-01T12:00", "2026-01-01T13:00+01:00"))
    assert naive == zoned
    assert naive.isoformat() == "2026-01-01T12:00:00+00:00"
