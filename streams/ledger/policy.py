"""What the settings of the sources say to the ledger."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from streams.ledger.timeline import HeldUpdate


class Policy(msgspec.Struct, frozen=True):
    """How the ledger treats one document."""

    held_update: HeldUpdate = "serve_stale"
    ranks: dict[str, int] = {}  # of the sources that are systems of record: the lower number wins a conflict
    conflict_window: timedelta = timedelta(days=1)
