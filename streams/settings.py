"""Typed settings: canonry.toml, then CANONRY_* variables from the environment (nested with `__`), which win.

[blobs]                         CANONRY_BLOBS__KIND=s3
kind = "s3"                     CANONRY_BROKER=kafka-1:9092
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource
from pydantic_settings import SettingsError as UnusableVariable

from streams.errors import SettingsError, UnknownSource

NO_SETTINGS = ("CANONRY_TEST_", "CANONRY_REQUIRE_")  # they steer the tests


class Section(BaseModel):
    """A table of canonry.toml; a key that does not exist is an error, not silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaSettings(Section):
    """How to reach the broker. `CANONRY_BROKER` (or `broker` in the file) is the address; empty means a local one."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_ca_file: Path | None = None
    ssl_cert_file: Path | None = None
    ssl_key_file: Path | None = None
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    sasl_username: str = ""
    sasl_password: str = Field(default="", repr=False)
    topic_prefix: str = Field(
        default="", pattern=r"^[A-Za-z0-9._-]*$", description="put before every topic and group name"
    )
    log_epoch: int = Field(
        default=1, ge=1, description="raise by one when the log was lost and started again from offset 0"
    )


class LocalBrokerSettings(Section):
    """The broker that `canonry broker start` runs on this machine."""

    kind: Literal["auto", "kafka", "tansu"] = "auto"
    heap_mb: int = Field(default=256, ge=128)
    start_timeout_s: float = Field(default=60, gt=0)


class BlobSettings(Section):
    """Where originals and canons are kept."""

    kind: Literal["directory", "s3"] = "directory"
    path: Path | None = Field(default=None, description="directory store; default: <data_dir>/blobs")
    fsync: bool = Field(default=True, description="flush each object to disk before its event is published")
    endpoint: str = Field(default="", description="S3: host:port")
    bucket: str = "canonry"
    region: str = "us-east-1"
    access_key: str = Field(default="", repr=False)
    secret_key: str = Field(default="", repr=False)
    secure: bool = Field(default=True, description="S3: use TLS")


class WorkerSettings(Section):
    """The stages' processes."""

    slots: int = Field(default_factory=lambda: max(1, os.cpu_count() or 1), ge=1, description="single-process slots")
    in_flight: int = Field(default=64, ge=1, description="events of one stage that may be worked on at once")
    max_attempts: int = Field(default=2, ge=1, description="attempts at a document whose process died")
    job_timeout_s: float = Field(default=120, gt=0, description="seconds for one job of one document")
    slot_memory_mb: int = Field(default=1500, ge=200, description="address space of one slot beyond its start")
    slot_jobs: int = Field(default=2000, ge=1, description="jobs after which a slot is replaced")
    shutdown_s: float = Field(default=20, gt=0, description="seconds for a shutdown before the process ends itself")
    watchdog_s: float = Field(default=300, gt=0, description="seconds with lag and no progress before the process ends")
    metrics_address: str = Field(
        default="",
        description="port, or host:port, of /metrics, /livez and /readyz; a port alone is on loopback; empty: none",
    )
    inline_bytes: int = Field(
        default=256 * 1024, ge=0, le=600 * 1024, description="a canon above this travels as a reference"
    )


