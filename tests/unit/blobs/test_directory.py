"""The directory store: the contract, and what only a file system can do to it."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streams.blobs import canon_key, original_key
from streams.blobs.directory import LEFTOVER_S, MARKER, DirectoryStore
from streams.errors import BlobCorrupt, BlobNotFound, BlobStoreUnavailable
from tests.unit.blobs.contract import CONTENT, BlobStoreContract, BrokenStream, sha


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "blobs"


@pytest.fixture
def store(root: Path) -> DirectoryStore:
    return DirectoryStore(root)


class TestContract(BlobStoreContract):
    pass


def original_path(root: Path, data: bytes) -> Path:
    digest = sha(data)
    return root / "originals" / digest[:2] / digest


def test_layout_and_mode(store: DirectoryStore, root: Path) -> None:
    old = os.umask(0)
    try:
        store.put_file(io.BytesIO(b"x"))
    finally:
        os.umask(old)
    path = original_path(root, b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o440
    assert path.stat().st_nlink == 1
    with store.local_copy(original_key(sha(b"x")), sha256=sha(b"x")) as copy:
        assert copy == path  # no copy is made
    assert path.exists()


def test_nothing_stays_in_tmp(store: DirectoryStore, root: Path) -> None:
    store.put_file(io.BytesIO(b"x"))
    store.put(canon_key(CONTENT, "fp"), b"1")
    store.put(canon_key(CONTENT, "fp"), b"2")
    with pytest.raises(ConnectionResetError):
        store.put_file(BrokenStream(b"y"))
    store.check()
    assert list((root / "tmp").iterdir()) == []


@pytest.mark.parametrize("damage", [b"bits flipped", b"cut", b""])
def test_damaged_original_is_never_returned(store: DirectoryStore, root: Path, damage: bytes) -> None:
    store.put_file(io.BytesIO(b"bits flippeD"))
    path = original_path(root, b"bits flippeD")
    path.chmod(0o640)
    path.write_bytes(damage)
    key, digest = original_key(sha(b"bits flippeD")), sha(b"bits flippeD")
    with pytest.raises(BlobCorrupt):
        store.get(key, sha256=digest)
    with pytest.raises(BlobCorrupt), store.local_copy(key, sha256=digest):
        pytest.fail("the block must not be entered")


def test_truncated_original_is_reported_when_stored_again_and_not_overwritten(
    store: DirectoryStore, root: Path
) -> None:
    store.put_file(io.BytesIO(b"whole"))
    path = original_path(root, b"whole")
    path.chmod(0o640)
    path.write_bytes(b"wh")
    with pytest.raises(BlobCorrupt, match="2 bytes instead of 5"):
        store.put_file(io.BytesIO(b"whole"))
    assert path.read_bytes() == b"wh"


def test_crash_before_the_claim_leaves_the_key_free(store: DirectoryStore, root: Path) -> None:
    store.put(canon_key(CONTENT, "fp"), b"canon")
    folder = root / "canons" / CONTENT[:2]
    (folder / f"{CONTENT}.fp").unlink()  # as if the process had died between the two steps
    assert store.find(canon_key(CONTENT, "fp")) is None
    assert store.put(canon_key(CONTENT, "fp"), b"canon")
    assert store.get(canon_key(CONTENT, "fp"), sha256=sha(b"canon")) == b"canon"


def test_a_store_of_another_layout_is_refused(store: DirectoryStore, root: Path) -> None:
    (root / "canonry-blobs.json").write_text('{"canonry_blobs": 1}\n')
    with pytest.raises(BlobStoreUnavailable, match="layout"):
        DirectoryStore(root)


def test_losing_writer_leaves_no_bytes(store: DirectoryStore, root: Path) -> None:
    store.put(canon_key(CONTENT, "fp"), b"one")
    store.put(canon_key(CONTENT, "fp"), b"two")
    folder = root / "canons" / CONTENT[:2]
    assert sorted(p.name for p in folder.iterdir()) == [f"{CONTENT}.fp", f"{CONTENT}.fp.{sha(b'one')}"]
    assert store.delete(canon_key(CONTENT, "fp"))
    assert not list(folder.iterdir())


def test_claims_that_canonry_never_wrote(store: DirectoryStore, root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    key = canon_key(CONTENT, "fp")
    store.put(key, b"canon")
    claim = root / "canons" / CONTENT[:2] / f"{CONTENT}.fp"
    claim.unlink()
    claim.symlink_to(secret)
    with pytest.raises(BlobCorrupt, match="never wrote"):
        store.get(key, sha256=sha(b"secret"))
    claim.unlink()
    claim.write_bytes(b"canon")  # a copying tool followed the link
    with pytest.raises(BlobCorrupt, match="no symbolic link"):
        store.find(key)
    claim.unlink()
    claim.symlink_to(f"{CONTENT}.fp.{sha(b'lost')}")
    with pytest.raises(BlobCorrupt, match="is missing"):
        store.get(key, sha256=sha(b"lost"))
    with pytest.raises(BlobCorrupt, match="is missing"):
        store.find(key)
    assert store.delete(key)
    assert store.put(key, b"made again")


def test_vanished_root_is_neither_empty_nor_made_again(store: DirectoryStore, root: Path) -> None:
    store.put_file(io.BytesIO(b"x"))
    shutil.move(root, root.with_name("elsewhere"))
    key, digest = original_key(sha(b"x")), sha(b"x")
    for remains in ("nothing", "an empty mount point"):
        for call in (
            lambda: store.get(key, sha256=digest),
            lambda: store.find(key),
            lambda: store.exists(key),
            lambda: store.delete(key),
            lambda: store.put_file(io.BytesIO(b"y")),
            lambda: store.put(canon_key(CONTENT, "fp"), b"y"),
            store.check,
        ):
            with pytest.raises(BlobStoreUnavailable, match="vanished"):
                call()
        assert root.exists() == (remains != "nothing")
        root.mkdir(exist_ok=True)
    root.rmdir()
    shutil.move(root.with_name("elsewhere"), root)
    assert store.get(key, sha256=digest) == b"x"


def test_foreign_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_bytes(b"precious")
    with pytest.raises(BlobStoreUnavailable, match="no blob store"):
        DirectoryStore(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.docx"]


def test_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_bytes(b"")
    with pytest.raises(BlobStoreUnavailable):
        DirectoryStore(tmp_path / "blobs")


def test_reopened_store_keeps_all_and_cleans_old_leftovers(store: DirectoryStore, root: Path) -> None:
    store.put_file(io.BytesIO(b"x"))
    old, young = root / "tmp" / "1-old", root / "tmp" / "1-young"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    past = time.time() - LEFTOVER_S - 1
    os.utime(old, (past, past))
    again = DirectoryStore(root, fsync=False)
    assert again.get(original_key(sha(b"x")), sha256=sha(b"x")) == b"x"
    assert not old.exists()
    assert young.exists()
    assert (root / MARKER).is_file()


@pytest.mark.parametrize(
    ("number", "says"), [(errno.ENOSPC, "Free space"), (errno.EACCES, "right to read and write"), (errno.EIO, "error")]
)
def test_errors_of_the_file_system_are_ours(
    store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def refuse(descriptor: int, data: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("streams.blobs.directory.os.write", refuse)
    with pytest.raises(BlobStoreUnavailable, match=says):
        store.put(canon_key(CONTENT, "fp"), b"x")
    with pytest.raises(BlobStoreUnavailable, match=says):
        store.put_file(io.BytesIO(b"x"))
    monkeypatch.undo()
    assert not store.exists(canon_key(CONTENT, "fp"))
    assert list((root / "tmp").iterdir()) == []


def test_full_disk(store: DirectoryStore, root: Path) -> None:
    """A file size limit stands in for a full disk: the write really fails, in a process of its own."""
    program = f"""
