"""Databases of the indexes: SQLite without any setting up, PostgreSQL by its URL, and the schema's version in both."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError

from streams.errors import CanonryError, SettingsError

BUSY_TIMEOUT_S = 30
"""How long a writer waits for another one's transaction."""


class DatabaseUnavailable(CanonryError):
    """The database does not answer, is locked, or has no space left."""

    code = "database_unavailable"
    transient = True
    remedy = "Check the database that `canonry config show` names; work goes on by itself."


class DatabaseOutdated(CanonryError):
    """The database was written by another version of Canonry."""

    code = "database_outdated"
    remedy = "Start a worker: it builds the database anew from the log."


class UtcTime(sa.TypeDecorator[datetime]):
    """An instant, aware and in UTC, also on SQLite, which knows no time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Text(sa.TypeDecorator[str]):
    """A text of any kind; PostgreSQL can't hold NUL, so its visible symbol stands for it."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return value.replace("\0", "\u2400") if value and "\0" in value else value


Json = sa.JSON(none_as_null=True)


def meta_table(metadata: sa.MetaData) -> sa.Table:
    """Facts about the database itself."""
    return sa.Table("meta", metadata, sa.Column("key", Text, primary_key=True), sa.Column("value", Text))


@contextmanager
def database_errors() -> Iterator[None]:
    """What can pass by itself, as DatabaseUnavailable; anything else is a fault of ours and stays as it is."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise DatabaseUnavailable(f"The database does not do its work: {error.orig}.") from error
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        raise DatabaseUnavailable(f"The connection to the database was lost: {error.orig}.") from error


def open_database(url: str, metadata: sa.MetaData, version: str, *, writer: bool) -> sa.Engine:
    """An engine whose database has the tables of `metadata`.

    Args:
        url: an SQLAlchemy URL.
        version: of the schema. A writer drops what another version wrote, for the log has it all.
        writer: transactions take the write lock when they begin (SQLite).

    Raises:
        SettingsError: the URL can't be used, or its driver is not installed.
        DatabaseOutdated: not as writer: another version wrote it.
        DatabaseUnavailable: no answer.
    """
    try:
        parsed = sa.make_url(url)
        arguments: dict[str, Any] = {}
        if parsed.get_backend_name() == "sqlite":
            arguments = {"timeout": BUSY_TIMEOUT_S, "check_same_thread": False}
            if parsed.database:
                Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(
            parsed,
            connect_args=arguments,
            json_serializer=lambda value: msgspec.json.encode(value).decode(),
            json_deserializer=msgspec.json.decode,
            pool_pre_ping=parsed.get_backend_name() != "sqlite",
        )
    except (ArgumentError, ValueError) as error:
        raise SettingsError(f"The database URL can't be used: {error}.") from error
    except ImportError as error:
        raise SettingsError(
            f"The driver of {parsed.get_backend_name()} is not installed: {error}.",
            remedy="PostgreSQL: `pip install 'psycopg[binary]'`, and postgresql+psycopg:// as scheme.",
        ) from error
    except OSError as error:
        raise DatabaseUnavailable(f"The database's folder can't be made: {error}.") from error
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine, "BEGIN IMMEDIATE" if writer else "BEGIN")
    try:
        with database_errors():
            _require_schema(engine, metadata, version, writer=writer)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _require_schema(engine: sa.Engine, metadata: sa.MetaData, version: str, *, writer: bool) -> None:
    meta = metadata.tables["meta"]
    query = sa.select(meta.c.value).where(meta.c.key == "schema")
    if sa.inspect(engine).has_table("meta"):
        with engine.connect() as connection:
            found = connection.scalar(query)
        if found == version:
            return
        if not writer:
            raise DatabaseOutdated(f"The database has the schema {found}; this version needs {version}.")
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x63616E6F)))  # one of us makes the tables
        elif engine.dialect.name == "sqlite":
            # The same for SQLite, whatever the engine's transactions begin with: a write takes the lock.
            connection.exec_driver_sql("PRAGMA user_version = 1")
        if sa.inspect(connection).has_table("meta") and connection.scalar(query) == version:
            return  # another process was quicker
        metadata.drop_all(connection)
        metadata.create_all(connection)
        connection.execute(sa.insert(meta), [{"key": "schema", "value": version}])


def overwrite_log(engine: sa.Engine) -> None:
    """SQLite: brings the write-ahead log into the database and empties it, so that it holds nothing deleted any more.

    What readers hold open stays until the next time. PostgreSQL sees to its log and dead rows itself (WAL, VACUUM).

    Raises:
        DatabaseUnavailable: the file can't be written.
    """
    if engine.dialect.name != "sqlite":
        return
    try:
        with closing(engine.raw_connection()) as connection:  # outside of any transaction
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        raise DatabaseUnavailable(f"The database does not do its work: {error}.") from error


def _prepare_sqlite(engine: sa.Engine, begin: str) -> None:
    @sa.event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # sqlite3 would begin transactions too late; see below
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            f"busy_timeout={BUSY_TIMEOUT_S * 1000}",
            "secure_delete=ON",  # what is deleted is overwritten, not only taken off the list
        ):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def start(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)
