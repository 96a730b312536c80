"""A catalog's database for each test: SQLite, and PostgreSQL too where CANONRY_TEST_POSTGRES names one.

CANONRY_TEST_POSTGRES is an SQLAlchemy URL, such as postgresql+psycopg://user@localhost/test; each test has a schema of
its own there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.settings import Settings

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
