"""`canonry run` with a broker of its own: started, found again, lost, and the one for machines without Java."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.log import kafka_broker, tansu_broker
from streams.settings import BlobSettings, Settings
from tests.integration.way import Way

TEXT = "The keeper of the {0} wrote down the names of the ships and the hours of their arrival.\n"


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Way]:
    way = Way(Settings(data_dir=tmp_path / "data", blobs=BlobSettings(fsync=False)), tmp_path / "share")
    for name, word in (("lighthouse", "lighthouse"), ("harbour", "breakwater")):
        way.write(f"{name}.txt", TEXT.format(word))
    yield way
    way.command("broker", "stop")


@pytest.mark.kafka
@pytest.mark.skipif(bool(kafka_broker.obstacles()), reason="no Kafka can run here")
def test_a_log_that_was_lost_is_published_again(way: Way) -> None:
    assert way.run()["scan"]["new"] == 2
    assert way.run()["scan"]["unchanged"] == 2
    assert way.command("broker", "stop").status == 0
    shutil.rmtree(way.settings.data_dir / "broker")
    way.write("harbour.txt", TEXT.format("weather"))
    said = way.command("run", str(way.folder), "--source", "share")
    assert said.status == 0, said.err + way.worker_log()
    assert "published again" in said.err
    assert {path: row.outcome for path, row in way.documents().items()} == {
        "lighthouse.txt": "ready",
        "harbour.txt": "ready",
    }
    assert way.found("lighthouse ships") == ["lighthouse.txt"]
    assert way.found("weather ships") == ["harbour.txt"]
    assert way.found("breakwater ships") == []
    assert way.run()["scan"]["unchanged"] == 2


@pytest.mark.skipif(bool(tansu_broker.obstacles()), reason="no Tansu can run here")
def test_the_embedded_broker_is_enough_for_a_first_look(way: Way) -> None:
    way.environment["CANONRY_LOCAL_BROKER"] = '{"kind": "tansu"}'
    said = way.command("run", str(way.folder), "--source", "share")
    assert said.status == 0, said.err + way.worker_log()
    assert "in memory only" in said.err
    assert way.found("lighthouse ships") == ["lighthouse.txt"]
    assert way.run()["scan"]["unchanged"] == 2
    assert way.command("broker", "stop").status == 0  # and with it ends its log
    again = way.command("run", str(way.folder), "--source", "share")
    assert again.status == 0, again.err + way.worker_log()
    assert "published again" in again.err
    assert way.found("lighthouse ships") == ["lighthouse.txt"]
