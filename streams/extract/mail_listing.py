"""The names of attachments, as unpacking gives them, without unpacking them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from streams.decode.unpack.model import Limits, Member, Sink, Tally, TooMuchError


class Listing(Sink):
    """Takes members' names only: no byte of theirs is read."""

    def __init__(self) -> None:
        limits = Limits()
        super().__init__(Path(), Tally(limits, 1 << 40))
        self._most = limits.members

    def add(
        self,
        name: str | bytes,
        chunks: Iterable[bytes],
        *,
        key: str | None = None,
        media_type: str | None = None,
        modified_at: datetime | None = None,
        warnings: Iterable[str] = (),
    ) -> Member:
        """Takes a name. Raises TooMuchError where there are more than a container may have."""
        if len(self.members) >= self._most:
            raise TooMuchError(f"more than {self._most} members")
        member = Member(index=len(self.members), path=self._path(name), key="", warnings=list(warnings))
        self.members.append(member)
        return member

    def names(self) -> list[str]:
        """Names of the files, without the folders some of them have."""
        return [member.path.rpartition("/")[2] for member in self.members]
