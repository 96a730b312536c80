"""Topics as topics.yaml wants them: what is missing is created, what differs is named, nothing is deleted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from streams.errors import CanonryError, SettingsError, TopicMismatch
from streams.log.broker import address
from streams.log.client import admin
from streams.records.codec import data_path
from streams.settings import Settings
from streams.topology import KEYED_BY_CONTENT

AUTO_REPLICATION = 3
SETTLE_S = 15.0
"""How long all brokers may take to learn of a change that was confirmed."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic
_VENDOR = ("confluent.", "redpanda.")  # set by the service itself; neither ours to judge nor to drop
_SET_ON_TOPIC = 1  # DescribeConfigsResponse.ConfigSource.TOPIC_CONFIG


class Topic(msgspec.Struct, frozen=True):
    """One topic as it should be; names have no prefix here."""

    name: str
    partitions: int
    replication_factor: int | Literal["auto"]
    config: dict[str, str]
    """Kafka's topic settings by name; `min.insync.replicas` may be `auto`."""


class Difference(msgspec.Struct, frozen=True):
    """One way in which the broker differs from topics.yaml."""

    topic: str
    """With the prefix: as the broker has it."""
    setting: str
    """`topic` (it is missing), `partitions`, `replication.factor`, or the name of a topic setting."""
    want: str
    have: str
    mendable: bool
    """Whether `apply_topics` can mend it."""

    def __str__(self) -> str:
        if self.setting == "topic":
            return f"{self.topic}: missing"
        return f"{self.topic}: {self.setting} is {self.have}, topics.yaml wants {self.want}"


class Report(msgspec.Struct, frozen=True):
    """What `apply_topics` did, and what it could not do."""

    created: list[str]
    changed: list[Difference]
    unmendable: list[Difference]


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    partitions: int | None = None
    replication_factor: int | Literal["auto"] | None = None
    config: dict[str, Any] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topics: dict[str, Any]
    defaults: Any = {}


class _Actual(msgspec.Struct, frozen=True):
    partitions: int
    replicas: int
    config: dict[str, str]
    overrides: set[str]


def load_topics(path: Path | None = None) -> list[Topic]:
    """The topics of topics.yaml, in its order.

    Args:
        path: another file than the project's own.

    Raises:
        SettingsError: the file can't be read, or breaks a rule of the design; names the topic and the setting.
    """
    path = path or data_path("topics.yaml")
    try:
        file = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), _File)
        defaults = _section(path, "defaults", file.defaults)
        topics = [_topic(name, _section(path, name, raw), defaults) for name, raw in file.topics.items()]
    except (OSError, ValueError, yaml.YAMLError) as error:  # msgspec's and the decoder's errors are ValueErrors
        raise SettingsError(f"{path} can't be used: {error}.") from error
    problems = [problem for topic in topics for problem in _problems(topic)]
    for key in ("source_id", "content hash"):
        counts = {t.name: t.partitions for t in topics if (t.name in KEYED_BY_CONTENT) == (key == "content hash")}
        if len(set(counts.values())) > 1:
            problems.append(f"topics keyed by {key} need the same number of partitions, not {counts}")
    if problems:
        raise SettingsError(f"{path} can't be used: {'; '.join(problems)}.")
    return topics


async def check_topics(
    settings: Settings, broker: str | None = None, topics: list[Topic] | None = None
) -> list[Difference]:
    """Every difference between topics.yaml and the broker; empty when there is none.

    Args:
        broker: its address; default: as `streams.log.broker.address`.
        topics: default: `load_topics()`.

    Raises:
        SettingsError: topics.yaml is wrong.
        BrokerUnavailable: no answer.
    """
    wanted = _prefixed(topics or load_topics(), settings)
    async with admin(settings, broker or address(settings)) as client:
        return _differences(wanted, await _read(client, wanted))


async def require_topics(settings: Settings, broker: str | None = None, topics: list[Topic] | None = None) -> None:
    """Returns when the broker is as topics.yaml wants it.

    Raises:
        TopicMismatch: it is not; names every difference.
    """
    differences = await check_topics(settings, broker, topics)
    if differences:
        raise TopicMismatch(f"Topics differ from topics.yaml: {'; '.join(map(str, differences))}.")


