"""The S3 store against a real server: the contract, damage, rights, and a server that goes away and comes back."""

from __future__ import annotations

import io
import itertools
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.blobs import canon_key, original_key
from streams.blobs.s3 import PART_BYTES, S3Store
from streams.errors import BlobCorrupt, BlobNotFound, BlobStoreUnavailable
from streams.settings import BlobSettings
from tests.integration.blobs.seaweed import ACCESS_KEY, READER_KEY, READER_SECRET, SECRET_KEY, SeaweedServer
from tests.unit.blobs.contract import CONTENT, BlobStoreContract, sha

_buckets = itertools.count()


def settings(server: SeaweedServer, **changes: object) -> BlobSettings:
    values = {
        "kind": "s3",
        "endpoint": server.endpoint,
        "bucket": f"canonry-{next(_buckets)}",
        "access_key": ACCESS_KEY,
        "secret_key": SECRET_KEY,
        "secure": False,
        **changes,
    }
    return BlobSettings.model_validate(values)


@pytest.fixture
def bucket() -> str:
    return f"canonry-{next(_buckets)}"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def store(server: SeaweedServer, bucket: str, scratch: Path) -> Iterator[S3Store]:
    yield S3Store(settings(server, bucket=bucket), scratch=scratch)
    assert list(scratch.iterdir()) == [], "scratch files stay behind"


class TestContract(BlobStoreContract):
    pass


