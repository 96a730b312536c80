"""The one interface behind which originals and canons are kept: content-addressed, written once, verified when read."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from streams.errors import BlobCorrupt, BlobNotFound
from streams.settings import Settings

CHUNK_BYTES = 1 << 20
"""How much of a stream is in memory at once."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
KINDS_WITH_NAME = frozenset({"canons", "members", "pages"})


class BlobKeyInvalid(BlobNotFound):
    """A key that no store can hold, such as one that climbs out of it; whoever made the key is at fault."""

    code = "blob_key_invalid"


class Stored(NamedTuple):
    """What `put_file` stored. `created` is False when the same bytes were there already."""

    sha256: str
    size: int
    created: bool


class Found(NamedTuple):
    """What the store says it holds under a key; only `get` and `local_copy` prove it."""

    sha256: str
    size: int


class Key(NamedTuple):
    """A key in its parts: `originals/<sha256>`, `canons/<sha256>/<fingerprint>`, `pages/<sha256>/<number>`,
    `members/<sha256>/<name>`."""

    kind: str
    sha256: str  # of the original; of an original's key also the hash of what is stored
    name: str | None


class BlobStore(Protocol):
    """Thread-safe and synchronous; asynchronous callers go through `asyncio.to_thread`.

    Every method raises BlobStoreUnavailable when the store does not answer (transient) and BlobKeyInvalid for a key
    that can't be.
    """

    def put_file(self, stream: BinaryIO) -> Stored:
        """Stores an original in one pass and bounded memory, under the hash that is found on the way.

        An error of the stream itself passes through unchanged and leaves nothing behind.

        Raises:
            BlobCorrupt: the store holds an object of another size under this hash.
        """
        ...

    def put(self, key: str, data: bytes) -> bool:
        """Stores `data` under `key` unless something is there: the first writer wins.

        Returns:
            True when this call stored it, False when the key was taken, whatever it holds (`find` says what).

        Raises:
            BlobCorrupt: `key` names an original and `data` has another hash.
        """
        ...

    def get(self, key: str, *, sha256: str) -> bytes:
        """The bytes under `key`, which have the hash `sha256` (64 lower-case hexadecimal digits).

        Raises:
            BlobNotFound: nothing is stored under it.
            BlobCorrupt: what is stored has another hash.
        """
        ...

    def find(self, key: str) -> Found | None:
        """Hash and size of what is stored under `key`, from its name or metadata, without reading it; None: nothing.

        Raises:
            BlobCorrupt: the key is taken, but what it should hold is missing or was not written by Canonry.
        """
        ...

    def exists(self, key: str) -> bool:
        """Whether something is stored under `key`."""
        ...

    def local_copy(self, key: str, *, sha256: str) -> AbstractContextManager[Path]:
        """A local file with the verified bytes, to be read only, and only inside the `with` block.

        Raises:
            BlobNotFound, BlobCorrupt: as `get`, before the block is entered.
        """
        ...

    def delete(self, key: str) -> bool:
        """Erases what is stored under `key`; False when nothing was. A deliberate act of the ledger alone."""
        ...

    def erase(self, content_hash: str) -> list[str]:
        """Erases all that is stored of one content: the original, then canons and pages and what writers left behind.

        The original goes first, and whoever makes something of it looks for it again after writing: a canon that comes
        too late to be found here is taken back by its writer. An erasure that was broken off is finished by the next.

        Returns:
            The keys of what was there; empty when nothing was.
        """
        ...

    def check(self) -> None:
        """Proves that the store can be written to.

        Raises:
            BlobStoreUnavailable: it can't; the message says what to mend.
        """
        ...


def original_key(sha256: str) -> str:
    """The key of the original bytes with this hash. Raises BlobKeyInvalid."""
    return _checked(f"originals/{sha256}")


def canon_key(content_hash: str, fingerprint: str) -> str:
    """The key of the canon that the extractor `fingerprint` makes of a content. Raises BlobKeyInvalid."""
    return _checked(f"canons/{content_hash}/{fingerprint}")


def members_key(content_hash: str, name: str) -> str:
    """The key under which it stands that members of a container have been told. Raises BlobKeyInvalid."""
    return _checked(f"members/{content_hash}/{name}")


def page_key(content_hash: str, number: int, drawing: int) -> str:
    """The key of a page's image, of one way to draw it. Raises BlobKeyInvalid."""
    return _checked(f"pages/{content_hash}/{number}-{drawing}")


def _checked(key: str) -> str:
    parse_key(key)
    return key


def parse_key(key: str) -> Key:
    """The parts of a key. Whatever is not exactly of this form is refused: keys travel in records and may be forged.

    Raises:
        BlobKeyInvalid: `key` is none.
    """
    kind, _, rest = key.partition("/")
    sha256, slash, name = rest.partition("/")
    if _SHA256.fullmatch(sha256):
        if kind == "originals" and not slash:
            return Key(kind, sha256, None)
        if kind in KINDS_WITH_NAME and _NAME.fullmatch(name):
            return Key(kind, sha256, name)
    raise BlobKeyInvalid(f"{key[:200]!r} is no key of the blob store.")


def check_sha256(sha256: str) -> str:
    """The same string, when it is the hexadecimal form of a SHA-256. Raises BlobKeyInvalid."""
    if not _SHA256.fullmatch(sha256):
        raise BlobKeyInvalid(f"{sha256[:200]!r} is no SHA-256 in lower-case hexadecimal digits.")
    return sha256


def verify(key: str, expected: str, found: str) -> None:
    """Compares two hashes. Raises BlobCorrupt when they differ."""
    if found != expected:
        raise BlobCorrupt(
            f"{key} has the hash {found} instead of {expected}.",
            remedy="Restore it from a backup, or delete it and let it be made again.",
        )


def wrong_size(where: str, held: int, size: int) -> BlobCorrupt:
    """The error for an object that is there, but can't be the one with its hash."""
    return BlobCorrupt(
        f"{where} holds {held} bytes instead of {size}.",
        remedy="Move the damaged object away and store the original again; it is never overwritten.",
    )


def open_store(settings: Settings) -> BlobStore:
    """The store that `[blobs]` describes.

    Raises:
        SettingsError: `[blobs]` can't be used as it is.
        BlobStoreUnavailable: the directory can't be used. (An S3 server is asked at first use: it may come later.)
    """
    if settings.blobs.kind == "s3":
        from streams.blobs.s3 import S3Store  # minio and urllib3 only where they are used

        return S3Store(settings.blobs, scratch=settings.data_dir / "scratch")
    from streams.blobs.directory import DirectoryStore

    return DirectoryStore(settings.blob_dir, fsync=settings.blobs.fsync)
