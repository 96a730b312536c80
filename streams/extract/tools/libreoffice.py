"""LibreOffice as a converter: the one module that runs it, for formats that nothing else here reads.

One process for each document, with a profile of its own that runs no macro and follows no link. It stays in the
process group of its slot, which has no network and dies as a whole.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

PROGRAM = "soffice"
SECONDS = 120.0
"""Seconds for one document: most take two, but damaged ones are known to hang."""

_OPTIONS = ("--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck", "--nofirststartwizard")
_RESTART = 81
"""Exit status by which it asks to be started again, after it has set up a new profile."""
_SETTINGS = (
    ("Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Java/VirtualMachine", "Enable", "false"),
    ("Writer/Content/Update", "Link", "0"),
    ("Writer/Content/Update", "Field", "false"),
    ("Writer/Content/Update", "Chart", "false"),
    ("Calc/Content/Update", "Link", "2"),
)
"""Path below org.openoffice.Office, name and value: no macros, no Java, links and fields as they were stored."""


class LibreOfficeMissing(Exception):
    """It is not installed, or can't be started. The message is for a person."""


class ConversionFailed(Exception):
    """It gave no document. `timed_out`: it took longer than it may. The message is for a person."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


@cache
def program(name: str = PROGRAM) -> Path | None:
    """The program itself, behind the script that starts it and would outlive being stopped; null if not installed."""
    found = shutil.which(name)
    if found is None and sys.platform == "darwin":
        found = shutil.which("/Applications/LibreOffice.app/Contents/MacOS/soffice")
    if found is None:
        return None
    script = Path(found).resolve()
    binary = script.with_name("soffice.bin")
    return binary if binary.exists() else script


@cache
def version() -> str:
    """Name, version and build as its files say, without starting it: "LibreOffice 7.4 40(Build:2)"; "absent"."""
    found = program()
    if found is None:
        return "absent"
    said: dict[str, str] = {}
    for folder in (found.parent, found.parent.parent / "Resources"):
        for name in ("bootstraprc", "versionrc"):
            path = folder / name
            if path.is_file():
                for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                    key, _, value = line.partition("=")
                    said.setdefault(key.strip(), value.strip())
    return f"{said.get('ProductKey', 'LibreOffice')} {said.get('buildid', '')}".strip()


def convert(source: Path, reader: str, target: str, folder: Path, *, seconds: float = SECONDS) -> Path:
    """`source` as a file of the format `target` (an extension: docx, pptx, xlsx) in `folder`.

    Args:
        reader: name of the import filter; nothing else is tried.
        folder: empty, for the profile and the result; the caller deletes it.

    Raises:
        LibreOfficeMissing: it can't be started.
        ConversionFailed: it can't read the file, crashed, or took too long.
    """
    found = program()
    if found is None:
        raise LibreOfficeMissing("LibreOffice is not installed.")
    profile = folder / "profile"
    _write_profile(profile)
    out = folder / "out"
    command = [
        str(found),
        *_OPTIONS,
        f"-env:UserInstallation={profile.as_uri()}",
        f"--infilter={reader}",
        "--convert-to",
        target,
        "--outdir",
        str(out),
        str(source),
    ]
    ends = time.monotonic() + seconds
    done = _run(command, folder, seconds)
    if done.returncode == _RESTART:
        done = _run(command, folder, ends - time.monotonic())
    result = out / f"{source.stem}.{target}"
    if not result.is_file() or not result.stat().st_size:
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "javaldx" not in line]
        last = said[-1].replace(str(source), "the file")[:200] if said else "no message"
        raise ConversionFailed(f"LibreOffice made no document (exit {done.returncode}): {last}")
    return result


def _run(command: list[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(seconds, 0.01),
            env=_environment(folder),
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConversionFailed("LibreOffice took longer than it may.", timed_out=True) from error
    except OSError as error:
        raise LibreOfficeMissing(f"LibreOffice can't be started: {error.strerror or error}.") from error


def _write_profile(profile: Path) -> None:
    lines = [
        f'<item oor:path="/org.openoffice.Office.{path}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{value}</value></prop></item>"
        for path, name, value in _SETTINGS
    ]
    user = profile / "user"
    user.mkdir(parents=True)
    (user / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor="http://openoffice.org/2001/registry">'
        + "".join(lines)
        + "</oor:items>",
        encoding="utf-8",
    )


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the caller's but where programs are; the same time zone and language everywhere."""
    path = os.environ.get("PATH", os.defpath)
    return {
        "PATH": path,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "SAL_USE_VCLPLUGIN": "svp",
    }