async def apply_topics(settings: Settings, broker: str | None = None, topics: list[Topic] | None = None) -> Report:
    """Creates missing topics and mends settings. Never deletes a topic and never changes a partition count.

    May run in several processes at once. Arguments as for `check_topics`.

    Raises:
        SettingsError: topics.yaml is wrong.
        BrokerUnavailable: no answer.
        TopicMismatch: the broker refuses what topics.yaml wants; carries the broker's words for each topic.
    """
    wanted = _prefixed(topics or load_topics(), settings)
    async with admin(settings, broker or address(settings)) as client:
        actual = await _read(client, wanted)
        created = await _create(client, [topic for topic in wanted if topic.name not in actual])
        try:
            async with asyncio.timeout(SETTLE_S):
                while any(topic.name not in actual for topic in wanted):
                    await asyncio.sleep(0.05)
                    actual = await _read(client, wanted)
                before = _differences(wanted, actual)
                mendable = [difference for difference in before if difference.mendable]
                await _alter(client, wanted, actual, {difference.topic for difference in mendable})
                left = before
                while mendable and any(difference.mendable for difference in left):
                    await asyncio.sleep(0.05)
                    left = _differences(wanted, await _read(client, wanted))
        except TimeoutError:
            names = ", ".join(topic.name for topic in wanted if topic.name not in actual)
            rest = names or "; ".join(str(difference) for difference in left if difference.mendable)
            raise TopicMismatch(
                f"The broker confirmed a change that does not show within {SETTLE_S:g} s: {rest}."
            ) from None
    return Report(created=created, changed=mendable, unmendable=[item for item in before if not item.mendable])


def _topic(name: str, section: _Section, defaults: _Section) -> Topic:
    partitions = defaults.partitions if section.partitions is None else section.partitions
    factor = defaults.replication_factor if section.replication_factor is None else section.replication_factor
    return Topic(
        name=name,
        partitions=0 if partitions is None else partitions,
        replication_factor="auto" if factor is None else factor,
        config={key: _as_text(value) for key, value in {**defaults.config, **section.config}.items()},
    )


def _section(path: Path, name: str, raw: Any) -> _Section:
    try:
        section = msgspec.convert(raw, _Section)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path} can't be used: {name}: {error}.") from error
    for setting, value in section.config.items():
        if not isinstance(value, bool | int | float | str):
            raise SettingsError(f"{path} can't be used: {name}: {setting} must be one value, not {value!r}.")
    return section


def _problems(topic: Topic) -> Iterable[str]:
    """Rules of the design that Kafka does not check."""
    if not _LEGAL_NAME.fullmatch(topic.name) or topic.name in (".", ".."):
        yield f"{topic.name!r} is no legal topic name"
    if topic.partitions < 1:
        yield f"{topic.name} has no partitions"
    if topic.replication_factor != "auto" and topic.replication_factor < 1:
        yield f"{topic.name}: replication_factor must be at least 1, or auto"
    policy = topic.config.get("cleanup.policy")
    needed = {"delete": ("retention.ms",), "compact": ("delete.retention.ms", "max.compaction.lag.ms", "segment.ms")}
    if policy not in needed:
        yield f"{topic.name}: cleanup.policy must be delete or compact, not {policy}"
    for setting in needed.get(policy or "", ()):
        if setting not in topic.config:
            yield f"{topic.name}: {setting} is not set, and the broker's default must not decide"


def _prefixed(topics: list[Topic], settings: Settings) -> list[Topic]:
    return [msgspec.structs.replace(topic, name=settings.kafka.topic_prefix + topic.name) for topic in topics]


async def _read(client: Any, wanted: list[Topic]) -> dict[str, _Actual]:
    """The wanted topics that exist, by name."""
    names = {topic.name for topic in wanted}
    # All topics are asked for, since asking for one by name creates it where auto-creation is on (Kafka's default).
    existing: dict[str, dict[str, Any]] = {}
    for described in await client.describe_topics():
        if described["topic"] not in names:
            continue
        if described["error_code"]:
            reason = for_code(described["error_code"]).__name__
            raise TopicMismatch(f"The broker does not tell about {described['topic']}: {reason}.")
        existing[described["topic"]] = described
    if not existing:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in existing]
    found: dict[str, _Actual] = {}
    for response in await client.describe_configs(resources):
        for error_code, message, _, name, entries in response.resources:
            error = for_code(error_code)
            if error is UnknownTopicOrPartitionError:  # deleted, or not known by that broker yet
                continue
            if error_code:
                raise TopicMismatch(f"The broker does not tell the settings of {name}: {message or error.__name__}.")
            found[name] = _Actual(
                partitions=len(existing[name]["partitions"]),
                replicas=min((len(part["replicas"]) for part in existing[name]["partitions"]), default=0),
                config={entry[0]: entry[1] for entry in entries},
                overrides={entry[0] for entry in entries if entry[3] == _SET_ON_TOPIC},
            )
    return found


