"""A catalog's database for each test: SQLite, and PostgreSQL too where CANONRY_TEST_POSTGRES names one.

CANONRY_TEST_POSTGRES is an SQLAlchemy URL, such as postgresql+psycopg://user@localhost/test; each test has a schema of
its own there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.consumers.catalog import Catalog, CatalogWriter
from streams.consumers.reader import PartitionFacts
from streams.consumers.received import Partition, Received
from streams.settings import Settings
from tests.unit.consumers.make import batch, received

POSTGRES = os.environ.get("CANONRY_TEST_POSTGRES", "")


@pytest.fixture(params=["sqlite", *(["postgresql"] if POSTGRES else [])])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty catalog."""
    if request.param == "sqlite":
        yield Settings(data_dir=tmp_path)
        return
    schema = f"t{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(POSTGRES)
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema(schema))
    url = sa.make_url(POSTGRES).update_query_dict({"options": f"-csearch_path={schema}"})
    yield Settings(data_dir=tmp_path, catalog_url=url.render_as_string(hide_password=False))
    with engine.begin() as connection:
        connection.execute(sa.schema.DropSchema(schema, cascade=True))
    engine.dispose()


class Applied:
    """A catalog that is given records in the order of their topics' offsets."""

    def __init__(self, settings: Settings) -> None:
        self.writer = CatalogWriter(settings)
        self.catalog = Catalog(settings)
        self._offsets: dict[str, int] = {}

    async def begin(self) -> None:
        facts = [PartitionFacts(Partition(topic, 0), 0, 0, None, "", None) for topic in CatalogWriter.topics]
        await self.writer.positions.begin("log", facts)

    def __call__(self, *records: tuple[str, str, object]) -> None:
        made: list[Received] = []
        for topic, key, record in records:
            offset = self._offsets[topic] = self._offsets.get(topic, -1) + 1
            made.append(received(topic, offset, key, record))  # type: ignore[arg-type]
        self.writer.apply(batch(*made))


@pytest.fixture
async def apply(settings: Settings) -> AsyncIterator[Applied]:
    applied = Applied(settings)
    await applied.begin()
    yield applied
    applied.catalog.close()
    applied.writer.close()
