"""Copies some real documents that this machine has anyway: documentation of its packages and of Python."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

KINDS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".rst": "text",
    ".txt": "text",
    ".pdf": "pdf",
    ".docx": "docx",
    "readme": "text",
    "news": "text",
    "faq": "text",
    "todo": "text",
    "changelog": "text",
    "copyright": "licence",
    "license": "licence",
    "authors": "licence",
}
"""Endings and names of documents, and the kind whose share they count for."""
LISTS = frozenset({"top_level.txt", "entry_points.txt", "sources.txt", "requires.txt", "dependency_links.txt"})
"""Written by an installer for programs."""
MIN_BYTES, MAX_BYTES = 200, 400_000
"""Smaller ones say nothing, bigger ones only slow the demo down."""
MAX_PER_PACKAGE = 4
"""Of each package a few, or one with many pages would take all the places."""


def collect_local_documents(out: Path, limit: int) -> int:
    """Copies up to `limit` documents to `out/system` and says how many; every kind has an equal share.

    Links are not followed. What is missing or can't be read is passed over: a machine without documentation gives 0.
    """
    found: dict[str, list[tuple[str, Path]]] = {}
    for place in places():
        for package, kind, path in _documents(place):
            found.setdefault(kind, []).append((package, path))
    copied = 0
    for rest, kind in enumerate(sorted(found, key=lambda kind: (len(found[kind]), kind)), start=1 - len(found)):
        share = (limit - copied) // (1 - rest)  # what the rare kinds leave goes to the common ones
        candidates = found[kind]
        step = max(1.0, len(candidates) / share) if share > 0 else 0.0
        chosen = [candidates[int(at * step)] for at in range(min(share, len(candidates)))]
        copied += sum(_copy(package, path, out / "system") for package, path in chosen)
    return copied


def places() -> list[Path]:
    """Where documentation stands: the system's, Python's own, and that of the installed packages."""
    found = [Path("/usr/share/doc"), Path("/usr/local/share/doc"), Path(sysconfig.get_path("data")) / "share" / "doc"]
    found += [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    return [place for at, place in enumerate(found) if place.is_dir() and place not in found[:at]]


def _documents(place: Path) -> Iterator[tuple[str, str, Path]]:
    """Package, kind and path of the documents below a place, in the order of their names."""
    taken: dict[str, int] = {}
    for folder, folders, names in os.walk(place):
        # site-packages is a place of its own
        folders[:] = sorted(name for name in folders if name != "site-packages" and not name.startswith((".", "__")))
        for name in sorted(names):
            path = Path(folder, name)
            kind = KINDS.get(path.suffix.lower()) or KINDS.get(name.lower())
            if kind is None or name.lower() in LISTS:
                continue
            package = (
                path.relative_to(place).parts[0].removesuffix(".dist-info") if folder != str(place) else place.name
            )
            if taken.get(package, 0) < MAX_PER_PACKAGE and _is_of_use(path):
                taken[package] = taken.get(package, 0) + 1
                yield package, kind, path


def _is_of_use(path: Path) -> bool:
    try:
        return not path.is_symlink() and MIN_BYTES <= path.stat().st_size <= MAX_BYTES
    except OSError:
        return False


def _copy(package: str, source: Path, folder: Path) -> bool:
    """Copies one file under a name that says where it is from. False if it can't be read."""
    target = folder / package / source.name
    number = 2
    while target.exists():
        target = folder / package / f"{source.stem}-{number}{source.suffix}"
        number += 1
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, target)
    except OSError:
        target.unlink(missing_ok=True)
        return False
    return True
