"""The local broker of one data directory: started once however many ask for it, found again, stopped."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from streams.errors import BrokerNotInstallable, BrokerUnavailable, SettingsError
from streams.log import kafka_broker, tansu_broker
from streams.log.kafka_broker import LocalKafka
from streams.log.local_process import STOP_TIMEOUT_S, BrokerInfo, is_running, terminate, wait_until_ready
from streams.log.tansu_broker import LocalTansu
from streams.settings import Settings

log = logging.getLogger(__name__)

LOCK_POLL_S = 0.05


def start(settings: Settings) -> BrokerInfo:
    """Starts the local broker, or finds the one that runs; returns when it answers.

    Raises:
        BrokerNotInstallable: what it needs is not to be had here; names it.
        BrokerUnavailable: it does not come up; carries the end of its log.
        SettingsError: `kafka.security_protocol` asks for what a local broker does not have.
    """
    protocol = settings.kafka.security_protocol
    if protocol != "PLAINTEXT":
        raise SettingsError(
            f"The local broker speaks PLAINTEXT on loopback, and security_protocol is {protocol}.",
            remedy="Set CANONRY_BROKER to the broker that is meant, or leave [kafka] security_protocol out.",
        )
    with _locked(settings):
        info = status(settings)
        if info is None:
            info = _local(settings).start(on_spawn=lambda spawned: _write_state(settings, spawned))
            if info.warning:
                log.warning(info.warning)
        else:
            wait_until_ready(info, settings.local_broker.start_timeout_s)
        return info


def stop(settings: Settings, timeout_s: float = STOP_TIMEOUT_S) -> BrokerInfo | None:
    """Stops the local broker; returns what ran, or None when nothing did.

    Args:
        timeout_s: for a clean shutdown; after that it is killed, which costs a recovery at the next start.

    Raises:
        BrokerUnavailable: it can't be ended.
    """
    if not _state_file(settings).exists():
        return None
    with _locked(settings):
        info = status(settings)
        if info is not None:
            terminate(info, timeout_s)
        _state_file(settings).unlink(missing_ok=True)
        return info


def status(settings: Settings) -> BrokerInfo | None:
    """The local broker whose process runs, or None. Whether it answers, `streams.log.client.reachable` tells."""
    try:
        info = msgspec.json.decode(_state_file(settings).read_bytes(), type=BrokerInfo)
    except (OSError, msgspec.MsgspecError):  # none was started, or the file was damaged: nothing can be known
        return None
    return info if is_running(info) else None


def ensure(settings: Settings) -> str:
    """The broker's address: the configured one, else the local one's, which is started when it does not run.

    Raises:
        BrokerNotInstallable, BrokerUnavailable, SettingsError: as for `start`.
    """
    return settings.broker or start(settings).address


def address(settings: Settings) -> str:
    """The broker's address: the configured one, else that of the running local one.

    Raises:
        BrokerUnavailable: neither.
    """
    if settings.broker:
        return settings.broker
    info = status(settings)
    if info is None:
        raise BrokerUnavailable(
            "No broker is configured and none runs here.", remedy="Run `canonry broker start`, or set CANONRY_BROKER."
        )
    return info.address


def _local(settings: Settings) -> LocalKafka | LocalTansu:
    """The broker of the configured kind; `auto` is Kafka where it can run, else Tansu."""
    directory = _directory(settings)
    local = settings.local_broker
    kafka = LocalKafka(directory, heap_mb=local.heap_mb, start_timeout_s=local.start_timeout_s)
    tansu = LocalTansu(directory, start_timeout_s=local.start_timeout_s)
    if local.kind == "tansu":
        return tansu
    against_kafka = kafka_broker.obstacles()
    if local.kind == "kafka" or not against_kafka:
        return kafka  # it raises what stands against it
    if kafka.data.exists():
        # An empty log in memory in place of the one on disk would look like the loss of every document.
        raise BrokerNotInstallable(f"The log in {kafka.data} needs Apache Kafka. {' '.join(against_kafka)}")
    against_tansu = tansu_broker.obstacles()
    if against_tansu:
        raise BrokerNotInstallable(" ".join([*against_kafka, *against_tansu]))
    return tansu


def _directory(settings: Settings) -> Path:
    return settings.data_dir.absolute() / "broker"


def _state_file(settings: Settings) -> Path:
    return _directory(settings) / "state.json"


def _write_state(settings: Settings, info: BrokerInfo) -> None:
    file = _state_file(settings)
    temporary = file.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(info)))
    temporary.replace(file)


@contextmanager
def _locked(settings: Settings) -> Iterator[None]:
    """One process at a time starts or stops the broker of a data directory."""
    directory = _directory(settings)
    # The one before us may fetch Kafka, start it and wait for it.
    deadline = time.monotonic() + kafka_broker.MAVEN_TIMEOUT_S + settings.local_broker.start_timeout_s
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise BrokerUnavailable(f"{directory} can't be used for the local broker: {error}.") from error
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(
                        f"Another process holds {directory / 'lock'} and does not finish."
                    ) from None
                time.sleep(LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)  # releases the lock
