"""The process of one slot: reads a job, does it, answers, and again. Everything hostile happens in here.

It has no network (where the system allows to take it away), bounded memory, CPU time and file size, no way to gain
rights, its own session (so that killing it takes its children along), and it ends when its parent does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
import traceback
from typing import BinaryIO

import msgspec

from streams.errors import DocumentError
from streams.extract.progress import listen
from streams.runtime.frames import LENGTHS, STEP_EVERY_S, Answer, Call, Step, pack, read_exactly
from streams.runtime.jobs import JOBS

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000


def confine(memory_mb: int, file_mb: int, parent: int) -> None:
    """Takes away what a parser does not need. What a platform does not offer is left as it is."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above; in a container it may be process 1
            os._exit(0)
        if libc.unshare(CLONE_NEWNET) != 0:
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    with contextlib.suppress(ValueError, OSError):
        used = _address_space()
        limit = used + memory_mb * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_mb << 20, file_mb << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 30


def limit_cpu(seconds: float) -> None:
    """CPU seconds from now on; a backstop for the parent's clock, which kills by wall time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def answer(call: Call, body: bytes) -> bytes:
    """Does one job. The document's faults and the job's bugs both become answers."""
    started = time.perf_counter()
    try:
        result, out = JOBS[call.job](call.args, body)
        raw = msgspec.Raw(msgspec.json.encode(result))
        return pack(Answer(seconds=time.perf_counter() - started, result=raw), out)
    except DocumentError as error:
        said = Answer(seconds=time.perf_counter() - started, problem=error.problem, message=error.message)
    except MemoryError:
        said = Answer(
            seconds=time.perf_counter() - started,
            problem="out_of_memory",
            message="It needs more memory than a slot has.",
            exhausted=True,
        )
    except RecursionError as error:
        said = Answer(
            seconds=time.perf_counter() - started, problem="parser_error", message=f"Nested too deep: {error}."
        )
    except Exception as error:  # noqa: BLE001 - nothing is lost: the answer carries it, and the document is held
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = Answer(
            seconds=time.perf_counter() - started,
            problem="parser_error",
            message=f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})",
            bug=True,
        )
    return pack(said)


class Teller:
    """Tells the parent how far a job is, now and then: a short job says nothing, or one step."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._next = 0.0  # the clock goes on from job to job, or a slot with many short ones would tell of each

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + STEP_EVERY_S
            self._sink.write(pack(Step(done, total)))
            self._sink.flush()


def main() -> int:
    memory_mb, file_mb, parent, niceness = (int(argument) for argument in sys.argv[1:5])
    # The pipes move away from 0 and 1: a library that prints or reads must not touch the frames.
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.nice(niceness)
    confine(memory_mb, file_mb, parent)
    decoder = msgspec.json.Decoder(Call)
    listen(Teller(sink))
    sink.write(pack({"ready": os.getpid()}))
    sink.flush()
    while (head := read_exactly(source, LENGTHS.size)) is not None:
        head_size, body_size = LENGTHS.unpack(head)
        raw = read_exactly(source, head_size)
        body = read_exactly(source, body_size)
        if raw is None or body is None:
            break
        call = decoder.decode(raw)
        limit_cpu(call.cpu_seconds)
        sink.write(answer(call, body))
        sink.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
