"""`canonry broker`, `canonry topics`, `canonry schemas`: the log and its contracts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec

from streams.cli.output import EXIT_INCOMPLETE, json_option, note, say, show_json, show_table
from streams.settings import Settings


@click.group()
def broker() -> None:
    """The broker on this machine, for everyone who has no cluster at hand.

    Apache Kafka as one KRaft node on loopback, its data on disk under the data directory; no container. Needs Java 17
    and, once, Maven. CANONRY_BROKER=host:port uses an existing cluster instead, and none of this.
    """


@broker.command()
@json_option
def start(as_json: bool) -> None:
    """Start the local broker, unless it runs, and wait until it answers."""
    from streams.log import broker as local

    info = local.start(Settings.load())
    _show_broker(info, as_json)


@broker.command()
@json_option
def stop(as_json: bool) -> None:
    """Stop the local broker; its log stays on disk."""
    from streams.log import broker as local

    stopped = local.stop(Settings.load())
    if as_json:
        show_json({"stopped": bool(stopped)})
    else:
        say("Stopped." if stopped else "No local broker was running.")


@broker.command()
@json_option
def status(as_json: bool) -> None:
    """Say whether the local broker runs, and where. Exit status 1 when it does not."""
    from streams.log import broker as local

    info = local.status(Settings.load())
    if info is None:
        show_json(None) if as_json else say("No local broker is running. `canonry broker start` starts one.")
        raise click.exceptions.Exit(EXIT_INCOMPLETE)
    _show_broker(info, as_json)


def _show_broker(info: Any, as_json: bool) -> None:
    if as_json:
        show_json(msgspec.to_builtins(info))
        return
    say(f"{info.kind} at {info.address}, process {info.pid}, log in {info.log_file}")
    if info.warning:
        note(info.warning)


@click.group()
def topics() -> None:
    """The topics of the log, as topics.yaml wants them."""


@topics.command("apply")
@json_option
def topics_apply(as_json: bool) -> None:
    """Create what is missing and mend settings. Never deletes a topic or changes a partition count."""
    from streams.log import topics as log_topics
    from streams.log.broker import ensure

    settings = Settings.load()
    address = ensure(settings)
    report = asyncio.run(log_topics.apply_topics(settings, address))
    if as_json:
        show_json(msgspec.to_builtins(report))
    else:
        for name in report.created:
            say(f"created  {name}")
        for change in report.changed:
            say(f"changed  {change}")
        for difference in report.unmendable:
            note(f"differs  {difference}")
        if not (report.created or report.changed or report.unmendable):
            say("All topics are as topics.yaml wants them.")
    if report.unmendable:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


@topics.command("check")
@json_option
def topics_check(as_json: bool) -> None:
    """Name every difference between topics.yaml and the broker. Exit status 1 when there is one."""
    from streams.log import topics as log_topics
    from streams.log.broker import ensure

    settings = Settings.load()
    address = ensure(settings)
    differences = asyncio.run(log_topics.check_topics(settings, address))
    if as_json:
        show_json([msgspec.to_builtins(difference) for difference in differences])
    elif differences:
        show_table(
            ["topic", "setting", "topics.yaml", "broker", "mended by"],
            [[d.topic, d.setting, d.want, d.have, "canonry topics apply" if d.mendable else "—"] for d in differences],
        )
    else:
        say("All topics are as topics.yaml wants them.")
    if differences:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


@click.group()
def schemas() -> None:
    """The records' schemas and their committed versions."""


@schemas.command("check")
@click.option("--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another folder.")
@json_option
def schemas_check(folder: Path | None, as_json: bool) -> None:
    """Check that every committed version of each record reads what every other one wrote (FULL_TRANSITIVE)."""
    from streams.records.codec import load_registry, registry
    from streams.records.compatibility import check_schemas

    known = load_registry(folder) if folder else registry()
    found = check_schemas(known)
    versions = sum(len(each) for each in known.by_name.values())
    if as_json:
        show_json({"records": len(known.by_name), "versions": versions, "problems": [str(p) for p in found]})
    else:
        for problem in found:
            note(str(problem))
        if not found:
            say(f"{versions} versions of {len(known.by_name)} records: all compatible, in both directions.")
    if found:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)