import io, resource, signal
from pathlib import Path
from streams.blobs.directory import DirectoryStore
from streams.errors import BlobStoreUnavailable
store = DirectoryStore(Path({str(root)!r}))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    store.put_file(io.BytesIO(bytes(3 << 20)))
except BlobStoreUnavailable as error:
    print("held:", error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "held: The blob store" in done.stdout
    assert not store.exists(original_key(sha(bytes(3 << 20))))
    assert list((root / "tmp").iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_directory_without_rights(store: DirectoryStore, root: Path) -> None:
    (root / "tmp").chmod(0o500)
    with pytest.raises(BlobStoreUnavailable, match="right to read and write"):
        store.put_file(io.BytesIO(b"x"))


def test_missing_is_told_apart_from_a_vanished_store(store: DirectoryStore) -> None:
    with pytest.raises(BlobNotFound):
        store.get(original_key(CONTENT), sha256=CONTENT)


def test_an_erasure_that_breaks_off_has_taken_the_original_and_the_next_takes_the_rest(
    store: DirectoryStore, root: Path
) -> None:
    """In the other order, a writer that is late would find the original and keep a text that nobody erases."""
    content = store.put_file(io.BytesIO(b"to be erased")).sha256
    key = canon_key(content, "fp")
    store.put(key, b"text")
    hindrance = root / "canons" / content[:2] / f"{content}.a"  # a folder can't be unlinked
    hindrance.mkdir()
    with pytest.raises(BlobStoreUnavailable):
        store.erase(content)
    assert not store.exists(original_key(content))
    assert store.exists(key)
    hindrance.rmdir()
    assert store.erase(content) == [key]
    assert not store.exists(key)


def test_erasing_takes_what_a_crash_left_without_a_name(store: DirectoryStore, root: Path) -> None:
    key = canon_key(CONTENT, "fp")
    store.put(key, b"text")
    claim = root / "canons" / CONTENT[:2] / f"{CONTENT}.fp"
    claim.unlink()  # as if the writer had died before it
    assert [path.read_bytes() for path in claim.parent.iterdir()] == [b"text"]
    store.erase(CONTENT)
    assert list(claim.parent.iterdir()) == []
