"""Processes die in the middle of a run; every document still ends with one outcome."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from streams.settings import Settings, WorkerSettings
from tests.integration.way import Way, alive, interrupt, running, slow_markdown, until

COUNT = 80


@pytest.fixture
def way(settings: Settings, tmp_path: Path) -> Way:
    """Enough small documents for a run that lasts until it is disturbed, and one that takes some seconds."""
    worker = WorkerSettings(slots=2, shutdown_s=8)
    way = Way(settings.model_copy(update={"worker": worker}), tmp_path / "share")
    way.write("0-slow.md", slow_markdown(0.2, 1))
    for number in range(COUNT):
        way.write(
            f"{number:03}.txt", f"Report {number} of the lighthouse keeper about wind, waves and passing ships.\n" * 4
        )
    return way


def complete(way: Way) -> None:
    rows = way.documents()
    assert len(rows) == COUNT + 1
    assert {row.outcome for name, row in rows.items() if name != "0-slow.md"} == {"ready"}
    assert rows["0-slow.md"].outcome in ("ready", "quarantined")
    assert all(len(row.problems) <= 3 for row in rows.values())


def test_a_killed_worker_is_replaced_and_the_run_goes_on(way: Way) -> None:
    with running(way.start("run", str(way.folder), "--source", "share", "--json")) as process:
        worker = until(lambda: way.worker_pid(process.pid), why="a worker")
        until(way.under_way, why="work has begun")
        os.kill(worker, signal.SIGKILL)
        until(lambda: way.worker_pid(process.pid) not in (None, worker), why="another worker")
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode() + way.worker_log()
    assert b'"worker_restarts": 1' in out
    complete(way)
    assert way.found("lighthouse keeper")


def test_a_killed_run_leaves_no_worker_and_the_next_run_completes(way: Way) -> None:
    with running(way.start("run", str(way.folder), "--source", "share", "--json")) as process:
        worker = until(lambda: way.worker_pid(process.pid), why="a worker")
        until(way.under_way, why="work has begun")
        process.kill()
        process.wait()
        until(lambda: not alive(worker), 30, "the worker ends with its parent")
    assert way.run()["complete"]
    complete(way)
    assert way.run()["scan"]["unchanged"] == COUNT + 1


def test_an_interrupted_run_ends_at_once_and_the_next_run_does_the_rest(way: Way) -> None:
    with running(way.start("run", str(way.folder), "--source", "share")) as process:
        worker = until(lambda: way.worker_pid(process.pid), why="a worker")
        until(way.under_way, why="work has begun")
        said = interrupt(process, 20)
    assert said.status == 130
    assert "goes on with the next run" in said.err
    assert not alive(worker)
    assert way.run()["complete"]
    complete(way)
