"""Which offsets of a partition are done without a gap: only those may ever be committed.

Faust's own bookkeeping commits past a gap at the head of a partition (faust-streaming#606) and acknowledges messages
that it skips after a rebalance, so its acknowledgement is switched off and this takes its place.
"""

from __future__ import annotations

from collections import deque


class PartitionOffsets:
    """Offsets of one partition in the order they were handed over, and how far all of them are done."""

    def __init__(self) -> None:
        self._open: deque[tuple[int, float]] = deque()  # offset, the log's timestamp
        self._done: set[int] = set()
        self._next: int | None = None
        self._last = -1

    def begin(self, offset: int, timestamp: float = 0.0) -> bool:
        """An event was handed over; False when it was before. Offsets grow; gaps (compaction, retention) are fine.

        Args:
            timestamp: of the log, in seconds since the epoch.
        """
        if offset <= self._last:
            return False
        self._last = offset
        self._open.append((offset, timestamp))
        return True

    def done(self, offset: int) -> None:
        """An event's outputs are confirmed."""
        if not self._open or offset < self._open[0][0]:
            return  # of an earlier assignment
        self._done.add(offset)
        while self._open and self._open[0][0] in self._done:
            finished, _ = self._open.popleft()
            self._done.discard(finished)
            self._next = finished + 1

    @property
    def committable(self) -> int | None:
        """The offset to commit (the next one to read), or None when nothing is done yet."""
        return self._next

    @property
    def oldest_open(self) -> int | None:
        """The first offset that is not done."""
        return self._open[0][0] if self._open else None

    @property
    def oldest_open_at(self) -> float | None:
        """When the log took in that record, in seconds since the epoch."""
        return self._open[0][1] if self._open else None

    def __len__(self) -> int:
        return len(self._open)
