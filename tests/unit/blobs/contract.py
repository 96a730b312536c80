"""What every blob store must do; each implementation's tests inherit these and bring a `store` fixture."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from pathlib import Path

import pytest

from streams.blobs import BlobKeyInvalid, BlobStore, Found, Stored, canon_key, original_key
from streams.errors import BlobCorrupt, BlobNotFound

CONTENT = hashlib.sha256(b"content").hexdigest()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class BrokenStream(io.BytesIO):
    """Gives some bytes, then fails as a network share does."""

    def read(self, size: int | None = -1) -> bytes:
        if data := super().read(size):
            return data
        raise ConnectionResetError("the share went away")


class BlobStoreContract:
    def test_original_comes_back(self, store: BlobStore) -> None:
        data = b"hello \x00 world"
        assert store.put_file(io.BytesIO(data)) == Stored(sha(data), len(data), True)
        key = original_key(sha(data))
        assert store.get(key, sha256=sha(data)) == data
        assert store.find(key) == Found(sha(data), len(data))
        assert store.exists(key)

    def test_same_original_twice_is_stored_once(self, store: BlobStore) -> None:
        assert store.put_file(io.BytesIO(b"twice")).created
        assert store.put_file(io.BytesIO(b"twice")) == Stored(sha(b"twice"), 5, False)

    def test_empty_original(self, store: BlobStore) -> None:
        stored = store.put_file(io.BytesIO(b""))
        assert (stored.sha256, stored.size) == (sha(b""), 0)
        assert store.get(original_key(stored.sha256), sha256=stored.sha256) == b""

    def test_original_of_many_chunks(self, store: BlobStore) -> None:
        data = os.urandom(1 << 20) * 20 + b"end"
        stored = store.put_file(io.BytesIO(data))
        assert stored == Stored(sha(data), len(data), True)
        with store.local_copy(original_key(stored.sha256), sha256=stored.sha256) as path:
            assert path.read_bytes() == data
        assert not store.put_file(io.BytesIO(data)).created

    def test_broken_stream_passes_through_and_stores_nothing(self, store: BlobStore) -> None:
        with pytest.raises(ConnectionResetError, match="went away"):
            store.put_file(BrokenStream(b"half a document"))
        assert not store.exists(original_key(sha(b"half a document")))

    def test_put_is_write_once(self, store: BlobStore) -> None:
        key = canon_key(CONTENT, "fp-once")
        assert store.find(key) is None
        assert store.put(key, b"first")
        assert not store.put(key, b"first")
        assert not store.put(key, b"second")
        assert store.find(key) == Found(sha(b"first"), 5)
        assert store.get(key, sha256=sha(b"first")) == b"first"

    def test_original_by_put_must_have_its_hash(self, store: BlobStore) -> None:
        with pytest.raises(BlobCorrupt):
            store.put(original_key(sha(b"a")), b"b")
        assert store.put(original_key(sha(b"put original")), b"put original")
        assert not store.put_file(io.BytesIO(b"put original")).created

    def test_wrong_expectation_is_corruption(self, store: BlobStore) -> None:
        key = canon_key(CONTENT, "fp-wrong")
        store.put(key, b"data")
        with pytest.raises(BlobCorrupt, match=sha(b"data")):
            store.get(key, sha256=sha(b"other"))
        with pytest.raises(BlobCorrupt), store.local_copy(key, sha256=sha(b"other")):
            pytest.fail("the block must not be entered")

    def test_missing(self, store: BlobStore) -> None:
        for key in (original_key(sha(b"nowhere")), canon_key(sha(b"nowhere"), "fp")):
            assert not store.exists(key)
            assert store.find(key) is None
            assert not store.delete(key)
            with pytest.raises(BlobNotFound, match="not in the blob store"):
                store.get(key, sha256=sha(b"nowhere"))
            with pytest.raises(BlobNotFound), store.local_copy(key, sha256=sha(b"nowhere")):
                pytest.fail("the block must not be entered")

    def test_local_copy_of_a_canon(self, store: BlobStore) -> None:
        key = canon_key(CONTENT, "fp-local")
        store.put(key, b"{}")
        with store.local_copy(key, sha256=sha(b"{}")) as path:
            assert isinstance(path, Path)
            assert path.read_bytes() == b"{}"

    def test_deleted_is_gone_and_may_come_again(self, store: BlobStore) -> None:
        key = canon_key(CONTENT, "fp-delete")
        store.put(key, b"old")
        assert store.delete(key)
        assert not store.exists(key)
        assert not store.delete(key)
        assert store.put(key, b"new")
        assert store.get(key, sha256=sha(b"new")) == b"new"
        stored = store.put_file(io.BytesIO(b"to be erased"))
        assert store.delete(original_key(stored.sha256))
        assert not store.exists(original_key(stored.sha256))

    def test_erasing_a_content_takes_all_of_it_and_nothing_else(self, store: BlobStore) -> None:
        content, other = store.put_file(io.BytesIO(b"to be erased")), store.put_file(io.BytesIO(b"to be kept"))
        mine = [canon_key(content.sha256, "fp-1"), canon_key(content.sha256, "fp-2"), f"pages/{content.sha256}/1"]
        others = [canon_key(other.sha256, "fp-1"), f"pages/{other.sha256}/1"]
        for key in (*mine, *others):
            store.put(key, b"text")
        assert store.erase(content.sha256) == [*mine, original_key(content.sha256)]
        assert not any(store.exists(key) for key in (*mine, original_key(content.sha256)))
        assert all(store.exists(key) for key in (*others, original_key(other.sha256)))
        assert store.erase(content.sha256) == []
        assert store.put(mine[0], b"text again")
        assert store.erase(content.sha256) == [mine[0]]

    @pytest.mark.parametrize(
        "key",
        [
            "",
            "originals/",
            "originals/../../etc/passwd",
            f"originals/{CONTENT}/x",
            f"originals/{CONTENT.upper()}",
            f"originals/{CONTENT}\n",
            f"canons/{CONTENT}",
            f"canons/{CONTENT}/",
            f"canons/{CONTENT}/..",
            f"canons/{CONTENT}/a/b",
            f"canons/{CONTENT}/fp.{CONTENT}",
            f"canons/{CONTENT}/{'a' * 129}",
            f"canons/{CONTENT}/a\x00",
            f"/canons/{CONTENT}/a",
            f"elsewhere/{CONTENT}/a",
        ],
    )
    def test_keys_that_cannot_be(self, store: BlobStore, key: str) -> None:
        with pytest.raises(BlobKeyInvalid):
            store.put(key, b"x")
        with pytest.raises(BlobKeyInvalid):
            store.get(key, sha256=sha(b"x"))
        with pytest.raises(BlobKeyInvalid):
            store.find(key)
        with pytest.raises(BlobKeyInvalid):
            store.exists(key)
        with pytest.raises(BlobKeyInvalid):
            store.delete(key)
        with pytest.raises(BlobKeyInvalid), store.local_copy(key, sha256=sha(b"x")):
            pytest.fail("the block must not be entered")

    def test_expected_hash_must_be_one(self, store: BlobStore) -> None:
        with pytest.raises(BlobKeyInvalid):
            store.get(original_key(CONTENT), sha256="")

    def test_one_of_many_writers_wins(self, store: BlobStore) -> None:
        start = threading.Barrier(8)
        wins: list[bytes] = []

        def write(number: int) -> None:
            data = b"canon %d" % number
            start.wait()
            if store.put(canon_key(CONTENT, "fp-race"), data):
                wins.append(data)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(wins) == 1
        assert store.find(canon_key(CONTENT, "fp-race")) == Found(sha(wins[0]), len(wins[0]))
        assert store.get(canon_key(CONTENT, "fp-race"), sha256=sha(wins[0])) == wins[0]

    def test_same_original_from_many_threads(self, store: BlobStore) -> None:
        data = b"everybody has this" * 10_000
        start = threading.Barrier(6)
        results: list[Stored] = []

        def write() -> None:
            start.wait()
            results.append(store.put_file(io.BytesIO(data)))

        threads = [threading.Thread(target=write) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 6
        assert sum(r.created for r in results) == 1
        assert {r.sha256 for r in results} == {sha(data)}

    def test_check_passes(self, store: BlobStore) -> None:
        store.check()
