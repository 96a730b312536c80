"""Several runs on the same data at once: they share groups, partitions and databases, and each of them ends."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

from streams.settings import Settings
from tests.integration.way import Way, running

COUNT = 40


def test_runs_at_once_all_end(settings: Settings, tmp_path: Path) -> None:
    ways = [Way(settings, tmp_path / name) for name in ("one", "two")]
    for way in ways:
        for number in range(COUNT):
            way.write(f"{number}.txt", f"{way.folder.name}: report {number} about wind, waves and passing ships.\n" * 3)
    with ExitStack() as stack:
        processes: list[subprocess.Popen[bytes]] = [
            stack.enter_context(running(way.start("run", str(way.folder), "--json"))) for way in ways
        ]
        reports = [json.loads(process.communicate(timeout=150)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    for report in reports:
        assert report["complete"]
        assert report["settled"] == {"ready": COUNT}
