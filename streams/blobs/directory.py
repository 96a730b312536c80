"""The blob store as a directory: needs nothing but a POSIX file system with hard links and symbolic links.

    <root>/canonry-blobs.json                                written once; without it the root is no store (any more)
    <root>/tmp/                                              files that are being written
    <root>/originals/ab/abcd…                                an original under its own hash
    <root>/canons/ab/abcd….<fingerprint>.<sha256>            a canon: the bytes
    <root>/canons/ab/abcd….<fingerprint> -> that file        the claim: which bytes the key holds

One level of 256 folders, as Git keeps its objects: after the first few hundred documents no write makes a folder, and
every new folder costs a flush of the one above it.

A canon's key does not hold its hash, and two writers may differ, so the key is a symbolic link to a file that is named
by its hash. `symlink` fails when the name is taken, which makes the first writer win in one atomic step; the hash can
be read without opening the file; and the file is exactly the canon, for `cat` as well. A crash before the link leaves
a file that nothing names and that the next attempt replaces by the same bytes; a crash of the machine may leave the
link and lose the bytes, which reading tells (`BlobCorrupt`) and the next extraction mends.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from streams.blobs.store import (
    CHUNK_BYTES,
    KINDS_WITH_NAME,
    Found,
    Key,
    Stored,
    check_sha256,
    original_key,
    parse_key,
    verify,
    wrong_size,
)
from streams.errors import BlobCorrupt, BlobNotFound, BlobStoreUnavailable

MARKER = "canonry-blobs.json"
LAYOUT = 2
LEFTOVER_S = 24 * 3600.0
"""Age at which a file in tmp/ belongs to a writer that died: no single write lasts that long without a byte."""

_OBJECT_MODE = 0o440
_DIR_MODE = 0o750


class DirectoryStore:
    """See `BlobStore`. Several processes may use one directory at once."""

    def __init__(self, root: Path, *, fsync: bool = True) -> None:
        """Opens the store, or makes it where there is nothing yet (no directory, or an empty one).

        Args:
            root: the directory.
            fsync: flush objects and folders to disk before a write returns.

        Raises:
            BlobStoreUnavailable: `root` holds something else, or can't be made or read.
        """
        self.root = root.absolute()
        self._fsync = fsync
        self._tmp = self.root / "tmp"
        with self._errors("opened"):
            self._open()
            self._clean_leftovers()

    # --- writing -------------------------------------------------------------------------------------------------

    def put_file(self, stream: BinaryIO) -> Stored:
        digest, size = hashlib.sha256(), 0
        with self._errors("written to"):
            self._require_root()
            temp, file = self._temp()
        try:
            with file:
                while chunk := stream.read(CHUNK_BYTES):
                    digest.update(chunk)
                    size += len(chunk)
                    with self._errors("written to"):
                        _write_all(file.fileno(), chunk)
                with self._errors("written to"):
                    self._seal(file.fileno())
            with self._errors("written to"):
                created = self._link_original(temp, digest.hexdigest(), size)
        finally:
            with suppress(OSError):
                temp.unlink()
        return Stored(digest.hexdigest(), size, created)

    def put(self, key: str, data: bytes) -> bool:
        parts, sha256 = parse_key(key), hashlib.sha256(data).hexdigest()
        if parts.name is None and parts.sha256 != sha256:
            raise BlobCorrupt(f"Data with the hash {sha256} can't be stored as {key}.")
        with self._errors("written to"):
            self._require_root()
            if parts.name is not None and os.path.lexists(self._path(parts)):
                return False
            temp, file = self._temp()
        try:
            with self._errors("written to"):
                with file:
                    _write_all(file.fileno(), data)
                    self._seal(file.fileno())
                if parts.name is None:
                    return self._link_original(temp, sha256, len(data))
                return self._claim(temp, parts, sha256)
        finally:
            with suppress(OSError):
                temp.unlink(missing_ok=True)

    def delete(self, key: str) -> bool:
        parts = parse_key(key)
        path = self._path(parts)
        with self._errors("written to"):
            self._require_root()
            target = self._target(path) if parts.name is not None else None
            try:
                path.unlink()
            except FileNotFoundError:
                return False
            if target is not None:
                target.unlink(missing_ok=True)
            self._sync_dir(path.parent)
            return True

    def erase(self, content_hash: str) -> list[str]:
        original = original_key(content_hash)
        had_original = self.delete(original)
        erased = []
        with self._errors("written to"):
            self._require_root()
            for kind in sorted(KINDS_WITH_NAME):
                folder = self._path(Key(kind, content_hash, "any")).parent
                if not folder.is_dir():
                    continue
                # Claims first, then bytes: at no time does a claim lead to nothing.
                names = [name for name in os.listdir(folder) if name.startswith(f"{content_hash}.")]
                for name in sorted(names, key=lambda name: (name.count("."), name)):
                    (folder / name).unlink(missing_ok=True)
                    if name.count(".") == 1:
                        erased.append(f"{kind}/{content_hash}/{name.partition('.')[2]}")
                if names:
                    self._sync_dir(folder)
        return [*erased, original] if had_original else erased

    # --- reading -------------------------------------------------------------------------------------------------

    def get(self, key: str, *, sha256: str) -> bytes:
        with self._errors("read"), self._open_object(key, sha256) as file:
            data = file.read()
        verify(key, sha256, hashlib.sha256(data).hexdigest())
        return data

    def find(self, key: str) -> Found | None:
        parts = parse_key(key)
        path = self._path(parts)
        with self._errors("read"):
            target = path if parts.name is None else self._target(path)
            if target is None:
                self._require_root()
                return None
            try:
                size = target.stat().st_size
            except FileNotFoundError:
                self._require_root()
                if parts.name is None:
                    return None
                if not os.path.lexists(path):
                    return None  # deleted between the two looks
                raise _dangling(key) from None
        return Found(parts.sha256 if parts.name is None else target.name.rpartition(".")[2], size)

    def exists(self, key: str) -> bool:
        return self.find(key) is not None

    @contextmanager
    def local_copy(self, key: str, *, sha256: str) -> Iterator[Path]:
        with self._errors("read"), self._open_object(key, sha256) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            path = Path(os.fsdecode(file.name))
        verify(key, sha256, found)
        yield path

    def check(self) -> None:
        """Makes, links and removes a file."""
        with self._errors("written to"):
            self._require_root()
            temp, file = self._temp()
            probe, link = temp.with_suffix(".hard"), temp.with_suffix(".soft")
            try:
                with file:
                    _write_all(file.fileno(), b"canonry")
                    self._seal(file.fileno())
                os.link(temp, probe)
                os.symlink(probe.name, link)
            finally:
                for path in (link, probe, temp):
                    with suppress(OSError):
                        path.unlink(missing_ok=True)

    # --- the root ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        marker = self.root / MARKER
        if not marker.is_file():
            if self.root.is_dir():
                foreign = sorted(set(os.listdir(self.root)) - {"tmp", "lost+found"})
                if foreign:
                    raise BlobStoreUnavailable(
                        f"{self.root} is not empty and has no {MARKER}: it is no blob store.",
                        remedy="Name an empty or a new directory as blobs.path (CANONRY_BLOBS__PATH).",
                    )
            self._tmp.mkdir(mode=_DIR_MODE, parents=True, exist_ok=True)
            temp, file = self._temp()
            with file:
                _write_all(file.fileno(), json.dumps({"canonry_blobs": LAYOUT}).encode() + b"\n")
                self._seal(file.fileno())
            os.replace(temp, marker)
            self._sync_dir(self.root)
            self._sync_dir(self.root.parent)
        try:
            layout = json.loads(marker.read_bytes())["canonry_blobs"]
        except (ValueError, KeyError, TypeError):
            layout = "unknown"
        if layout != LAYOUT:
            raise BlobStoreUnavailable(
                f"{self.root} has the layout {layout}, and this program reads {LAYOUT}.",
                remedy="Name another directory as blobs.path (CANONRY_BLOBS__PATH) and publish the documents again.",
            )
        self._tmp.mkdir(mode=_DIR_MODE, exist_ok=True)

    def _require_root(self) -> None:
        """A volume that is no longer mounted looks like an empty store: neither its absences nor new writes count."""
        try:
            os.stat(self.root / MARKER)
        except (FileNotFoundError, NotADirectoryError):
            raise BlobStoreUnavailable(
                f"The blob store's directory {self.root} has vanished (no {MARKER} in it).",
                remedy="Mount it again, or correct blobs.path (CANONRY_BLOBS__PATH); nothing is made in its place.",
            ) from None

    def _clean_leftovers(self) -> None:
        horizon = time.time() - LEFTOVER_S
        for entry in os.scandir(self._tmp):
            with suppress(FileNotFoundError):  # another process cleans too
                if entry.stat(follow_symlinks=False).st_mtime < horizon:
                    os.unlink(entry.path)

    # --- paths and files -----------------------------------------------------------------------------------------

    def _path(self, key: Key) -> Path:
        name = key.sha256 if key.name is None else f"{key.sha256}.{key.name}"
        return self.root / key.kind / key.sha256[:2] / name

    def _target(self, path: Path) -> Path | None:
        """The file that a claim names, or None without a claim. Raises BlobCorrupt when it is no claim of ours."""
        try:
            name = os.readlink(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:  # a plain file: some copying tool followed the link
                raise BlobCorrupt(
                    f"{path} is no symbolic link.", remedy="Restore the store with a tool that keeps symbolic links."
                ) from None
            raise
        if not re.fullmatch(re.escape(path.name) + r"\.[0-9a-f]{64}", name):
            raise BlobCorrupt(f"{path} leads to {name!r}, which Canonry never wrote.")
        return path.with_name(name)

    @contextmanager
    def _open_object(self, key: str, sha256: str) -> Iterator[BufferedReader]:
        parts = parse_key(key)
        check_sha256(sha256)
        path = self._path(parts)
        target = path if parts.name is None else self._target(path)
        with ExitStack() as stack:
            try:
                file = None if target is None else stack.enter_context(target.open("rb"))
            except FileNotFoundError:
                file = None
            if file is None:
                self._require_root()
                if parts.name is not None and os.path.lexists(path):
                    raise _dangling(key)
                raise BlobNotFound(f"{key} is not in the blob store {self.root}.")
            yield file

    def _temp(self) -> tuple[Path, BinaryIO]:
        path = self._tmp / f"{os.getpid()}-{secrets.token_hex(8)}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OBJECT_MODE)
        return path, os.fdopen(descriptor, "wb", buffering=0)

    def _seal(self, descriptor: int) -> None:
        os.fchmod(descriptor, _OBJECT_MODE)  # whatever the umask
        if self._fsync:
            os.fsync(descriptor)

    def _link_original(self, temp: Path, sha256: str, size: int) -> bool:
        path = self._path(parse_key(original_key(sha256)))
        try:
            try:
                os.link(temp, path)
            except FileNotFoundError:
                self._make_dirs(path.parent)
                os.link(temp, path)
        except FileExistsError:
            held = path.stat().st_size
            if held != size:
                raise wrong_size(str(path), held, size) from None
            return False
        self._sync_dir(path.parent)
        return True

    def _claim(self, temp: Path, key: Key, sha256: str) -> bool:
        path = self._path(key)
        target = path.with_name(f"{path.name}.{sha256}")
        try:
            os.replace(temp, target)  # the same name is the same bytes
        except FileNotFoundError:
            self._make_dirs(path.parent)
            os.replace(temp, target)
        try:
            os.symlink(target.name, path)
        except FileExistsError:
            if self._target(path) != target:
                target.unlink(missing_ok=True)  # another writer won with other bytes
            return False
        self._sync_dir(path.parent)
        return True

    def _make_dirs(self, folder: Path) -> None:
        """Makes the folders below the root, never the root itself, and flushes each new name."""
        self._require_root()
        path = self.root
        for name in folder.relative_to(self.root).parts:
            parent, path = path, path / name
            try:
                path.mkdir(mode=_DIR_MODE)
            except FileExistsError:
                continue
            self._sync_dir(parent)

    def _sync_dir(self, folder: Path) -> None:
        if not self._fsync:
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Errors of the file system, as ours."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                self._require_root()
            remedy = ""
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                remedy = "Free space on its file system; work goes on by itself."
            elif isinstance(error, PermissionError):
                remedy = "Give the user that runs Canonry the right to read and write there (and hard links)."
            raise BlobStoreUnavailable(
                f"The blob store {self.root} can't be {what}: {reason} ({error.filename or self.root}).", remedy=remedy
            ) from error


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _dangling(key: str) -> BlobCorrupt:
    return BlobCorrupt(f"{key} is claimed, but its file is missing.", remedy="Delete the key and let it be made again.")
