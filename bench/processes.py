"""Commands as processes, and what the system knows of them: time, CPU time of all descendants, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Measured(NamedTuple):
    """One command from start to exit."""

    seconds: float
    cpu_s: float  # user and system, of the command and all its descendants
    broker_cpu_s: float
    said: Any  # its JSON

    @property
    def all_cpu_s(self) -> float:
        return self.cpu_s + self.broker_cpu_s


class CommandFailed(RuntimeError):
    """A command that is measured did not do its work, so there is no number."""


def canonry(
    environment: dict[str, str],
    *words: str,
    broker_pid: int | None = None,
    meanwhile: Callable[[int], None] | None = None,
) -> Measured:
    """Runs `canonry WORDS --json`.

    Args:
        broker_pid: whose CPU time during the command is counted apart.
        meanwhile: called with the command's pid about every 0.2 s while it runs.

    Raises:
        CommandFailed: exit status above 1 (1 says that some documents are not as they should be).
    """
    broker_before = cpu_of(broker_pid) if broker_pid else 0.0
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", *words, "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    out = b""
    if meanwhile is not None:
        os.set_blocking(process.stdout.fileno(), False)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            meanwhile(process.pid)
            out += process.stdout.read() or b""
            time.sleep(0.2)
    out += process.stdout.read() or b""
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode not in (0, 1):
        raise CommandFailed(f"canonry {' '.join(words)} ended with {process.returncode}")
    broker = cpu_of(broker_pid) - broker_before if broker_pid else 0.0
    return Measured(seconds, usage.ru_utime + usage.ru_stime, broker, json.loads(out))


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat after the name, which may hold anything; [1] is the parent."""
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()


def cpu_of(pid: int) -> float:
    """CPU seconds of one process until now; 0 when it is gone or the system has no /proc."""
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process and its living children until now."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    except OSError:
        return cpu_of(pid)
    return cpu_of(pid) + sum(cpu_of(int(child)) for child in children)


def rss_mb(pid: int) -> float | None:
    """Resident memory in MiB, or None."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return None


def child(pid: int, word: str) -> int | None:
    """The child of a process that has this word in its command line."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int(_stat(int(entry.name))[1]) == pid and word in (entry / "cmdline").read_text("utf-8").split("\0"):
                    return int(entry.name)
            except (OSError, IndexError):
                continue
    return None
