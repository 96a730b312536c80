"""How far the reading of a long document is: told to whoever runs the extractor, and to nobody otherwise.

A process reads one document at a time, so there is one listener, and no extractor has to hand it down.
"""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[int, int], None]
"""Is told of pages that are done, and of how many."""

_listener: Told | None = None


def listen(listener: Told | None) -> None:
    """From now on this one is told; None for nobody."""
    global _listener
    _listener = listener


def tell(done: int, total: int) -> None:
    """So many pages of the document are read; costs next to nothing, so it can be told at each one."""
    if _listener is not None:
        _listener(done, total)
