"""Single-process slots for CPU work: a job that dies, hangs or eats all memory costs one attempt of one document.

One shared process pool would take every document in flight down with the one that kills its process
(concurrent.futures.process.BrokenProcessPool), and `max_tasks_per_child` can hang (cpython#115634); so each slot is a
process of its own, replaced when it fails and after a number of jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from streams.errors import DocumentError, SlotFailure, SlotUnavailable
from streams.extract.progress import Told
from streams.runtime.frames import LENGTHS, MAX_FRAME, STEP_EVERY_S, Answer, Call, Step, pack
from streams.settings import WorkerSettings

log = logging.getLogger(__name__)

T = TypeVar("T")
START_TIMEOUT_S = 60.0
LAST_WORDS_S = 2.0
FILE_MB = 2048
SLOT_MODULE = "streams.runtime.slot_main"
_SAID: msgspec.json.Decoder[Answer | Step] = msgspec.json.Decoder(Answer | Step)


def slot_environment() -> dict[str, str]:
    """This environment without our settings: a parser has no use for passwords. One thread for each slot.

    mimalloc (in rensa) would reserve 1 GiB of the address space that a slot may have at its first use.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CANONRY_")}
    one_thread = {"OMP_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return inherited | one_thread | {"MIMALLOC_ARENA_RESERVE": "32MiB"}


class Slot:
    """One process, one job at a time.

    Args:
        niceness: see `Slots`.
        module: what the process runs: `streams.runtime.slot_main`, or a module that adds to its jobs.
    """

    def __init__(self, settings: WorkerSettings, module: str = SLOT_MODULE, niceness: int = 0) -> None:
        self._settings = settings
        self._niceness = niceness
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._jobs = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self._module,
                str(self._settings.slot_memory_mb),
                str(FILE_MB),
                str(os.getpid()),
                str(self._niceness),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                limit=1 << 20,
                env=slot_environment(),
            )
        except OSError as error:
            raise SlotUnavailable(f"No process could be started for a slot: {error.strerror or error}.") from error
        self._process = process
        self._jobs = 0
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await self._read(process)
        except (asyncio.IncompleteReadError, TimeoutError) as error:
            await self.stop()
            raise SlotFailure("crashed", "A slot's process did not start.") from error
        except BaseException:  # cancelled: its greeting would be taken for the answer to a job
            await self.stop()
            raise
        return process

    @staticmethod
    async def _read(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
        assert process.stdout is not None
        head_size, body_size = LENGTHS.unpack(await process.stdout.readexactly(LENGTHS.size))
        if head_size + body_size > MAX_FRAME:
            raise SlotFailure("crashed", "A slot's process sent more than it can hold.")
        head = await process.stdout.readexactly(head_size)
        return head, await process.stdout.readexactly(body_size)

    async def _answer(
        self, process: asyncio.subprocess.Process, told: Told | None, timeout_s: float
    ) -> tuple[Answer, bytes]:
        """The answer, after the steps that come before it.

        Raises:
            SlotFailure: it says what our slots never say, or tells more steps than they would.
        """
        for _ in range(2 + int(timeout_s / STEP_EVERY_S)):
            head, out = await self._read(process)
            try:
                said = _SAID.decode(head)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise SlotFailure("crashed", "Its process sent what is no answer.") from error
            if isinstance(said, Answer):
                return said, out
            if out or said.done > said.total:
                break
            if told is not None:
                told(said.done, said.total)
        raise SlotFailure("crashed", "Its process told how far it is in a way that no slot does.")

    async def run(
        self, job: str, args: Any, body: bytes, timeout_s: float, told: Told | None = None
    ) -> tuple[Answer, bytes]:
        """Does one job; `told` hears how far it is.

        Raises:
            SlotFailure: the process ended without an answer (`crashed`, `out_of_memory`) or in time (`timeout`).
        """
        if self._process is None or self._process.returncode is not None or self._jobs >= self._settings.slot_jobs:
            await self.stop()
            await self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        self._jobs += 1
        call = Call(job, msgspec.Raw(msgspec.json.encode(args)), cpu_seconds=timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                process.stdin.write(pack(call, body))
                await process.stdin.drain()
                answer, out = await self._answer(process, told, timeout_s)
        except SlotFailure:
            await self.stop()
            raise
        except TimeoutError:
            await self.stop()
            raise SlotFailure("timeout", f"It took longer than {timeout_s:g} seconds and was stopped.") from None
        except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError):
            with contextlib.suppress(TimeoutError):  # its pipe is closed before it has ended: let it say how
                async with asyncio.timeout(LAST_WORDS_S):
                    await process.wait()
            await self.stop()
            code = process.returncode
            if code == -signal.SIGXCPU:
                raise SlotFailure("timeout", f"It used more than {timeout_s:g} seconds of CPU.") from None
            name = signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
            raise SlotFailure("crashed", f"Its process ended with {name} while working on it.") from None
        except asyncio.CancelledError:
            await self.stop()  # its answer would be taken for the next job's
            raise
        if answer.exhausted:
            await self.stop()
        return answer, out

    async def stop(self) -> None:
        """Kills the process and all it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


class Slots:
    """A fixed number of slots; jobs wait for a free one, first come, first served."""

    def __init__(
        self,
        settings: WorkerSettings,
        module: str = SLOT_MODULE,
        *,
        on_failure: Callable[[str], None] | None = None,
        niceness: int = 0,
    ) -> None:
        """
        Args:
            niceness: how far the processes step back behind others, 0 to 19.
            on_failure: told of each SlotFailure, by its problem.
        """
        self._settings = settings
        self._on_failure = on_failure or (lambda problem: None)
        self._all = [Slot(settings, module, niceness) for _ in range(settings.slots)]
        self._free: asyncio.LifoQueue[Slot] = asyncio.LifoQueue()
        for slot in self._all:
            self._free.put_nowait(slot)

    @property
    def pids(self) -> list[int]:
        return [slot.pid for slot in self._all if slot.pid is not None]

    async def warm_up(self) -> None:
        """Starts every process now and has it load its models, so that the first documents don't wait for that.

        Raises:
            SlotFailure: a process does not start, or ends while it loads, as often as a document's may.
        """
        slots = [await self._free.get() for _ in self._all]
        loading = asyncio.gather(*map(self._warm, slots), return_exceptions=True)
        try:
            # Also when one has failed, the others go on: a slot that got a job meanwhile would mix up its two answers.
            failures = [failure for failure in await loading if isinstance(failure, BaseException)]
        finally:
            for slot in reversed(slots):
                self._free.put_nowait(slot)
        if failures:
            raise failures[0]

    async def _warm(self, slot: Slot) -> None:
        for attempt in range(1, self._settings.max_attempts + 1):
            try:
                await slot.run("warm", None, b"", START_TIMEOUT_S)
                return
            except SlotFailure as error:
                if attempt == self._settings.max_attempts:
                    raise
                log.warning("A slot ended while it loaded and is started again: %s", error)

    async def run(
        self,
        job: str,
        args: Any,
        result: type[T],
        *,
        body: bytes = b"",
        timeout_s: float | None = None,
        told: Told | None = None,
    ) -> tuple[T, bytes, float]:
        """Does one job in a free slot: its result, its bytes, and its seconds.

        Args:
            told: hears now and then how many pages of how many are done, where the job has pages.

        Raises:
            DocumentError: the document is at fault, with its problem code.
            SlotFailure: the process died, ran out of memory or of time. One attempt is spent.
        """
        slot = await self._free.get()
        try:
            answer, out = await slot.run(job, args, body, timeout_s or self._settings.job_timeout_s, told)
        except SlotFailure as error:
            self._on_failure(error.problem)
            raise
        finally:
            self._free.put_nowait(slot)
        if answer.problem == "out_of_memory":
            self._on_failure("out_of_memory")
            raise SlotFailure("out_of_memory", answer.message or "")
        if answer.problem is not None:
            if answer.bug:
                log.error("Job %s failed on a document: %s", job, answer.message)
            raise DocumentError(answer.problem, answer.message or "")
        return msgspec.json.decode(answer.result, type=result), out, answer.seconds

    async def stop(self) -> None:
        await asyncio.gather(*(slot.stop() for slot in self._all))
