"""Members of containers as they come out: named safely, counted while they stream, written below one folder.

A container is hostile: its sizes lie, its names climb out of the folder, it holds itself. So nothing here believes a
size that it did not count, and no member decides where on the disk it is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from streams.connectors.names import display_path, readable
from streams.records import Failure

NAMED = 5
"""How many members a bomb's message names."""
MAX_NAME = 1000
"""Characters of a member's path; what is longer keeps its end, where the name of the file stands."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one container may cost, everything nested in it included."""

    depth: int = 8  # levels of containers in containers
    members: int = 10_000
    size: int = 1 << 30  # bytes of all members together
    ratio: int = 200  # bytes of the members for each byte of the container ...
    ratio_from: int = 10 << 20  # ... once they are more than this


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One member or attachment: a document of its own."""

    index: int  # position in the container
    path: str  # inside the container, as a person reads it; unique there, no `..`, not absolute
    key: str  # what stays the same when the container gets a new version: the path, or a message's own id
    file: str | None = None  # name of the file in the folder; null: there are no bytes, see `failure`
    size: int = 0
    sha256: str = ""
    media_type: str | None = None  # what the container says it is; recorded, never believed
    modified_at: datetime | None = None
    failure: Failure | None = None  # encrypted, corrupt: this member can't be read, the others can
    warnings: list[str] = []


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of a container."""

    members: list[Member] = []
    failure: Failure | None = None  # nothing of it can be used, or more came out than may
    warnings: list[str] = []
    """unsafe_names, duplicate_names, links_left_out, devices_left_out, members_left_out; of damaged ones
    damaged_directory (a ZIP read by its local headers), damaged_headers (of a tar), truncated, trailing_data."""


class UnpackError(Exception):
    """The container can't be opened at all: `code` is one of `PROBLEMS`, the message is for a person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class MemberError(Exception):
    """One member can't be read. Raised while its bytes stream, it costs this member only."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TooMuchError(Exception):
    """More came out than may; unpacking stops at once."""


class Tally:
    """What has come out of a container and of all that is nested in it."""

    def __init__(self, limits: Limits, container_size: int) -> None:
        self.limits = limits
        self.container_size = container_size
        self.members = 0
        self.size = 0
        self.names: list[str] = []  # of the first few

    def member(self, path: str) -> None:
        """Counts a member. Raises TooMuchError."""
        self.members += 1
        if len(self.names) < NAMED:
            self.names.append(path)
        if self.members > self.limits.members:
            raise TooMuchError(f"more than {self.limits.members} members")

    def bytes(self, count: int) -> None:
        """Counts bytes before they are written. Raises TooMuchError."""
        self.size += count
        if self.size > self.limits.size:
            raise TooMuchError(f"more than {self.limits.size} bytes")
        if self.size > self.limits.ratio_from and self.size > self.limits.ratio * self.container_size:
            raise TooMuchError(f"more than {self.limits.ratio} times the {self.container_size} bytes of the container")

    def found(self) -> str:
        """What was found, for a person."""
        names = ", ".join(self.names) + (", …" if self.members > NAMED else "")
        return f"{self.members} members and {self.size} bytes had come out" + (f" ({names})" if names else "")


class Sink:
    """Where an unpacker puts the members of one container."""

    def __init__(self, into: Path, tally: Tally, container_name: str = "") -> None:
        self.into = into
        self.container_name = container_name  # of the file itself, for a format whose member has no name of its own
        self.members: list[Member] = []
        self.warnings: list[str] = []
        self._tally = tally
        self._paths: dict[str, int] = {}
        self._keys: dict[str, int] = {}

    @property
    def limits(self) -> Limits:
        """What the container may cost."""
        return self._tally.limits

    def passed(self, count: int) -> None:
        """Counts bytes that came out and belong to no member: they cost as much time. Raises TooMuchError."""
        self._tally.bytes(count)

    def warn(self, code: str) -> None:
        """Says once that something about the container is odd."""
        if code not in self.warnings:
            self.warnings.append(code)

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
        """Takes one member while it streams: at most one chunk is in memory.

        A MemberError that `chunks` raises becomes the member's failure, and its bytes so far are dropped.

        Args:
            name: as the container says it, with `/` or `\\` between folders; bytes where they are no text.
            key: what names it in the next version of the container, too; the path where there is nothing better.

        Raises:
            TooMuchError: this is more than the container may hold.
        """
        path = self._path(name)
        self._tally.member(path)
        index = len(self.members)
        file = self.into / f"{index:06d}"
        digest, size, failure = hashlib.sha256(), 0, None
        with file.open("wb") as out:
            try:
                for chunk in chunks:
                    self._tally.bytes(len(chunk))
                    out.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
            except MemberError as error:
                failure = Failure(code=error.code, message=error.message)
        if failure is not None:
            file.unlink()
        member = Member(
            index=index,
            path=path,
            key=self._unique(key, self._keys) if key else path,
            file=None if failure else file.name,
            size=0 if failure else size,
            sha256="" if failure else digest.hexdigest(),
            media_type=media_type,
            modified_at=modified_at,
            failure=failure,
            warnings=list(warnings),
        )
        self.members.append(member)
        return member

    def fail(self, name: str | bytes, code: str, message: str, *, modified_at: datetime | None = None) -> Member:
        """Records a member that can't be read: an encrypted one, say. Raises TooMuchError."""
        return self.add(name, _Unreadable(MemberError(code, message)), modified_at=modified_at)

    def _path(self, name: str | bytes) -> str:
        text = display_path(name) if isinstance(name, bytes) else readable(name)
        parts = text.replace("\\", "/").split("/")
        kept = [part for part in parts if part not in ("", ".", "..")]
        if kept and len(kept[0]) == 2 and kept[0][1] == ":" and kept[0][0].isalpha():  # a drive
            kept = kept[1:]
        if ".." in parts or not parts[0] or len(kept) < len([part for part in parts if part not in ("", ".", "..")]):
            self.warn("unsafe_names")
        path = "/".join(kept) or "unnamed"
        if len(path) > MAX_NAME:
            path = "…" + path[1 - MAX_NAME :]
        return self._unique(path, self._paths)

    def _unique(self, name: str, taken: dict[str, int]) -> str:
        """Two members of one name are two documents; the first keeps it."""
        found, number = name, taken.get(name, 0)
        while found in taken:
            number += 1
            stem, dot, extension = name.rpartition(".")
            found = f"{stem} ({number}){dot}{extension}" if stem and "/" not in extension else f"{name} ({number})"
        if number and taken is self._paths:
            self.warn("duplicate_names")
        taken[name] = number or 1  # where to go on: thousands of one name must not be counted up from one each time
        taken[found] = taken.get(found, 1)
        return found


class _Unreadable:
    """The bytes of a member that has none: the error comes when they are asked for."""

    def __init__(self, error: MemberError) -> None:
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        raise self._error
