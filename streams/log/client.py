"""How every client reaches the log: one place that turns settings into connections and their failures into ours."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError

from streams.errors import BrokerUnavailable, NotFound, SettingsError
from streams.log.backoff import Backoff
from streams.settings import KafkaSettings, Settings

REQUEST_TIMEOUT_S = 30.0
STOP_S = 5.0

T = TypeVar("T")

_SERVER = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\],;]+):(\d{1,5})")


def servers(broker: str) -> list[str]:
    """The `host:port` addresses of a comma-separated list.

    Raises:
        SettingsError: one of them is no `host:port`.
    """
    found = [part.strip() for part in broker.split(",") if part.strip()]
    if not found:
        raise SettingsError("The broker's address is empty.", remedy="Set CANONRY_BROKER to host:port.")
    for server in found:
        match = _SERVER.fullmatch(server)
        if match is None or not 0 < int(match[2]) < 65536:
            raise SettingsError(f"{server!r} is no broker address.", remedy="Write it as host:port, without a scheme.")
    return found


def connection(settings: Settings, broker: str) -> dict[str, Any]:
    """Keyword arguments that every aiokafka client takes: servers, TLS and SASL.

    Args:
        broker: `host:port`, or several with commas between them.

    Raises:
        SettingsError: an address, a certificate file or the SASL credentials can't be used.
    """
    kafka = settings.kafka
    kwargs: dict[str, Any] = {
        "bootstrap_servers": servers(broker),
        "security_protocol": kafka.security_protocol,
        "client_id": "canonry",
    }
    if kafka.security_protocol in ("SSL", "SASL_SSL"):
        kwargs["ssl_context"] = _ssl_context(kafka)
    if kafka.security_protocol.startswith("SASL_"):
        if not kafka.sasl_username or not kafka.sasl_password:
            raise SettingsError(
                f"security_protocol {kafka.security_protocol} needs a user name and a password.",
                remedy="Set CANONRY_KAFKA__SASL_USERNAME and CANONRY_KAFKA__SASL_PASSWORD.",
            )
        kwargs["sasl_mechanism"] = kafka.sasl_mechanism
        kwargs["sasl_plain_username"] = kafka.sasl_username
        kwargs["sasl_plain_password"] = kafka.sasl_password
    return kwargs


def faust_connection(settings: Settings, broker: str) -> dict[str, Any]:
    """Keyword arguments of `faust.App` for the same connection.

    Raises:
        SettingsError: as for `connection`.
    """
    import faust  # half a second that only a worker should pay

    kwargs = connection(settings, broker)
    result: dict[str, Any] = {"broker": [f"kafka://{server}" for server in kwargs["bootstrap_servers"]]}
    context = kwargs.get("ssl_context")
    if settings.kafka.security_protocol.startswith("SASL_"):
        result["broker_credentials"] = faust.SASLCredentials(
            username=kwargs["sasl_plain_username"],
            password=kwargs["sasl_plain_password"],
            mechanism=kwargs["sasl_mechanism"],
            ssl_context=context,
        )
    elif context is not None:
        result["broker_credentials"] = faust.SSLCredentials(context)
    return result


@asynccontextmanager
async def admin(settings: Settings, broker: str, *, timeout_s: float = REQUEST_TIMEOUT_S) -> AsyncIterator[Any]:
    """A connected AIOKafkaAdminClient; what Kafka or the network says against a request comes out as ours.

    Args:
        timeout_s: for connecting, and again for each request.

    Raises:
        BrokerUnavailable: no broker answers, or one failed to answer a request.
    """
    client = AIOKafkaAdminClient(**connection(settings, broker), request_timeout_ms=int(timeout_s * 1000))
    try:
        await asyncio.wait_for(client.start(), timeout_s)
        yield client
    except TimeoutError as error:
        raise BrokerUnavailable(f"{broker} did not answer as a Kafka broker within {timeout_s:g} s.") from error
    except KafkaConnectionError as error:  # it says the same in aiokafka's words
        raise BrokerUnavailable(f"No Kafka broker answers at {broker}.") from error
    except (KafkaError, OSError) as error:
        raise BrokerUnavailable(f"No Kafka broker answers at {broker}: {error}.") from error
    finally:
        await client.close()


async def ask_again(call: Callable[[], Awaitable[T]], what: str, *, timeout_s: float = REQUEST_TIMEOUT_S) -> T:
    """Asks again what a coordinator that is just loading, moving or being made can't answer yet.

    Args:
        what: went wrong when it never answers; the beginning of the error's sentence.
        timeout_s: for all attempts together.

    Raises:
        BrokerUnavailable: no answer in time, or an error that asking again does not mend.
    """
    backoff = Backoff()
    problem: Exception = TimeoutError()
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    return await call()
                except KafkaError as error:
                    problem = error
                    if not error.retriable:
                        break
                await backoff.wait()
    except (OSError, TimeoutError) as error:
        problem = error if isinstance(problem, TimeoutError) else problem
    raise BrokerUnavailable(f"{what}: {problem!r}.") from problem


async def reachable(settings: Settings, address: str, timeout_s: float = 5.0) -> int:
    """How many brokers the cluster at `address` has; returning at all means that it answered a metadata request.

    Raises:
        BrokerUnavailable: nothing there, not in time, or something else than a Kafka broker.
    """
    try:
        async with asyncio.timeout(timeout_s), admin(settings, address, timeout_s=timeout_s) as client:
            cluster = await client.describe_cluster()
    except TimeoutError as error:
        raise BrokerUnavailable(f"{address} did not answer as a Kafka broker within {timeout_s:g} s.") from error
    brokers = len(cluster["brokers"])
    if brokers == 0:
        raise BrokerUnavailable(f"{address} answers, but its cluster has no broker yet.")
    return brokers


async def cluster_id(settings: Settings, broker: str) -> str:
    """The identity of the cluster, and so of its log: another id means that remembered offsets mean nothing.

    Raises:
        BrokerUnavailable: no answer.
    """
    async with admin(settings, broker) as client:
        return str((await client.describe_cluster())["cluster_id"])


async def partitions(settings: Settings, broker: str, topics: Iterable[str]) -> dict[str, list[int]]:
    """Partition numbers of topics, by the name without the prefix.

    Raises:
        NotFound: a topic does not exist.
        BrokerUnavailable: no answer.
    """
    prefix = settings.kafka.topic_prefix
    names = {prefix + topic: topic for topic in topics}
    async with admin(settings, broker) as client:
        # All topics are asked for, since asking for one by name creates it where auto-creation is on (Kafka's default).
        described = {topic["topic"]: topic for topic in await client.describe_topics()}
    found: dict[str, list[int]] = {}
    for name, topic in names.items():
        entry = described.get(name)
        if entry is None or entry["error_code"] or not entry["partitions"]:
            raise NotFound(f"There is no topic {name} at {broker}.", remedy="Run `canonry topics apply`.")
        found[topic] = sorted(partition["partition"] for partition in entry["partitions"])
    return found


async def end_offsets(
    settings: Settings, broker: str, topics: Iterable[str], *, timeout_s: float = REQUEST_TIMEOUT_S
) -> dict[tuple[str, int], int]:
    """The offset that the next record will get, by (topic without prefix, partition).

    Raises:
        NotFound: a topic does not exist.
        BrokerUnavailable: no answer in time.
    """
    return await _offsets(settings, broker, topics, group=None, timeout_s=timeout_s)


async def committed_offsets(
    settings: Settings, broker: str, group: str, topics: Iterable[str], *, timeout_s: float = REQUEST_TIMEOUT_S
) -> dict[tuple[str, int], int | None]:
    """The offset from which a consumer group goes on, by (topic without prefix, partition); None: nothing committed.

    Args:
        group: the group's whole name, prefix included (`streams.topology.group_id`).

    Raises:
        NotFound: a topic does not exist.
        BrokerUnavailable: no answer in time.
    """
    return await _offsets(settings, broker, topics, group=group, timeout_s=timeout_s)


async def start_consumer(consumer: Any, broker: str, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
    """Starts a consumer, or stops it again.

    Raises:
        BrokerUnavailable: no answer in time.
    """
    try:
        async with asyncio.timeout(timeout_s):
            await consumer.start()
    except (KafkaError, OSError, TimeoutError) as error:
        await stop_consumer(consumer)
        raise BrokerUnavailable(f"No Kafka broker answers at {broker}: {error!r}.") from error


async def stop_consumer(consumer: Any) -> None:
    """Stops a consumer that was given its partitions by `assign`, within a bound.

    When an assignment has just ended, aiokafka 0.14's fetcher waits for its requests to be cancelled and swallows its
    own cancellation with theirs: `stop` would wait for ever. Cancelled once more, it ends.
    """
    try:
        async with asyncio.timeout(STOP_S):
            await consumer.stop()
    except TimeoutError:
        await consumer._client.close()  # what `stop` would have done next


async def _offsets(
    settings: Settings, broker: str, topics: Iterable[str], *, group: str | None, timeout_s: float
) -> dict[tuple[str, int], Any]:
    found = await partitions(settings, broker, topics)
    wanted = [(topic, number) for topic, numbers in found.items() for number in numbers]
    prefix = settings.kafka.topic_prefix
    # The admin client's list_consumer_group_offsets takes a coordinator that is still loading for a group without
    # offsets (aiokafka 0.14 ignores the response's error_code); the consumer asks again.
    consumer = AIOKafkaConsumer(**connection(settings, broker), group_id=group, enable_auto_commit=False)
    try:
        async with asyncio.timeout(timeout_s):
            await consumer.start()
            if group is not None:
                return {key: await consumer.committed(TopicPartition(prefix + key[0], key[1])) for key in wanted}
            by_partition = {TopicPartition(prefix + topic, number): (topic, number) for topic, number in wanted}
            ends = await consumer.end_offsets(list(by_partition))
            return {key: ends[partition] for partition, key in by_partition.items()}
    except TimeoutError as error:
        raise BrokerUnavailable(f"{broker} did not tell its offsets within {timeout_s:g} s.") from error
    except (KafkaError, OSError) as error:
        raise BrokerUnavailable(f"{broker} did not tell its offsets: {error}.") from error
    finally:
        await consumer.stop()


def _ssl_context(kafka: KafkaSettings) -> ssl.SSLContext:
    for path in (kafka.ssl_ca_file, kafka.ssl_cert_file, kafka.ssl_key_file):
        if path is not None and not path.is_file():
            raise SettingsError(f"{path} is no file.", remedy="Check ssl_*_file under [kafka].")
    if kafka.ssl_key_file is not None and kafka.ssl_cert_file is None:
        raise SettingsError("ssl_key_file is set without ssl_cert_file.", remedy="Check ssl_*_file under [kafka].")
    try:
        context = ssl.create_default_context(cafile=str(kafka.ssl_ca_file) if kafka.ssl_ca_file else None)
        if kafka.ssl_cert_file is not None:
            # The password callback keeps OpenSSL from asking on the terminal for an encrypted key.
            context.load_cert_chain(kafka.ssl_cert_file, kafka.ssl_key_file, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        raise SettingsError(f"The TLS files under [kafka] can't be used: {error}.") from error
    return context
