"""Files embedded in Office Open XML: whole documents, and objects in their OLE wrapping.

Source: ECMA-376 part 1, 15.2.10 and 15.2.11 (embedded object and package parts); they stand in a folder `embeddings`.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from streams.decode.ole import SIGNATURE
from streams.decode.unpack.compound import Compound, CompoundError
from streams.decode.unpack.model import MemberError, Sink, UnpackError
from streams.decode.unpack.ole_objects import Budget, add_object, expanded

_EMBEDDED = re.compile(r"(?:\A|/)embeddings/(?:[^/]+/)*[^/]+\Z", re.IGNORECASE)
_CHUNK = 1 << 16


def unpack(path: Path, sink: Sink) -> None:
    """The files embedded in the document at `path`, with their own names where they have them.

    Raises UnpackError(corrupt) when the ZIP can't be opened.
    """
    budget = Budget(path.stat().st_size)
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.replace("\\", "/")
                if _EMBEDDED.search(name) and not _is_relationship(name) and not info.is_dir():
                    _embedded(sink, archive, info, name, budget)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise UnpackError("corrupt", f"The ZIP of the document can't be opened: {error}.") from None


def _is_relationship(name: str) -> bool:
    return "/_rels/" in name.lower() or name.lower().endswith(".rels")


def _embedded(sink: Sink, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, budget: Budget) -> None:
    file_name = name.rsplit("/", 1)[-1]
    stem, dot, extension = file_name.rpartition(".")
    if not dot or extension.lower() != "bin":
        sink.add(file_name, _chunks(archive, info), key=name)
        return
    try:
        if next(_chunks(archive, info), b"")[:8] != SIGNATURE:
            sink.add(file_name, _chunks(archive, info), key=name)
            return
        with expanded(_chunks(archive, info), sink, budget) as file:
            compound = Compound(file, file.tell())
            add_object(
                sink,
                compound,
                compound.root,
                stem,
                key=name,
                raw=lambda: _chunks(archive, info),
                charts_read=name.lower().startswith(("word/", "ppt/")),
            )
    except CompoundError as error:
        sink.fail(file_name, "corrupt", f"The object can't be opened. {error}")
    except MemberError as error:
        sink.fail(file_name, error.code, error.message)


def _chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of a part. Raises MemberError."""
    if info.flag_bits & 1:
        raise MemberError("encrypted", "The part needs a password.")
    try:
        with archive.open(info) as file:
            while data := file.read(_CHUNK):
                yield data
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise MemberError("corrupt", f"The part can't be read: {error}.") from None
