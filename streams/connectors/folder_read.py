"""Reads one file, and knows whether what was read is one state of it."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from typing import BinaryIO, cast

from streams.connectors.base import ReadFailed
from streams.connectors.folder_state import Stat
from streams.connectors.folder_tree import Tree

_LOOK_AGAIN = -(1 << 63)  # in place of mtime: equals no file's, so the next scan reads it again


class Reading:
    """One file being read: its stat before and after, and so whether what was read is one state of it."""

    def __init__(self, tree: Tree, raw: bytes, max_bytes: int) -> None:
        self._tree = tree
        self._raw = raw
        self._max_bytes = max_bytes
        self._before = Stat(0, 0, 0, _LOOK_AGAIN, 0)
        self._after = self._before
        self._started_ns = 0

    def open(self) -> BinaryIO:
        """Raises ReadFailed."""
        fd = self._tree.open_file(self._raw)
        st = os.fstat(fd)
        if st.st_size > self._max_bytes:
            os.close(fd)
            raise ReadFailed(*too_large(st.st_size, self._max_bytes))
        self._started_ns = time.time_ns()
        self._before = Stat.of(st)
        return cast(BinaryIO, _File(fd, self._closed))

    def steady(self) -> bool:
        return self._before.same_file(self._after)

    def stat(self) -> Stat:
        """What to remember: the stat, unless the file may have changed since unnoticed.

        A write within the same tick of the file system's clock as the last one leaves mtime as it is; so a file that is
        as young as that clock is coarse is read again at the next scan (as Git does for its index).
        """
        coarse = self._before.ctime_ns % 1_000_000 == 0
        tick_ns = 2_000_000_000 if coarse else 50_000_000
        young = self._started_ns - max(self._before.mtime_ns, self._before.ctime_ns) < tick_ns
        return self._before if self.steady() and not young else self._before._replace(mtime_ns=_LOOK_AGAIN)

    def _closed(self, st: os.stat_result) -> None:
        self._after = Stat.of(st)


class _File(io.FileIO):
    def __init__(self, fd: int, on_close: Callable[[os.stat_result], None]) -> None:
        super().__init__(fd, "rb")
        self._on_close = on_close

    def close(self) -> None:
        if not self.closed:
            self._on_close(os.fstat(self.fileno()))
        super().close()


def too_large(size: int, limit: int) -> tuple[str, str]:
    """Code and message for a file above the limit; it is not read at all."""
    return "too_large", f"It has {size} bytes; limits.max_document_bytes is {limit}."