class RecognitionSettings(Section):
    """Text of pages that are pictures."""

    enabled: bool = Field(
        default=True, description="false: such pages are held as `needs_recognition`, also those that wait to be read"
    )
    slots: int = Field(
        default_factory=lambda: max(1, (os.cpu_count() or 1) // 2),
        ge=1,
        description="processes beside worker.slots, which step back behind them",
    )
    languages: list[str] = Field(default_factory=list, description="ISO 639-1, likely ones, the best first")
    page_timeout_s: float = Field(default=90, gt=0, description="seconds for one page")
    pages_per_minute: float = Field(default=0, ge=0, description="that one worker reads at most; 0: no limit")
    paused: bool = Field(default=False, description="true: what waits for recognition waits on; nothing is lost")
    max_pixels: int = Field(default=40_000_000, ge=1_000_000, description="of one page; larger ones are scaled down")


class LimitSettings(Section):
    """What is refused rather than tried."""

    max_document_bytes: int = Field(default=256 * 1024 * 1024, ge=1, description="above: quarantined as `too_large`")
    max_pages: int = Field(default=10_000, ge=1)
    max_container_depth: int = Field(default=8, ge=1, description="containers in containers; deeper ones stay shut")
    max_container_members: int = Field(default=10_000, ge=1, description="in all, nested ones included; above: `bomb`")
    max_container_bytes: int = Field(default=1 << 30, ge=1, description="of all members; above: `bomb`")
    max_container_ratio: int = Field(
        default=200, ge=1, description="members' bytes for each of the container, beyond 10 MiB; above: `bomb`"
    )


class SourceSettings(Section):
    """One registered source (R-IN-2)."""

    kind: Literal["folder", "s3", "mail", "http", "sdk"] = "folder"
    owner: str = ""
    rank: int | None = Field(default=None, description="as system of record: the lower number wins a conflict")
    readers: list[str] | None = Field(
        default=None, description="who may read what comes without rights of its own; unset: nobody"
    )
    held_update: Literal["serve_stale", "withdraw"] = Field(
        default="serve_stale", description="what consumers see while a newer version is held"
    )
    decide_within_s: float | None = Field(
        default=None, gt=0, description="seconds in quarantine after which a document is overdue; unset: none is"
    )
    slo_s: float | None = Field(
        default=None, gt=0, description="freshness promise: seconds from a document's ingestion to its canon"
    )
    language: str | None = Field(default=None, description="hint, ISO 639-1")


class FreshnessSettings(Section):
    """When a group counts as behind."""

    group_slo_s: float | None = Field(
        default=None,
        gt=0,
        description="age of a group's oldest record in seconds; unset: the strictest slo_s, or 300",
    )

    def group_limit(self, sources: Mapping[str, SourceSettings]) -> float:
        """The age in seconds from which a record that is not done makes its group late."""
        promised = [source.slo_s for source in sources.values() if source.slo_s is not None]
        return self.group_slo_s or min(promised, default=300.0)


class LedgerSettings(Section):
    """How versions are told apart."""

    conflict_window_s: float = Field(
        default=86_400,
        ge=0,
        description="two sources that claim one document with different contents within this time are in conflict",
    )


class ScreenSettings(Section):
    """The policy of the screen; see `streams.screen.policy`."""

    policy_file: Path | None = None


class WebSettings(Section):
    """The review and status pages; see docs/review.md."""

    host: str = Field(default="127.0.0.1", description="address to listen on; any but loopback needs a token")
    port: int = Field(default=8787, ge=0, le=65535, description="0: any free one")
    token: str = Field(
        default="",
        repr=False,
        description="what a reviewer logs in with, 16 characters or more",
    )
    names: list[str] = Field(
        default_factory=list, description="host names by which browsers reach it, besides localhost and addresses"
    )

    @field_validator("token")
    @classmethod
    def _is_long_enough(cls, token: str) -> str:
        if token and (len(token.strip()) < 16 or len(set(token)) < 4):
            raise ValueError("a token has 16 characters or more, not counting blanks around it, and is no repetition")
        return token


class Settings(BaseSettings):
    """All of Canonry's settings. `Settings.load()` is how to get them."""

    model_config = SettingsConfigDict(
        env_prefix="CANONRY_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    data_dir: Path = Field(default=Path(".canonry"), description="state of this machine: local log, blobs, catalog")
    broker: str = Field(default="", description="host:port of an existing broker; empty: a local one is started")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "WARNING"
    kafka: KafkaSettings = KafkaSettings()
    local_broker: LocalBrokerSettings = LocalBrokerSettings()
    blobs: BlobSettings = BlobSettings()
    worker: WorkerSettings = Field(default_factory=WorkerSettings)
    limits: LimitSettings = LimitSettings()
    recognition: RecognitionSettings = Field(default_factory=RecognitionSettings)
    screen: ScreenSettings = ScreenSettings()
    ledger: LedgerSettings = LedgerSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    web: WebSettings = WebSettings()
    sources: dict[str, SourceSettings] = Field(default_factory=dict)
    catalog_url: str = Field(default="", description="SQLAlchemy URL; default: SQLite in data_dir")
    search_path: Path | None = Field(default=None, description="SQLite FTS5 index; default: <data_dir>/search.db")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = TomlConfigSettingsSource(settings_cls, toml_file=config_path())
        return init_settings, env_settings, toml

    @classmethod
    def load(cls, **overrides: Any) -> Settings:
        """The settings of this process.

        Raises:
            SettingsError: the file is no TOML, a value can't be used, or there is no such setting; names each one.
        """
        path = config_path()
        _refuse_unknown_variables(cls.model_fields)
        if "CANONRY_CONFIG" in os.environ and not path.is_file():
            raise SettingsError(f"CANONRY_CONFIG names {path}, which is no file.")
        try:
            return cls(**overrides)
        except ValidationError as error:
            details = "; ".join(f"{'.'.join(map(str, e['loc']))}: {_what_is_wrong(e)}" for e in error.errors())
            raise SettingsError(f"Settings can't be used: {details}.", remedy=f"Check {path} and CANONRY_*.") from error
        except UnusableVariable as error:
            raise SettingsError(f"A CANONRY_* variable can't be used: {error} (it must be JSON).") from error
        except (ValueError, OSError) as error:  # tomllib's errors are ValueErrors
            raise SettingsError(f"{path} can't be read: {error}.") from error

    def source(self, name: str) -> SourceSettings:
        """The registered source of this name. Raises UnknownSource."""
        try:
            return self.sources[name]
        except KeyError:
            raise UnknownSource(f"No source {name!r} is registered.") from None

    @property
    def blob_dir(self) -> Path:
        return self.blobs.path or self.data_dir / "blobs"

    @property
    def catalog_database(self) -> str:
        return self.catalog_url or f"sqlite:///{(self.data_dir / 'catalog.db').absolute()}"

    @property
    def search_database(self) -> Path:
        return self.search_path or self.data_dir / "search.db"


def _what_is_wrong(error: Any) -> str:
    return (
        "there is no such setting"
        if error["type"] == "extra_forbidden"
        else str(error["msg"]).removeprefix("Value error, ")
    )


def _refuse_unknown_variables(fields: Iterable[str]) -> None:
    """A misspelt variable would leave its setting silently at the default."""
    names = {f"CANONRY_{field.upper()}" for field in fields} | {"CANONRY_CONFIG"}
    unknown = [
        name
        for name in sorted(os.environ)
        if name.startswith("CANONRY_") and name.split("__", 1)[0] not in names and not name.startswith(NO_SETTINGS)
    ]
    if unknown:
        raise SettingsError(
            f"There is no setting {', '.join(unknown)}.", remedy="`canonry config show` names each one's variable."
        )


def config_path() -> Path:
    """canonry.toml of this folder, or the file that CANONRY_CONFIG names."""
    return Path(os.environ.get("CANONRY_CONFIG", "canonry.toml"))
