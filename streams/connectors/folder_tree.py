"""Reads a folder without ever leaving it: each step goes through directory descriptors and follows no link.

A path is opened component by component with O_NOFOLLOW, so that a directory which somebody replaces by a link between
two looks leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from streams.connectors.base import ReadFailed

MAX_DEPTH = 500
"""Folders nested deeper are not listed (and reported): opening them costs the square of the depth."""

_STEP = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LIST = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_RDONLY
# O_NONBLOCK: a pipe that took a file's place must not block the scan
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})


class Entry(NamedTuple):
    """A name in the folder that is no directory; `st` None: even its metadata can't be read, for the reason `error`."""

    raw: bytes  # relative to the root
    st: os.stat_result | None
    error: str | None = None


class Unlistable(NamedTuple):
    """A directory that could not be listed to its end: nothing beneath it may be called deleted."""

    raw: bytes
    reason: str


class Tree:
    """An open root. Thread-safe; close it when done."""

    def __init__(self, root: Path, *, skip: frozenset[tuple[int, int]] = frozenset()) -> None:
        """Opens the root, which may itself be a link: that is the user's own word.

        Args:
            root: the folder.
            skip: (device, inode) of directories beneath that are not the user's documents.

        Raises:
            OSError: it can't be opened.
        """
        self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._skip = skip
        self.st = os.fstat(self._fd)

    def close(self) -> None:
        os.close(self._fd)

    def lstat(self, raw: bytes) -> os.stat_result:
        """Metadata of a path beneath the root, through no link. Raises OSError."""
        if not raw:
            return os.fstat(self._fd)
        with self._parent(raw) as (fd, name):
            return os.stat(name, dir_fd=fd, follow_symlinks=False)

    def missing(self, raw: bytes) -> bool:
        """Whether surely no document stands at this path: nothing, or a directory by now. An error that leaves it open
        means no."""
        try:
            return stat.S_ISDIR(self.lstat(raw).st_mode)
        except OSError as error:
            return error.errno in _ABSENT

    def leads_somewhere(self, raw: bytes) -> bool:
        """Whether the link at this path has a target, wherever it is. The target is not opened."""
        try:
            with self._parent(raw) as (fd, name):
                os.stat(name, dir_fd=fd)
        except OSError as error:
            return error.errno not in (*_ABSENT, errno.ELOOP)
        return True

    def open_file(self, raw: bytes) -> int:
        """A descriptor of a regular file.

        Raises:
            ReadFailed: it is no regular file, or can't be opened.
        """
        try:
            with self._parent(raw) as (fd, name):
                file = os.open(name, _READ, dir_fd=fd)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise ReadFailed("symlink", "A link took its place while the folder was read.", skip=True) from error
            if error.errno == errno.ENXIO:  # a socket, or a device without a driver
                raise ReadFailed("special_file", "It is no regular file any more.", skip=True) from error
            raise ReadFailed.of(FileNotFoundError(error.errno, error.strerror) if _absent(error) else error) from error
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise ReadFailed("special_file", "It is no regular file any more.", skip=True)
        return file

    def device_above(self, raw: bytes) -> int:
        """The device of the nearest directory above a path that exists."""
        device = self.st.st_dev
        parts = raw.split(b"/")[:-1]
        for depth in range(1, len(parts) + 1):
            try:
                st = self.lstat(b"/".join(parts[:depth]))
            except OSError:
                break
            if not stat.S_ISDIR(st.st_mode):
                break
            device = st.st_dev
        return device

    def walk(self, prefix: bytes = b"") -> Iterator[Entry | Unlistable]:
        """All that is no directory beneath `prefix`, in the order of the file system. Never raises OSError."""
        stack = [prefix]
        while stack:
            folder = stack.pop()
            if folder.count(b"/") >= MAX_DEPTH:
                yield Unlistable(folder, f"nested more than {MAX_DEPTH} deep")
                continue
            try:
                fd = self._open_folder(folder)
            except OSError as error:
                if not folder or not _absent(error):  # gone since its parent was listed: nothing to list
                    yield Unlistable(folder, error.strerror or str(error))
                continue
            try:
                st = os.fstat(fd)
                if (st.st_dev, st.st_ino) not in self._skip:
                    yield from _list(fd, folder, stack)
            finally:
                os.close(fd)

    def is_skipped(self, raw: bytes) -> bool:
        """Whether a directory on the way to this path is left out."""
        parts = raw.split(b"/")
        for depth in range(1, len(parts) + 1):
            try:
                st = self.lstat(b"/".join(parts[:depth]))
            except OSError:
                return False
            if (st.st_dev, st.st_ino) in self._skip:
                return True
        return False

    def _open_folder(self, raw: bytes) -> int:
        if not raw:
            return os.open(".", _LIST, dir_fd=self._fd)
        with self._parent(raw) as (fd, name):
            return os.open(name, _LIST, dir_fd=fd)

    @contextmanager
    def _parent(self, raw: bytes) -> Iterator[tuple[int, bytes]]:
        *steps, name = raw.split(b"/")
        fd = self._fd
        try:
            for step in steps:
                following = os.open(step, _STEP, dir_fd=fd)
                if fd != self._fd:
                    os.close(fd)
                fd = following
            yield fd, name
        finally:
            if fd != self._fd:
                os.close(fd)


def _list(fd: int, folder: bytes, stack: list[bytes]) -> Iterator[Entry | Unlistable]:
    prefix = folder + b"/" if folder else b""
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                raw = prefix + os.fsencode(entry.name)
                try:
                    st = entry.stat(follow_symlinks=False)
                except OSError as error:
                    if not _absent(error):
                        yield Entry(raw, None, error.strerror or str(error))
                    continue
                if stat.S_ISDIR(st.st_mode):
                    stack.append(raw)
                else:
                    yield Entry(raw, st)
    except OSError as error:
        yield Unlistable(folder, error.strerror or str(error))


def _absent(error: OSError) -> bool:
    return error.errno in _ABSENT
