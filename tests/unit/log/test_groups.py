"""Members of groups as a person must know them, and the mark of a replay."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.log.groups import Member, ReplayMark, _member, client_id


def test_a_worker_names_itself_and_one_of_a_run_names_the_run() -> None:
    worker = _member(client_id(of_run=False), "127.0.0.1")
    assert str(worker) == f"the worker of `canonry worker`, process {os.getpid()} on this machine"
    assert worker.how_to_stop == f"`kill {os.getpid()}`, or stop the supervisor that starts it"
    of_run = _member(client_id(of_run=True), "127.0.0.1")
    assert str(of_run) == f"the worker of `canonry run`, process {os.getppid()} on this machine"
    assert of_run.how_to_stop.startswith(f"end `canonry run` with Ctrl-C or `kill {os.getppid()}`; its worker")


def test_members_elsewhere_and_those_of_others_are_named_too() -> None:
    elsewhere = _member("canonry-worker.7@mill", "10.0.0.7")
    assert (str(elsewhere), elsewhere.gone) == ("the worker of `canonry worker`, process 7 on mill", False)
    assert elsewhere.how_to_stop == "`kill 7` on mill, or stop the supervisor that starts it"
    stranger = _member("tool-3", "10.0.0.8")
    assert (str(stranger), stranger.how_to_stop) == ("the client tool-3 at 10.0.0.8", "stop the client tool-3")


def test_a_process_that_was_killed_is_said_to_be_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    member = _member(f"canonry-worker.{process.pid}@{socket.gethostname()}", "127.0.0.1")
    assert member.gone
    assert "leaves the group by itself" in str(member)
    assert member.how_to_stop == "wait ten seconds"
    assert isinstance(member, Member)


@given(st.text(), st.integers(0, 2**62))
def test_a_mark_comes_back_from_the_metadata_of_a_commit(run_id: str, until: int) -> None:
    assert ReplayMark.of(str(ReplayMark(run_id, until))) == ReplayMark(run_id, until)


@pytest.mark.parametrize("metadata", [None, "", "{}", "text", "7", '{"replay": 7}', '{"replay": {"run_id": "x"}}'])
def test_what_others_write_there_is_no_mark(metadata: str | None) -> None:
    assert ReplayMark.of(metadata) is None
