"""Members of a RAR: rarfile reads the lists; compressed members need a program, for the method is not free."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rarfile  # type: ignore[import-untyped]

from streams.decode.unpack.decoders import PIECE, checked
from streams.decode.unpack.model import MemberError, Sink, TooMuchError, UnpackError

PROGRAMS = ("unrar", "unar", "bsdtar")
"""What compressed members are read with, the best first. 7-Zip is none: as a free program it comes without RAR."""
_SECONDS = 120
"""For all members: one that is read alone from a solid archive is unpacked from the archive's start, which adds up."""
_FOLDERS_TOO = 5


def unpack(path: Path, sink: Sink) -> None:
    """Puts the members of the RAR at `path` into the sink.

    Raises:
        UnpackError: it is damaged or encrypted, or it is compressed and no program is there.
        TooMuchError: more comes out of it than may.
    """
    try:
        with rarfile.RarFile(path, errors="strict") as archive:
            _members(path, archive, sink)
    except rarfile.NeedFirstVolume as error:
        raise UnpackError(
            "truncated", "It is a later volume of a RAR; it is read with the first, or not at all."
        ) from error
    except rarfile.Error as error:
        raise UnpackError("corrupt", f"The RAR is damaged: {error}.") from error


def _members(path: Path, archive: Any, sink: Sink) -> None:
    infos = archive.infolist()
    if not infos and archive.needs_password():
        raise UnpackError("encrypted", "The RAR is encrypted, its names as well.")
    if len(infos) > sink.limits.members * _FOLDERS_TOO:
        raise TooMuchError(f"more than {sink.limits.members * _FOLDERS_TOO} entries")
    files = []
    for info in infos:
        if info.is_symlink() or getattr(info, "file_redir", None):
            sink.warn("links_left_out")
        elif not info.is_dir():
            files.append(info)
    until = time.monotonic() + _SECONDS
    if any(_needs_program(info) for info in files):
        program = next(filter(shutil.which, PROGRAMS), None)
        if program is None:
            names = ", ".join(PROGRAMS)
            message = f"No program that reads compressed RAR members is installed; these do: {names}."
            raise UnpackError("unsupported_format", message)
        if program == "bsdtar":
            _through_bsdtar(path, files, sink, until)
            return
    for info in files:
        sink.add(info.filename or "", _content(archive, info, until), modified_at=_modified(info))


def _needs_program(info: Any) -> bool:
    return bool(info.compress_type != rarfile.RAR_M0 and not info.needs_password())


def _modified(info: Any) -> datetime | None:
    """When a member was changed, where its time zone is known."""
    when: datetime | None = info.mtime
    return when.astimezone(UTC) if when is not None and when.tzinfo is not None else None


def _content(archive: Any, info: Any, until: float) -> Iterator[bytes]:
    """The bytes of a member, which rarfile checks. Raises MemberError."""
    if info.needs_password():
        raise MemberError("encrypted", "It is encrypted.")
    try:
        with archive.open(info) as file:
            yield from _pieces(file, until)
    except (rarfile.PasswordRequired, rarfile.RarWrongPassword):
        raise MemberError("encrypted", "It is encrypted.") from None
    except (rarfile.Error, EOFError, OSError, ValueError) as error:
        raise MemberError("corrupt", f"It is damaged: {error}.") from error


def _pieces(file: Any, until: float) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        if time.monotonic() > until:
            raise TooMuchError(f"what takes more than {_SECONDS} seconds to unpack")
        yield piece


def _through_bsdtar(path: Path, files: list[Any], sink: Sink, until: float) -> None:
    """All members in one pass: bsdtar turns the RAR into a tar. What it leaves out is a member that can't be read."""
    waiting: dict[str, list[Any]] = {}
    for info in files:
        if info.needs_password():
            sink.fail(info.filename or "", "encrypted", "It is encrypted.", modified_at=_modified(info))
        else:
            waiting.setdefault(info.filename or "", []).append(info)
    command = ["bsdtar", "-c", "-f", "-", "--format=pax", f"@{path}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"}
    ) as process:
        try:
            assert process.stdout is not None
            with tarfile.open(fileobj=process.stdout, mode="r|", encoding="utf-8") as tar:
                for entry in tar:
                    if entry.isreg() and waiting.get(entry.name):
                        info = waiting[entry.name].pop(0)
                        content = _of_tar(tar, entry, info, until)
                        sink.add(info.filename or "", content, modified_at=_modified(info))
        except tarfile.TarError:
            pass  # it gave up: what is still waiting says so
        finally:
            process.kill()
    for info in (info for infos in waiting.values() for info in infos):
        message = "The program bsdtar can't read it: it is damaged, or packed in a way that only unrar knows."
        sink.fail(info.filename or "", "unsupported_format", message, modified_at=_modified(info))


def _of_tar(tar: tarfile.TarFile, entry: tarfile.TarInfo, info: Any, until: float) -> Iterator[bytes]:
    try:
        yield from checked(_pieces(tar.extractfile(entry), until), info.CRC)
    except tarfile.TarError as error:
        raise MemberError("truncated", f"It is cut off: {error}.") from error
