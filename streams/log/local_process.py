"""A broker as a process of this machine that outlives its starter: spawned, recognised again, awaited and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from streams.errors import BrokerUnavailable

HOST = "127.0.0.1"
STOP_TIMEOUT_S = 20.0

_POLL_S = 0.05
_children: dict[int, subprocess.Popen[bytes]] = {}  # of this process; polled so that none stays a zombie


class BrokerInfo(msgspec.Struct, frozen=True):
    """A local broker's process."""

    kind: str
    """`kafka` or `tansu`."""
    pid: int
    address: str
    """`host:port` for clients."""
    started_at: datetime
    log_file: str
    marker: str
    """What stands in the command line of this very broker, so that a reused pid is never taken for it."""
    warning: str = ""
    """What a person must know about this kind; empty when there is nothing."""


OnSpawn = Callable[[BrokerInfo], None]


class StartFailed(BrokerUnavailable):
    """A local broker ended or did not answer in time; the message carries the end of its log."""

    remedy = "Read the log file named above, then run `canonry broker start` again."


def spawn(
    kind: str,
    argv: Sequence[str],
    *,
    cwd: Path,
    address: str,
    log_file: Path,
    marker: str,
    environment: Mapping[str, str] | None = None,
    warning: str = "",
) -> BrokerInfo:
    """Starts a process of its own session, its output in `log_file`; the log of the start before is kept as `.1`."""
    if log_file.exists():
        log_file.replace(log_file.with_name(f"{log_file.name}.1"))
    with log_file.open("wb") as output:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C or a closed terminal ends the starter, not the broker
        )
    _children[child.pid] = child
    return BrokerInfo(kind, child.pid, address, datetime.now(UTC), str(log_file), marker, warning)


def is_running(info: BrokerInfo) -> bool:
    """Whether the process with this pid lives and is this broker."""
    child = _children.get(info.pid)
    if child is None:
        return info.marker in _command_line(info.pid)
    # Nobody else gets the pid of a child before it was polled, and its command line is empty right after the exec.
    if child.poll() is None:
        return True
    del _children[info.pid]
    return False


def wait_until_ready(info: BrokerInfo, timeout_s: float) -> None:
    """Returns when the broker answers a metadata request with itself.

    Raises:
        StartFailed: it ended, or did not answer in time (it is left as it is).
    """
    deadline = time.monotonic() + timeout_s
    with ThreadPoolExecutor(1) as thread:  # a loop may be running in this thread
        while True:
            if not is_running(info):
                raise StartFailed(f"The {info.kind} broker ended while it started. {tail(info)}")
            if _port_open(info.address) and thread.submit(asyncio.run, _answers(info.address, 5.0)).result():
                return
            if time.monotonic() > deadline:
                raise StartFailed(f"The {info.kind} broker did not answer within {timeout_s:g} s. {tail(info)}")
            time.sleep(_POLL_S)


def terminate(info: BrokerInfo, timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Ends the broker: SIGTERM, and SIGKILL when it has not ended in time. Nothing happens to another process.

    Raises:
        BrokerUnavailable: it survived SIGKILL, or belongs to another user.
    """
    if not _ended_by(info, signal.SIGTERM, timeout_s):
        kill(info)


def kill(info: BrokerInfo) -> None:
    """Ends the broker by SIGKILL at once. Errors as for `terminate`."""
    if not _ended_by(info, signal.SIGKILL, STOP_TIMEOUT_S):
        raise BrokerUnavailable(f"Process {info.pid}, the {info.kind} broker, can't be ended.")


def tail(info: BrokerInfo, lines: int = 15) -> str:
    """The end of the broker's log as a sentence."""
    path = Path(info.log_file)
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        return f"Its log {path} can't be read: {error}."
    last = last_lines(text, lines)
    return f"The end of {path}:\n{last}\n" if last else f"Its log {path} is empty."


def last_lines(text: str, lines: int) -> str:
    """The last lines that say something: without the frames of Java's stack traces, which push the reason out."""
    return "\n".join([line for line in text.strip().splitlines() if not line.startswith("\tat ")][-lines:])


def free_ports(preferred: Sequence[int]) -> list[int]:
    """As many loopback ports as are preferred, each the preferred one if it is free, else any (0: any)."""
    with ExitStack() as stack:
        return [_free_port(port, stack) for port in preferred]


def _ended_by(info: BrokerInfo, number: signal.Signals, timeout_s: float) -> bool:
    """Whether the broker is gone, at the latest `timeout_s` after this signal."""
    deadline = time.monotonic() + timeout_s
    if is_running(info):
        try:
            os.kill(info.pid, number)
        except ProcessLookupError:
            return True
        except PermissionError as error:
            raise BrokerUnavailable(f"Process {info.pid}, the broker, belongs to another user.") from error
    while running := is_running(info):
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    return not running


def _free_port(preferred: int, stack: ExitStack) -> int:
    for port in (preferred, 0):
        listener = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        # As servers do: connections of the last run that are still in TIME_WAIT don't make a port taken.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()
        except OSError:
            continue
        number: int = listener.getsockname()[1]
        return number
    raise BrokerUnavailable(f"No port is free on {HOST}.")


def _port_open(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1.0).close()
    except OSError:
        return False
    return True


async def _answers(address: str, timeout_s: float) -> bool:
    client = AIOKafkaClient(bootstrap_servers=address, request_timeout_ms=int(timeout_s * 1000))
    try:
        async with asyncio.timeout(timeout_s):
            await client.bootstrap()
            return bool(client.cluster.brokers())
    except (KafkaError, OSError):  # TimeoutError is an OSError
        return False
    finally:
        await client.close()


def _command_line(pid: int) -> str:
    """The command line of a living process; empty when there is none (a zombie has none either)."""
    proc = Path("/proc")
    if (proc / "self" / "cmdline").exists():
        try:
            raw = (proc / str(pid) / "cmdline").read_bytes()
        except OSError:
            return ""
        return os.fsdecode(raw.replace(b"\0", b" "))
    shown = subprocess.run(["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return os.fsdecode(shown.stdout)
