"""One look at a folder: at which part of it, how to take what is missing there, and what came of it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.connectors.folder_tree import Entry, Tree, Unlistable


@dataclass
class Summary:
    """What one scan did, in documents."""

    new: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    failed: int = 0
    unchanged: int = 0
    held_deletes: list[str] = field(default_factory=list)  # source_ids that wait for approval (R-IN-5)
    incomplete: list[str] = field(default_factory=list)  # "place: reason" of what could not be listed
    seconds: float = 0.0
    whole: bool = True  # the whole folder was looked at, not some paths


@dataclass(frozen=True)
class Look:
    """What to look at, and how to take what is missing there."""

    paths: frozenset[bytes] | None = None  # None: the whole folder
    approved: bool = False
    accept_root: bool = False
    wait: bool = False  # with deletes: their other half may be on its way
    deleted_before: int = 0  # by partial looks since the last whole one
    waiting: list[bytes] = field(default_factory=list)  # out: paths of deletes that wait


def scopes(tree: Tree, paths: frozenset[bytes]) -> list[bytes]:
    """The paths to look at, none beneath another, nor beneath something that is no directory."""
    present = {_existing(tree, raw) for raw in paths if not tree.is_skipped(raw)}
    return sorted(raw for raw in present if not any(above in present for above in _above(raw)))


def _existing(tree: Tree, raw: bytes) -> bytes:
    """The path, or that on the way to it which is a file or a link by now."""
    for above in reversed(_above(raw)):
        if not above:
            continue
        try:
            if not stat.S_ISDIR(tree.lstat(above).st_mode):
                return above
        except OSError:
            break
    return raw


def _above(raw: bytes) -> list[bytes]:
    """The directories above a path, the nearest first, the root last."""
    parts = raw.split(b"/")
    return [b"/".join(parts[:depth]) for depth in range(len(parts) - 1, -1, -1)] if raw else []


def found(tree: Tree, places: list[bytes]) -> Iterator[Entry | Unlistable]:
    """All that stands at or beneath these places and is no directory. Never raises OSError."""
    for scope in places:
        try:
            st = tree.lstat(scope)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Unlistable(scope, error.strerror or str(error))
            continue
        if stat.S_ISDIR(st.st_mode):
            yield from tree.walk(scope)
        else:
            yield Entry(scope, st)