def _differences(wanted: list[Topic], actual: Mapping[str, _Actual]) -> list[Difference]:
    differences: list[Difference] = []
    for topic in wanted:
        have = actual.get(topic.name)
        if have is None:
            differences.append(Difference(topic.name, "topic", "present", "missing", mendable=True))
            continue
        if have.partitions != topic.partitions:
            differences.append(
                Difference(topic.name, "partitions", str(topic.partitions), str(have.partitions), mendable=False)
            )
        # `auto` speaks of the day of creation: a cluster that grows later must not stop every worker.
        if topic.replication_factor not in ("auto", have.replicas):
            differences.append(
                Difference(
                    topic.name, "replication.factor", str(topic.replication_factor), str(have.replicas), mendable=False
                )
            )
        config = _resolved(topic, have.replicas)
        for setting, value in config.items():
            held = have.config.get(setting)
            if held is None or not _same(held, value):
                differences.append(Difference(topic.name, setting, value, held or "not set", mendable=True))
        differences += [
            Difference(topic.name, setting, "the broker's default", have.config[setting], mendable=True)
            for setting in sorted(have.overrides - config.keys())
            if not setting.startswith(_VENDOR)
        ]
    return differences


async def _create(client: Any, missing: list[Topic]) -> list[str]:
    if not missing:
        return []
    brokers = len((await client.describe_cluster())["brokers"])
    new = []
    for topic in missing:
        factor = topic.replication_factor
        replicas = min(AUTO_REPLICATION, brokers) if factor == "auto" else factor
        new.append(NewTopic(topic.name, topic.partitions, replicas, topic_configs=_resolved(topic, replicas)))
    response = await client.create_topics(new)
    created, refused = [], []
    for name, error_code, *message in response.topic_errors:
        error = for_code(error_code)
        if not error_code:
            created.append(name)
        elif error is not TopicAlreadyExistsError:  # another process was quicker
            refused.append(f"{name}: {next(filter(None, message), error.__name__)}")
    if refused:
        raise _refused("create", refused)
    return created


async def _alter(client: Any, wanted: list[Topic], actual: Mapping[str, _Actual], names: set[str]) -> None:
    resources = []
    for topic in wanted:
        if topic.name in names:
            have = actual[topic.name]
            # AlterConfigs replaces all of a topic's settings: what is not sent falls back to the broker's default.
            kept = {key: have.config[key] for key in have.overrides if key.startswith(_VENDOR)}
            config = {**kept, **_resolved(topic, have.replicas)}
            resources.append(ConfigResource(ConfigResourceType.TOPIC, topic.name, configs=config))
    if not resources:
        return
    refused = [
        f"{name}: {message or for_code(error_code).__name__}"
        for response in await client.alter_configs(resources)
        for error_code, message, _, name in response.resources
        if error_code
    ]
    if refused:
        raise _refused("change", refused)


def _refused(action: str, refused: list[str]) -> CanonryError:
    return TopicMismatch(
        f"The broker refuses to {action} topics: {'; '.join(refused)}.",
        remedy="Mend topics.yaml, or the rights and policies of the broker, and apply again.",
    )


def _resolved(topic: Topic, replicas: int) -> dict[str, str]:
    config = dict(topic.config)
    if config.get("min.insync.replicas") == "auto":
        config["min.insync.replicas"] = "2" if replicas >= AUTO_REPLICATION else "1"
    return config


def _as_text(value: bool | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(held: str, value: str) -> bool:
    if held == value:
        return True
    try:
        return float(held) == float(value)  # 0.5 and 0.50
    except ValueError:
        return False
