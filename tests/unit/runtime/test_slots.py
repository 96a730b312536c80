"""Slots with real processes: whatever a job does, it costs one attempt of one document."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from streams.errors import DocumentError, SlotFailure, SlotUnavailable
from streams.records import Block, BlockKind, BlockSource, CanonBody
from streams.records.codec import encode
from streams.runtime.frames import LENGTHS, Step, pack
from streams.runtime.jobs import ScreenAnswer, ScreenArgs
from streams.runtime.slots import Slots
from streams.settings import WorkerSettings

MODULE = "tests.unit.runtime.extra_jobs"


def settings(slots: int = 1, slot_jobs: int = 2000, memory_mb: int = 300) -> WorkerSettings:
    return WorkerSettings(slots=slots, slot_memory_mb=memory_mb, slot_jobs=slot_jobs, job_timeout_s=30)


@contextlib.asynccontextmanager
async def running(slots: int = 1, slot_jobs: int = 2000, memory_mb: int = 300) -> AsyncIterator[Slots]:
    pool = Slots(settings(slots, slot_jobs, memory_mb), MODULE)
    try:
        yield pool
    finally:
        await pool.stop()


def network_can_be_taken_away() -> bool:
    commands = (["unshare", "--net", "true"], ["unshare", "--user", "--net", "true"])
    return any(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def works(pool: Slots) -> None:
    """The next job gets its own answer."""
    assert (await pool.run("echo", {"n": 7}, dict[str, int], body=b"next"))[:2] == ({"n": 7}, b"next")


async def test_results_and_bodies_come_back_as_they_are() -> None:
    async with running() as pool:
        body = os.urandom(3 << 20)
        result, out, seconds = await pool.run("echo", ["ä", 1, None], list[object], body=body)
        assert (result, out) == (["ä", 1, None], body)
        assert seconds >= 0


@pytest.mark.parametrize("how", ["die", "segfault", "leave"])
async def test_a_process_that_ends_in_the_middle_of_a_job_costs_that_job_only(how: str) -> None:
    async with running() as pool:
        with pytest.raises(SlotFailure) as failure:
            await pool.run(how, "SIGKILL", str)
        assert failure.value.problem == "crashed"
        said = {"die": "SIGKILL", "segfault": "SIGSEGV", "leave": "exit status 3"}[how]
        assert said in failure.value.message
        await works(pool)


async def test_a_process_killed_from_outside_costs_its_job_and_no_other(tmp_path: Path) -> None:
    async with running(slots=2) as pool:
        await pool.warm_up()
        marks = [tmp_path / "victim", tmp_path / "other"]
        victim = asyncio.create_task(pool.run("sleep", [str(marks[0]), 60], str))
        await until(marks[0].exists)
        other = asyncio.create_task(pool.run("sleep", [str(marks[1]), 0.5], str))
        await until(marks[1].exists)
        # The last slot put back is taken first, so the victim runs in the last of them.
        target = pool._all[-1].pid
        assert target is not None
        os.kill(target, signal.SIGKILL)
        with pytest.raises(SlotFailure, match="SIGKILL"):
            await victim
        assert (await other)[0] == "slept"
        await works(pool)


@pytest.mark.parametrize("attempts", [1, 2])
async def test_a_process_killed_while_it_loads_leaves_the_others_alone(attempts: int) -> None:
    async with running(slots=3) as pool:
        pool._settings = pool._settings.model_copy(update={"max_attempts": attempts})
        loading = asyncio.create_task(pool.warm_up())
        await until(lambda: len(pool.pids) == 3)
        os.kill(pool.pids[0], signal.SIGKILL)
        jobs = [asyncio.create_task(pool.run("echo", n, int, body=b"%d" % n)) for n in range(12)]
        if attempts == 1:
            with pytest.raises(SlotFailure, match=r"SIGKILL|did not start"):
                await loading
        else:
            await loading
        assert [(await job)[:2] for job in jobs] == [(n, b"%d" % n) for n in range(12)]


async def test_a_job_that_takes_too_long_is_killed_with_its_children_and_replaced(tmp_path: Path) -> None:
    async with running() as pool:
        await pool.warm_up()
        before = pool.pids
        with pytest.raises(SlotFailure) as failure:
            await pool.run("child", str(tmp_path / "child"), str, timeout_s=1.5)
        assert failure.value.problem == "timeout"
        child = int((tmp_path / "child").read_text())
        await until(lambda: not alive(child) and not alive(before[0]))
        await works(pool)
        assert pool.pids != before


async def test_a_job_that_burns_its_cpu_seconds_is_a_timeout() -> None:
    async with running() as pool:
        with pytest.raises(SlotFailure) as failure:
            await pool.run("spin", 0, str)
        assert failure.value.problem == "timeout"
        assert "CPU" in failure.value.message
        await works(pool)


async def test_a_job_tells_how_far_it_is_now_and_then() -> None:
    steps: list[tuple[int, int]] = []
    async with running() as pool:
        for _ in range(2):  # the second job comes within the second
            said = await pool.run("pages", [1000, 0.0], str, told=lambda *step: steps.append(step))
            assert said[0] == "read"
        assert steps == [(0, 1000)]
        await pool.run("pages", [12, 0.1], str, told=lambda *step: steps.append(step))
        assert 1 <= len(steps[1:]) <= 2
        assert all(total == 12 and 0 < done < 12 for done, total in steps[1:])
        await pool.run("pages", [1, 0.0], str)  # nobody has to listen
        await works(pool)


@pytest.mark.parametrize(
    ("frame", "times"),
    [
        (pack(Step(1, 2)), 1000),
        (pack(Step(1, 2), b"more"), 1),
        (pack(Step(3, 2)), 1),
        (LENGTHS.pack(3, 0) + b"\xff{}", 1),
        (LENGTHS.pack(2**32 - 1, 2**32 - 1), 1),
    ],
)
async def test_a_process_that_says_what_no_slot_says_is_replaced(frame: bytes, times: int) -> None:
    heard: list[tuple[int, int]] = []
    async with running() as pool:
        args = [base64.b64encode(frame).decode(), times]
        with pytest.raises(SlotFailure) as failure:
            await pool.run("forge", args, str, told=lambda *step: heard.append(step))
        assert failure.value.problem == "crashed"
        assert len(heard) <= 32  # once a second in the 30 that a job may take
        await works(pool)


async def test_memory_has_a_limit_and_the_slot_is_replaced_after_it() -> None:
    async with running() as pool:
        await pool.warm_up()
        before = pool.pids
        with pytest.raises(SlotFailure) as failure:
            await pool.run("eat", 2000, int)
        assert failure.value.problem == "out_of_memory"
        await works(pool)
        assert pool.pids != before
        assert (await pool.run("eat", 50, int))[0] == 50 << 20


async def test_a_cancelled_job_does_not_give_its_answer_to_the_next(tmp_path: Path) -> None:
    async with running() as pool:
        mark = tmp_path / "began"
        job = asyncio.create_task(pool.run("sleep", [str(mark), 1], str))
        await until(mark.exists)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        await works(pool)


async def test_a_job_cancelled_while_its_process_starts_leaves_no_frame_behind() -> None:
    async with running() as pool:
        for _ in range(3):
            job = asyncio.create_task(pool.run("echo", 1, int))
            await until(lambda: bool(pool.pids))
            job.cancel()
            await asyncio.gather(job, return_exceptions=True)
            await works(pool)
            await pool.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
async def test_there_is_no_network_inside() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        async with running() as pool:
            result, _, _ = await pool.run("dial", server.getsockname()[1], str)
    if result == "connected" and not network_can_be_taken_away():
        pytest.skip("This machine lets nobody take the network away.")
    assert result != "connected"


@pytest.mark.skipif(sys.platform != "linux", reason="PDEATHSIG is Linux's")
async def test_a_slot_ends_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys, time\n"
        "from streams.runtime.slots import Slots\n"
        "from streams.settings import WorkerSettings\n"
        "async def main():\n"
        "    pool = Slots(WorkerSettings(slots=2))\n"
        "    await pool.warm_up()\n"
        "    print(*pool.pids, flush=True)\n"
        "    time.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    parent.kill()
    await parent.wait()
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_job_that_prints_does_not_break_the_frames() -> None:
    async with running() as pool:
        assert (await pool.run("chatter", None, str))[0] == ""
        await works(pool)


async def test_a_slot_is_recycled_after_its_jobs() -> None:
    async with running(slot_jobs=3) as pool:
        pids = [(await pool.run("pid", None, int))[0] for _ in range(7)]
        assert [len(set(pids[0:3])), len(set(pids[3:6])), len(set(pids))] == [1, 1, 3]


async def test_exceptions_become_the_documents_problem() -> None:
    async with running() as pool:
        with pytest.raises(DocumentError) as error:
            await pool.run("fail", None, str)
        assert error.value.problem == "parser_error"
        assert "KeyError" in error.value.message
        with pytest.raises(DocumentError, match="Nested too deep"):
            await pool.run("dive", None, str)
        await works(pool)


async def test_files_have_a_largest_size(tmp_path: Path) -> None:
    async with running() as pool:
        with pytest.raises((DocumentError, SlotFailure)):
            await pool.run("write", [str(tmp_path / "huge"), 5000], str)
        assert not (tmp_path / "huge").exists() or (tmp_path / "huge").stat().st_size < 4000 << 20
        await works(pool)


async def test_jobs_wait_for_a_free_slot() -> None:
    async with running(slots=2) as pool:
        results = await asyncio.gather(*(pool.run("echo", n, int) for n in range(12)))
        assert [result for result, _, _ in results] == list(range(12))
        assert len(pool.pids) == 2


async def test_no_process_to_be_had_is_no_fault_of_a_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with running(slots=1) as pool:
        with monkeypatch.context() as without:
            without.setattr(sys, "executable", str(tmp_path / "no-python"))
            with pytest.raises(SlotUnavailable, match="No such file") as failure:
                await pool.run("echo", 1, int)
            assert failure.value.transient
        await works(pool)


async def test_a_module_that_does_not_exist_is_a_failure_not_a_hang() -> None:
    pool = Slots(settings(), "streams.runtime.no_such_module")
    with pytest.raises(SlotFailure, match="did not start"):
        await pool.run("echo", 1, int)
    await pool.stop()


async def test_screening_takes_no_address_space_from_the_libraries_that_come_after_it() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    block = Block(kind=BlockKind.PARAGRAPH, text=words, source=BlockSource.TEXT_LAYER)
    canon = CanonBody(
        content_hash="", fingerprint="", extractor="", extractor_version="", media_type="text/plain", blocks=[block]
    )
    async with running(memory_mb=1500) as pool:
        await pool.run("screen", ScreenArgs(size=len(words)), ScreenAnswer, body=encode(canon))
        size_mb = (await pool.run("space", None, int))[0] >> 20
    assert size_mb < 700
