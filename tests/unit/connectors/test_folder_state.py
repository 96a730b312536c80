"""What the folder connector remembers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.connectors.folder_state import After, Confirmation, FolderState, Stat, StateUnusable, signed

STAT = Stat(1, 2, 3, 4, 5)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[FolderState]:
    state = FolderState(tmp_path / "connectors" / "docs.db")
    yield state
    state.close()


def known(state: FolderState, raw: bytes, offset: int = 0) -> int:
    row = state.add(raw.decode(), After(raw, raw.decode(), STAT, None))
    after = After(raw, raw.decode(), STAT, "hash")
    state.confirm([Confirmation(row.id, f"docs:{raw.decode()}", 0, offset, after)])
    return row.id


def test_pending_until_confirmed(state: FolderState) -> None:
    row = state.add("a", After(b"a", "a", STAT, None))
    assert row.pending
    state.confirm([Confirmation(row.id, "docs:a", 2, 7, After(b"a", "a", STAT, "hash"))])
    again = state.by_path(b"a")
    assert again is not None
    assert (again.pending, again.sha256, again.stat) == (0, "hash", STAT)
    state.mark([row.id])
    marked = state.by_id("a")
    assert marked is not None
    assert marked.pending == 1


def test_settling(state: FolderState) -> None:
    known(state, b"a", 3)
    known(state, b"b", 4)
    assert state.unsettled() == [("docs:a", 0, 3), ("docs:b", 0, 4)]
    state.settle("docs:a", 0, 3)
    assert state.unsettled() == [("docs:b", 0, 4)]
    state.settle("docs:b", 0, 2)  # an older event's outcome
    assert state.unsettled() == [("docs:b", 0, 4)]
    state.settle("docs:b", 0, 4)
    state.settle("docs:c", 1, 9)  # seen before our own confirmation was written
    known(state, b"c", 9)
    assert state.unsettled() == [("docs:c", 0, 9)] or state.unsettled() == []


def test_outcome_seen_before_the_confirmation(state: FolderState) -> None:
    state.settle("docs:c", 0, 9)
    row_id = known(state, b"c", 9)
    assert state.unsettled() == []
    state.confirm([Confirmation(row_id, "docs:c", 0, 10, None)])  # a delete is an event of its own
    assert state.unsettled() == [("docs:c", 0, 10)]
    assert state.by_id("c") is None


def test_confirmations_are_all_or_none(state: FolderState) -> None:
    row = state.add("a", After(b"a", "a", STAT, None))
    good = Confirmation(row.id, "docs:a", 0, 1, After(b"a", "a", STAT, "hash"))
    bad = Confirmation(row.id, None, 0, 1, None)  # type: ignore[arg-type]
    with pytest.raises(StateUnusable):
        state.confirm([good, bad])
    again = state.by_id("a")
    assert again is not None
    assert again.pending == 1


def test_unseen_beneath_a_path(state: FolderState) -> None:
    for raw in (b"a", b"a/x", b"a/y/z", b"a-b", b"a0", b"b"):
        known(state, raw)
    state.start()
    seen = state.by_path(b"a/x")
    assert seen is not None
    state.see([seen.id])
    assert [row.raw for row in state.unseen(b"a")] == [b"a", b"a/y/z"]
    assert len(state.unseen(b"")) == 5


def test_path_that_another_document_took(state: FolderState) -> None:
    first, second = known(state, b"a"), known(state, b"b")
    state.confirm([Confirmation(first, "docs:a", 0, 2, After(b"b", "b", STAT, "hash"))])
    row = state.by_path(b"b")
    assert row is not None
    assert row.id == first
    other = state.by_id("b")
    assert other is not None
    assert (other.id, other.pending) == (second, 1)


def test_second_process_can_settle_meanwhile(state: FolderState, tmp_path: Path) -> None:
    known(state, b"a", 3)
    other = FolderState(tmp_path / "connectors" / "docs.db")
    other.settle("docs:a", 0, 3)
    other.close()
    assert state.unsettled() == []


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
def test_unusable_file_is_an_error_that_names_it(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "docs.db"
    if content is not None:
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
        db.close()
    with pytest.raises(StateUnusable, match=r"docs\.db"):
        FolderState(path)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_numbers_that_sqlite_can_hold(one: int, other: int) -> None:
    assert -(2**63) <= signed(one) < 2**63
    assert (signed(one) == signed(other)) == (one == other)
