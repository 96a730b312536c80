"""Members of a RAR: rarfile reads the lists; compressed members need a program, for the method is not free."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import rarfile  # type: ignore[import-untyped]

from streams.decode.unpack.decoders import PIECE
from streams.decode.unpack.model import MemberError, Sink, TooMuchError, UnpackError

PROGRAMS = ("unrar", "unar", "7zz", "7z", "bsdtar")
"""What rarfile can read compressed members with, the best first."""
_SECONDS = 120
"""For all members: each member of a solid archive is unpacked from the archive's start, which adds up."""
_FOLDERS_TOO = 5


def unpack(path: Path, sink: Sink) -> None:
    """Puts the members of the RAR at `path` into the sink.

    Raises:
        UnpackError: it is damaged or encrypted, or it is compressed and no program is there.
        TooMuchError: more comes out of it than may.
    """
    try:
        with rarfile.RarFile(path, errors="strict") as archive:
            _members(archive, sink)
    except (rarfile.NeedFirstVolume, rarfile.BadRarFile, rarfile.NotRarFile) as error:
        raise UnpackError("corrupt", f"The RAR is damaged: {error}.") from error
    except rarfile.RarCannotExec as error:
        raise _no_program() from error
    except rarfile.Error as error:
        raise UnpackError("corrupt", f"The RAR can't be opened: {error}.") from error


def _no_program() -> UnpackError:
    message = "No program for compressed RAR members is installed: install unrar, unar, 7zip or libarchive-tools."
    return UnpackError("unsupported_format", message)


def _members(archive: Any, sink: Sink) -> None:
    infos = archive.infolist()
    if not infos and archive.needs_password():
        raise UnpackError("encrypted", "The RAR is encrypted, its names as well.")
    if len(infos) > sink.limits.members * _FOLDERS_TOO:
        raise TooMuchError(f"more than {sink.limits.members * _FOLDERS_TOO} entries")
    if any(_needs_program(info) for info in infos) and not any(map(shutil.which, PROGRAMS)):
        raise _no_program()
    until = time.monotonic() + _SECONDS
    for info in infos:
        if info.is_dir():
            continue
        if info.is_symlink() or getattr(info, "file_redir", None):
            sink.warn("links_left_out")
            continue
        when = info.mtime if info.mtime is not None and info.mtime.tzinfo is not None else None
        sink.add(info.filename or "", _content(archive, info, until), modified_at=when and when.astimezone(UTC))


def _needs_program(info: Any) -> bool:
    return bool(info.is_file() and info.compress_type != rarfile.RAR_M0 and not info.needs_password())


def _content(archive: Any, info: Any, until: float) -> Iterator[bytes]:
    """The bytes of a member. Raises MemberError."""
    if info.needs_password():
        raise MemberError("encrypted", "It is encrypted.")
    try:
        with archive.open(info) as file:
            while piece := file.read(PIECE):
                if time.monotonic() > until:
                    raise TooMuchError(f"what takes more than {_SECONDS} seconds to unpack")
                yield piece
    except (rarfile.PasswordRequired, rarfile.RarWrongPassword):
        raise MemberError("encrypted", "It is encrypted.") from None
    except (rarfile.Error, EOFError, OSError, ValueError) as error:
        raise MemberError("corrupt", f"It is damaged: {error}.") from error
