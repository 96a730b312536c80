"""A short way to open a container made by a test, and to read what came out of it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from streams.decode.unpack import Limits, Member, Unpacked, unpack
from streams.records import Failure


@dataclass
class Opened:
    """What came out: members with their bytes, by path."""

    members: list[Member] = field(default_factory=list)
    data: dict[str, bytes] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    failure: Failure | None = None

    @property
    def paths(self) -> list[str]:
        return [member.path for member in self.members]

    def member(self, path: str) -> Member:
        return next(member for member in self.members if member.path == path)


def opened(folder: Path, data: bytes, media_type: str, *, depth: int = 1, members: int = 10_000) -> Opened:
    """The members of a container of this type; `depth` 1: what is nested is not looked into."""
    path = folder / "container"
    path.write_bytes(data)
    return opened_file(folder, path, media_type, depth=depth, members=members)


def opened_file(folder: Path, path: Path, media_type: str, *, depth: int = 1, members: int = 10_000) -> Opened:
    """The same for a file."""
    into = Path(tempfile.mkdtemp(dir=folder))
    result: Unpacked = unpack(path, media_type, into, Limits(depth=depth, members=members))
    found = {member.path: (into / member.file).read_bytes() for member in result.members if member.file}
    left = {entry.name for entry in into.iterdir()} - {member.file for member in result.members}
    assert not left, f"temporary files stay: {left}"
    return Opened(result.members, found, result.warnings, result.failure)


__all__ = ["Opened", "opened", "opened_file"]
