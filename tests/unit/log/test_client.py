from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from aiokafka.errors import for_code

from streams.errors import BrokerUnavailable, SettingsError
from streams.log.client import ask_again, connection, faust_connection, reachable, servers
from streams.log.local_process import free_ports
from streams.settings import KafkaSettings, Settings


def settings(**kafka: object) -> Settings:
    return Settings(kafka=KafkaSettings.model_validate(kafka))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", ["localhost:9092"]),
        ("kafka-1:9092, kafka-2:9093,", ["kafka-1:9092", "kafka-2:9093"]),
        ("[::1]:9092", ["[::1]:9092"]),
    ],
)
def test_servers(text: str, expected: list[str]) -> None:
    assert servers(text) == expected


@pytest.mark.parametrize(
    "text", ["", " , ", "localhost", "localhost:", "host:0", "host:65536", "kafka://h:1", "h:1;h:2"]
)
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="address"):
        servers(text)


def test_plaintext_has_no_credentials() -> None:
    assert connection(settings(), "h:1") == {
        "bootstrap_servers": ["h:1"],
        "security_protocol": "PLAINTEXT",
        "client_id": "canonry",
    }
    assert faust_connection(settings(), "h:1,i:2") == {"broker": ["kafka://h:1", "kafka://i:2"]}


def test_sasl_over_tls_reaches_both_kinds_of_client() -> None:
    wanted = settings(
        security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-512", sasl_username="u", sasl_password="p"
    )
    kwargs = connection(wanted, "h:1")
    assert kwargs["sasl_mechanism"] == "SCRAM-SHA-512"
    assert (kwargs["sasl_plain_username"], kwargs["sasl_plain_password"]) == ("u", "p")
    assert kwargs["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert kwargs["ssl_context"].check_hostname
    credentials = faust_connection(wanted, "h:1")["broker_credentials"]
    assert credentials.protocol.value == "SASL_SSL"
    assert (credentials.mechanism.value, credentials.username, credentials.password) == ("SCRAM-SHA-512", "u", "p")


def test_sasl_without_tls_stays_without_it_for_faust() -> None:
    wanted = settings(security_protocol="SASL_PLAINTEXT", sasl_username="u", sasl_password="p")
    assert "ssl_context" not in connection(wanted, "h:1")
    assert faust_connection(wanted, "h:1")["broker_credentials"].protocol.value == "SASL_PLAINTEXT"


def test_tls_alone() -> None:
    credentials = faust_connection(settings(security_protocol="SSL"), "h:1")["broker_credentials"]
    assert credentials.protocol.value == "SSL"
    assert credentials.context.check_hostname


def test_sasl_without_a_password_is_refused_and_named() -> None:
    with pytest.raises(SettingsError, match="CANONRY_KAFKA__SASL_PASSWORD"):
        connection(settings(security_protocol="SASL_SSL", sasl_username="u"), "h:1")


def test_tls_files_that_cant_be_used_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    with pytest.raises(SettingsError, match=r"missing\.pem is no file"):
        connection(settings(security_protocol="SSL", ssl_ca_file=missing), "h:1")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate", encoding="utf-8")
    with pytest.raises(SettingsError, match="TLS files"):
        connection(settings(security_protocol="SSL", ssl_ca_file=nonsense), "h:1")
    with pytest.raises(SettingsError, match="without ssl_cert_file"):
        connection(settings(security_protocol="SSL", ssl_key_file=nonsense), "h:1")


async def test_nobody_there_is_said_with_the_address() -> None:
    (port,) = free_ports([0])
    with pytest.raises(BrokerUnavailable, match=f"127.0.0.1:{port}") as caught:
        await reachable(Settings(), f"127.0.0.1:{port}", 5)
    assert caught.value.transient


async def test_a_server_that_is_silent_is_not_waited_for_longer_than_asked() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        started = asyncio.get_running_loop().time()
        with pytest.raises(BrokerUnavailable, match=f"127.0.0.1:{port}"):
            await reachable(Settings(), f"127.0.0.1:{port}", 0.5)
        assert asyncio.get_running_loop().time() - started < 3


async def test_a_server_that_is_no_kafka_is_said() -> None:
    async def web_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(web_server, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BrokerUnavailable, match=f"127.0.0.1:{port}"):
            await reachable(Settings(), f"127.0.0.1:{port}", 3)


async def test_a_coordinator_that_is_not_ready_is_asked_again() -> None:
    errors = [14, 15, 16]  # loading, not available, not the coordinator

    async def call() -> str:
        if errors:
            raise for_code(errors.pop())("group")
        return "told"

    assert await ask_again(call, "Nothing was told") == "told"


@pytest.mark.parametrize(("code", "timeout_s"), [(30, 60.0), (15, 0.5)])
async def test_what_asking_again_does_not_mend_is_told(code: int, timeout_s: float) -> None:
    """An error for good at once (30: no right to the group), one that lasts after the time."""
    asked = 0

    async def call() -> None:
        nonlocal asked
        asked += 1
        raise for_code(code)("group")

    with pytest.raises(BrokerUnavailable, match=r"Nothing was told: .*group"):
        await ask_again(call, "Nothing was told", timeout_s=timeout_s)
    assert code == 15 or asked == 1
