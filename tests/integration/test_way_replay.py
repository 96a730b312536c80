"""Replay with real workers: everything once more is silent, a new extractor is not, and the dead stay dead."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.make_documents import make_documents
from streams.log.client import committed_offsets
from streams.records import Lane, SourceState, Status
from streams.records.headers import read_context
from streams.settings import Settings, WorkerSettings
from streams.topology import STAGES, group_id
from tests.integration.runtime.harness import read, records
from tests.integration.way import ROOT, Way, interrupt, running, until

VISIBLE = ("canon-ready", "deleted", "quarantine", "versions", "content-links", "contents", "dead-letter")
NEW_EXTRACTOR = """
import msgspec
from streams.extract import registry
for media_type, spec in registry._BY_MEDIA_TYPE.items():
    registry._BY_MEDIA_TYPE[media_type] = msgspec.structs.replace(spec, version=spec.version + "-next")
"""


def behind(way: Way) -> list[str]:
    """Stages with something left to do; asked in the order of the way, so that nothing is between two of them."""
    found = []
    for stage in STAGES.values():
        ends = way.ends(*stage.reads)
        group = group_id(stage.name, way.settings.kafka.topic_prefix)
        done = asyncio.run(committed_offsets(way.settings, way.settings.broker, group, stage.reads))
        if any(end > (done[place] or 0) for place, end in ends.items()):
            found.append(stage.name)
    return found


@contextlib.contextmanager
def working(way: Way, **variables: str) -> Iterator[Any]:
    """A worker with all stages; ended in order when the block is left."""
    with running(way.start("worker", **variables)) as process:
        yield process
        if process.poll() is None:
            interrupt(process)


def work_off(way: Way, **variables: str) -> None:
    with working(way, **variables) as process:
        until(lambda: process.poll() is not None or not behind(way), 120, "nothing behind")
        assert process.poll() is None


def replayed(way: Way, *args: str) -> dict[str, Any]:
    said = way.command("replay", "apply", *args, "--json")
    assert said.status == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def states(way: Way) -> dict[str, SourceState]:
    return dict(asyncio.run(records(way.settings, "versions")))


@pytest.fixture
def way(settings: Settings, tmp_path: Path) -> Way:
    """Documents of every fate: ready, held, skipped, moved, edited, deleted, and deleted and made again."""
    settings = settings.model_copy(update={"worker": WorkerSettings(slots=2)})
    way = Way(settings, tmp_path / "share")
    make_documents(way.folder, 40)
    for name in ("moved", "edited", "deleted", "again"):
        way.write(
            f"{name}.txt", f"The {name} page of the keeper's log about wind, waves and the ships that passed.\n" * 3
        )
    way.run("--approve-deletes")
    (way.folder / "moved.txt").rename(way.folder / "elsewhere.txt")
    way.write("edited.txt", "The page was written once more, about the fog and the ships that did not pass.\n" * 3)
    (way.folder / "deleted.txt").unlink()
    again = (way.folder / "again.txt").read_bytes()
    (way.folder / "again.txt").unlink()
    way.run()
    way.write("again.txt", again)
    way.run()
    until(lambda: True)
    return way


def test_everything_once_more_is_silent_and_a_new_extractor_is_not(way: Way, tmp_path: Path) -> None:
    work_off(way)  # the commits of the last run's worker may be one event behind
    before, known = way.ends(*VISIBLE), states(way)
    fates = {
        (state.status, version.outcome)
        for state in known.values()
        for version in state.versions
        if version.sequence == state.current or state.status is Status.DELETED
    }
    assert {outcome for _, outcome in fates} == {"ready", "quarantined", "skipped"}
    assert {status for status, _ in fates} == {"live", "deleted"}
    results = sum(way.ends("screened").values())
    for count, stage in enumerate(("ledger", "screen", "extract", "decode")):
        done = replayed(way, stage, "--earliest")
        assert done["events"] == sum(way.ends(*STAGES[stage].reads).values())
        assert behind(way) == [stage]
        work_off(way)
        assert way.ends(*VISIBLE) == before, stage
        assert sum(way.ends("screened").values()) == results * 2**count, stage
    assert states(way) == known
    newest = asyncio.run(read(way.settings, "screened"))
    lanes = {context.lane for context in (read_context(message.headers) for message in newest)}
    assert lanes == {Lane.LIVE, Lane.REPLAY}

    (tmp_path / "sitecustomize.py").write_text(NEW_EXTRACTOR)
    run_id = replayed(way, "decode", "--earliest")["run_id"]
    work_off(way, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    canons = {
        message.key.decode(): read_context(message.headers)
        for topic in ["canon-ready"]
        for message in asyncio.run(read(way.settings, topic))
        if message.value is not None
    }
    shown = dict(asyncio.run(records(way.settings, "canon-ready")))
    for source_id, state in states(way).items():
        old = known[source_id]
        assert (state.status, state.current, state.published) == (old.status, old.current, old.published)
        for version, earlier in zip(state.versions, old.versions, strict=True):
            if earlier.canons:
                *archived, current = version.canons
                assert [c.attempt for c in archived] == [c.attempt for c in earlier.canons]
                assert all(c.archived_at is not None for c in archived)
                assert current.archived_at is None
                assert current.attempt.fingerprint != earlier.canons[-1].attempt.fingerprint
                assert current.attempt.extractor_version.endswith("-next")
        if state.published is None:
            assert shown.get(source_id) is None
        else:
            (version,) = [version for version in state.versions if version.sequence == state.published]
            assert shown[source_id].fingerprint == version.canons[-1].attempt.fingerprint
            assert (canons[source_id].lane, canons[source_id].run_id) == (Lane.REPLAY, run_id)
    assert sum(way.ends("deleted").values()) == sum(count for (topic, _), count in before.items() if topic == "deleted")