def test_erasing_takes_the_original_first(store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a writer that is late misses it and takes back what it wrote."""
    content = store.put_file(io.BytesIO(b"to be erased")).sha256
    key = canon_key(content, "fp")
    store.put(key, b"text")
    delete = store.delete
    deleted: list[str] = []

    def once(key: str) -> bool:
        if deleted:
            raise BlobStoreUnavailable("The server has gone.")
        deleted.append(key)
        return delete(key)

    with monkeypatch.context() as broken:
        broken.setattr(store, "delete", once)
        with pytest.raises(BlobStoreUnavailable):
            store.erase(content)
    assert deleted == [original_key(content)]
    assert store.exists(key)
    assert store.erase(content) == [key]


def test_local_copy_is_removed(store: S3Store) -> None:
    store.put_file(io.BytesIO(b"x"))
    with store.local_copy(original_key(sha(b"x")), sha256=sha(b"x")) as path:
        assert path.read_bytes() == b"x"
    assert not path.exists()


def test_big_original_goes_in_parts_once(store: S3Store, server: SeaweedServer, bucket: str) -> None:
    data = b"0123456789abcdef" * ((2 * PART_BYTES + 4096) // 16)
    assert store.put_file(io.BytesIO(data)).created
    key = original_key(sha(data))
    etag = server.client().stat_object(bucket, key).etag
    assert etag is not None
    assert etag.endswith("-3")
    assert store.get(key, sha256=sha(data)) == data
    assert not store.put(key, data)  # the last step of a multi-part upload is conditional as well
    assert server.client().stat_object(bucket, key).etag == etag


def test_damaged_object_is_never_returned(store: S3Store, server: SeaweedServer, bucket: str) -> None:
    store.put_file(io.BytesIO(b"whole"))
    key = original_key(sha(b"whole"))
    server.client().put_object(bucket, key, io.BytesIO(b"hole!"), 5)  # somebody else writes past us
    with pytest.raises(BlobCorrupt):
        store.get(key, sha256=sha(b"whole"))
    with pytest.raises(BlobCorrupt), store.local_copy(key, sha256=sha(b"whole")):
        pytest.fail("the block must not be entered")
    server.client().put_object(bucket, key, io.BytesIO(b"h"), 1)
    with pytest.raises(BlobCorrupt, match="1 bytes instead of 5"):
        store.put_file(io.BytesIO(b"whole"))


def test_canon_without_its_hash_is_corrupt(store: S3Store, server: SeaweedServer, bucket: str) -> None:
    store.check()
    key = canon_key(CONTENT, "fp")
    server.client().put_object(bucket, key, io.BytesIO(b"{}"), 2)
    with pytest.raises(BlobCorrupt, match="x-amz-meta-sha256"):
        store.find(key)
    assert store.exists(key)


def test_bucket_is_made_once_and_never_again(store: S3Store, server: SeaweedServer, bucket: str) -> None:
    client = server.client()
    assert not client.bucket_exists(bucket)
    store.put_file(io.BytesIO(b"x"))
    assert client.bucket_exists(bucket)
    for held in list(client.list_objects(bucket, recursive=True)):
        assert held.object_name is not None
        client.remove_object(bucket, held.object_name)
    client.remove_bucket(bucket)
    for call in (
        lambda: store.get(original_key(sha(b"x")), sha256=sha(b"x")),
        lambda: store.put_file(io.BytesIO(b"y")),
        store.check,
    ):
        with pytest.raises(BlobStoreUnavailable, match="vanished"):
            call()
    assert not client.bucket_exists(bucket)


@pytest.mark.parametrize(
    "keys",
    [
        {"access_key": "nobody"},
        {"secret_key": "wrong"},
        {"access_key": READER_KEY, "secret_key": READER_SECRET},
    ],
)
def test_refused_keys_are_named(server: SeaweedServer, scratch: Path, keys: dict[str, str]) -> None:
    with pytest.raises(BlobStoreUnavailable, match="CANONRY_BLOBS__ACCESS_KEY"):
        S3Store(settings(server, **keys), scratch=scratch).check()


def test_two_processes_worth_of_stores_share_the_first_write(
    store: S3Store, server: SeaweedServer, bucket: str, scratch: Path
) -> None:
    other = S3Store(settings(server, bucket=bucket), scratch=scratch)
    start = threading.Barrier(2)
    won: list[bytes] = []

    def write(which: S3Store, data: bytes) -> None:
        start.wait()
        if which.put(canon_key(CONTENT, "fp"), data):
            won.append(data)

    threads = [threading.Thread(target=write, args=a) for a in ((store, b"one"), (other, b"two"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert store.get(canon_key(CONTENT, "fp"), sha256=sha(won[0])) == won[0]


def test_server_without_conditional_writes_is_asked_first(
    store: S3Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the header the same server behaves as one that ignores it."""
    monkeypatch.setattr("streams.blobs.s3._WRITE_ONCE", re.compile(r"(?!)"))
    assert store.put(canon_key(CONTENT, "fp"), b"one")
    assert "ignores If-None-Match" in caplog.text
    assert not store.put(canon_key(CONTENT, "fp"), b"two")
    assert store.get(canon_key(CONTENT, "fp"), sha256=sha(b"one")) == b"one"


def test_server_goes_away_and_comes_back(store: S3Store, server: SeaweedServer) -> None:
    store.put_file(io.BytesIO(b"before"))
    key, digest = original_key(sha(b"before")), sha(b"before")
    server.stop()
    try:
        for call in (
            lambda: store.get(key, sha256=digest),
            lambda: store.find(key),
            lambda: store.put_file(io.BytesIO(b"during")),
            lambda: store.put(canon_key(CONTENT, "fp"), b"during"),
            lambda: store.delete(key),
            store.check,
        ):
            began = time.monotonic()
            with pytest.raises(BlobStoreUnavailable, match="CANONRY_BLOBS__ENDPOINT"):
                call()
            assert time.monotonic() - began < 10
    finally:
        server.start()
    assert store.get(key, sha256=digest) == b"before"
    assert store.put_file(io.BytesIO(b"during")).created


@contextmanager
def fake_server(get: bytes) -> Iterator[str]:
    """A listener that knows the bucket, refuses each write as taken, and answers every GET with `get`; its address."""
    taken = b"<Error><Code>PreconditionFailed</Code></Error>"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    request = connection.recv(65536)
                    if request.startswith(b"GET"):
                        connection.sendall(get)
                    elif request.startswith(b"HEAD"):
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    else:
                        head = b"HTTP/1.1 412 Taken\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n"
                        connection.sendall(head % len(taken) + taken)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            host, port = listener.getsockname()
            yield f"{host}:{port}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 403 No\r\nContent-Type: application/xml\r\nContent-Length: 6\r\n\r\n<Error",
        b"HTTP/1.1 403 No\r\nContent-Type: application/xml\r\nContent-Length: 2\r\n\r\n\xff\xfe",
        b"HTTP/1.1 404 No\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nsoon",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
)
def test_nonsense_and_cut_answers_are_a_store_that_is_away(tmp_path: Path, answer: bytes) -> None:
    """None of it may be taken for the object, for its absence, or end in an error that is not ours."""
    with fake_server(answer) as endpoint:
        blobs = BlobSettings(kind="s3", endpoint=endpoint, access_key="k", secret_key="s", secure=False)
        store = S3Store(blobs, scratch=tmp_path)
        digest = sha(b"short")
        with pytest.raises(BlobStoreUnavailable):
            store.get(original_key(digest), sha256=digest)
        with pytest.raises(BlobStoreUnavailable), store.local_copy(original_key(digest), sha256=digest):
            pytest.fail("the block must not be entered")
    assert list(tmp_path.iterdir()) == []


def test_missing_object_says_where(store: S3Store) -> None:
    with pytest.raises(BlobNotFound, match="http://127"):
        store.get(original_key(CONTENT), sha256=CONTENT)
