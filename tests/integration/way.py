"""The real command on a real broker: runs, their processes, and what stands in the log and the catalog afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest import mock

from streams.cli import main
from streams.consumers.catalog import Catalog
from streams.consumers.catalog_rows import DocumentRow
from streams.consumers.search import SearchIndex
from streams.log.client import end_offsets
from streams.ops.worker_process import worker_environment
from streams.settings import Settings

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
RUN_TIMEOUT_S = 180.0
LOOK_EVERY_S = 0.1  # looking costs the processes that are waited for
TICKS = os.sysconf("SC_CLK_TCK")


class Said(NamedTuple):
    """What a command said."""

    status: int
    out: str
    err: str


class Way:
    """A folder, its settings, and the command on both."""

    def __init__(self, settings: Settings, folder: Path, **variables: str) -> None:
        self.settings = settings
        self.folder = folder
        self.environment = worker_environment(settings, settings.broker) | {"COLUMNS": "200"} | variables
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, *args: str, **variables: str) -> subprocess.Popen[bytes]:
        """Starts `canonry ARGS`; its output goes to pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", "streams.cli", *args],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment | variables,
        )

    def command(self, *args: str, **variables: str) -> Said:
        process = self.start(*args, **variables)
        try:
            out, err = process.communicate(timeout=RUN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(
                f"canonry {args} did not end: {out.decode()}{err.decode()}{self.worker_log()}"
            ) from None
        said = Said(process.returncode, out.decode(), err.decode())
        assert "Traceback" not in said.err, said.err
        return said

    def ask(self, *args: str) -> Said:
        """The same in this process, which spares the seconds that a process takes to start."""
        out, err = io.StringIO(), io.StringIO()
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        status: Any = None
        with (
            mock.patch.dict(os.environ, self.environment, clear=True),
            mock.patch.object(sys, "argv", ["canonry", *args]),
            mock.patch.object(sys, "stdin", io.StringIO()),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                status = ended.code
            finally:
                root.handlers[:], root.level = handlers, level
        assert isinstance(status, int)
        return Said(status, out.getvalue(), err.getvalue())

    def run(self, *args: str, status: int = 0, **variables: str) -> dict[str, Any]:
        """`canonry run --json`; its report."""
        said = self.command("run", str(self.folder), "--source", "share", "--json", *args, **variables)
        assert said.status == status, f"{said.err}{said.out}{self.worker_log()}"
        report: dict[str, Any] = json.loads(said.out)
        return report

    def worker_log(self) -> str:
        file = self.settings.data_dir / "logs" / "worker.log"
        return file.read_text() if file.exists() else ""

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def documents(self) -> dict[str, DocumentRow]:
        """What the catalog knows, deleted ones too, by path; nothing before the first run has made it."""
        if not (self.settings.data_dir / "catalog.db").exists():
            return {}
        with Catalog(self.settings) as catalog:
            return {row.path: row for row in catalog.list_documents(status=None, limit=1000)}

    def found(self, words: str) -> list[str]:
        """Paths that a search finds."""
        with SearchIndex(self.settings) as index:
            return sorted({hit.path for hit in index.search(words, 50).hits})

    def under_way(self) -> bool:
        """Whether some documents have come to the third stage."""
        return any(count > 0 for count in self.ends("extracted").values())

    def ends(self, *topics: str) -> dict[tuple[str, int], int]:
        return asyncio.run(end_offsets(self.settings, self.settings.broker, topics))

    def worker_pid(self, parent: int) -> int | None:
        """The worker that a run started."""
        return next((pid for pid in children(parent) if "worker" in command_line(pid)), None)


def until(what: Callable[[], T | None], timeout_s: float = 60.0, why: str = "") -> T:
    """The first value that is something; looks often, and fails after a while."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {why}"
        time.sleep(LOOK_EVERY_S)


@contextlib.contextmanager
def running(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Ends the process with the test."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def interrupt(process: subprocess.Popen[bytes], timeout_s: float = 45.0) -> Said:
    """Ctrl-C."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=timeout_s)
    said = Said(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in said.err, said.err
    return said


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def slow_markdown(megabytes: float, seed: int) -> str:
    """Markdown that takes seconds for each megabyte: nothing is wrong with it but its size."""
    line = f"* [a{seed}](b) *c* `d` **e** ![f](g) " * 30
    return "\n\n".join([line] * int(megabytes * 1e6 / len(line)))
