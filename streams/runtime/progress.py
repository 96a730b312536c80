"""How far a long document is, in a line of the log now and then; `canonry inspect` shows it on a terminal."""

from __future__ import annotations

import logging
import time

from streams.extract.progress import Told

log = logging.getLogger(__name__)

TELL_EVERY_S = 10.0
"""Seconds between two lines."""


class Progress:
    """Tells how many pages are left; what is quickly read goes without a word.

    Args:
        doing: what is done to the pages, as it begins the line.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._told_at = time.monotonic()

    def of(self, what: str, after: int = 0) -> Told:
        """Listens to a job on the document `what`; `after` pages come with later jobs."""

        def told(done: int, total: int) -> None:
            left = total - done + after
            now = time.monotonic()
            if left and now - self._told_at >= TELL_EVERY_S:
                self._told_at = now
                log.info("%s of %s: pages to go: %d", self._doing, what, left)

        return told
