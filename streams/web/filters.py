"""Which held documents a page is about: filters in the address, so that it can be kept, sent and gone back to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import msgspec

from streams.consumers.catalog_quarantine import Group, HeldFilter
from streams.errors import UsageError

AGES = {
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
    "3d": timedelta(days=3),
    "1w": timedelta(weeks=1),
    "4w": timedelta(weeks=4),
}
NOBODY = "-"
MOST = 2000
"""Characters of one filter."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The filters as they stand in the address; empty: any."""

    code: str = ""
    format: str = ""
    tool: str = ""
    source: str = ""
    owner: str = ""  # "-": nobody's
    age: str = ""  # one of AGES
    overdue: str = ""  # "1"
    group: str = ""  # CODE:TOOL:VERSION:FORMAT

    @staticmethod
    def of(query: Mapping[str, str]) -> Wanted:
        """Raises UsageError."""
        found = Wanted(**{name: query.get(name, "").strip()[:MOST] for name in Wanted.__struct_fields__})
        if found.age and found.age not in AGES:
            raise UsageError(f"No age is called {found.age!r}; there are {', '.join(AGES)}.")
        found.group_meant()
        return found

    def group_meant(self) -> Group | None:
        """Raises UsageError."""
        try:
            return Group.parse(self.group) if self.group else None
        except ValueError as error:
            raise UsageError(str(error)) from None

    def held(self, now: datetime | None = None, before: datetime | None = None) -> HeldFilter:
        """For the catalog.

        Args:
            before: what was held from then on is not meant.
        """
        now = now or datetime.now(UTC)
        limits = [moment for moment in (before, now - AGES[self.age] if self.age else None) if moment is not None]
        return HeldFilter(
            code=self.code or None,
            media_type=self.format or None,
            tool=self.tool or None,
            source=self.source or None,
            owner=self.owner if self.owner not in ("", NOBODY) else None,
            unassigned=self.owner == NOBODY,
            held_before=min(limits, default=None),
            overdue_at=now if self.overdue else None,
            group=self.group_meant(),
        )

    @property
    def set(self) -> dict[str, str]:
        """Those that say something."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name))}

    def address(self, path: str, **more: object) -> str:
        """A path of this site with these filters, and more."""
        query = urlencode({**self.set, **{name: value for name, value in more.items() if value not in (None, "")}})
        return f"{path}?{query}" if query else path
