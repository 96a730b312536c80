"""A real broker for the tests that need one, and topics of their own for each test.

CANONRY_TEST_BROKER=host:port uses a broker that is there; CANONRY_REQUIRE_KAFKA=1 makes its absence a failure (CI).
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.errors import CanonryError
from streams.log.client import admin
from streams.log.kafka_broker import LocalKafka
from streams.log.topics import apply_topics
from streams.settings import BlobSettings, KafkaSettings, Settings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"broker", "settings"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("kafka")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Kafka."""
    if address := os.environ.get("CANONRY_TEST_BROKER"):
        yield address
        return
    kafka = LocalKafka(tmp_path_factory.mktemp("kafka"), start_timeout_s=120)
    try:
        address = kafka.start().address
    except CanonryError as error:
        if os.environ.get("CANONRY_REQUIRE_KAFKA") == "1":
            pytest.fail(f"No Kafka for the tests: {error}")
        pytest.skip(f"No Kafka for the tests: {error}")
    yield address
    kafka.stop()


@pytest.fixture
def empty_settings(broker: str, tmp_path: Path) -> Iterator[Settings]:
    """Settings with a topic prefix of this test's own and no topics; topics made under it are deleted afterwards."""
    settings = Settings(
        broker=broker,
        data_dir=tmp_path / "data",
        kafka=KafkaSettings(topic_prefix=f"t{uuid.uuid4().hex[:10]}-"),
        blobs=BlobSettings(fsync=False),
    )
    yield settings
    asyncio.run(delete_topics(settings))


@pytest.fixture
def settings(empty_settings: Settings) -> Settings:
    """Settings with a topic prefix of this test's own, under which all topics of topics.yaml exist."""
    asyncio.run(apply_topics(empty_settings))
    return empty_settings


async def delete_topics(settings: Settings) -> None:
    """Deletes all topics under the prefix of these settings."""
    async with admin(settings, settings.broker) as client:
        names = [name for name in await client.list_topics() if name.startswith(settings.kafka.topic_prefix)]
        if names:
            await client.delete_topics(names)
