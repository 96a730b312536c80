"""The process that makes the calls: it may be killed, run out of memory or crash, and the parent tells."""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

MEMORY = 3 << 30
"""Bytes of address space; what is loaded takes a part of it."""


def peak() -> int:
    """The peak of memory in bytes since the last reset, where the system tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def reset_peak() -> None:
    """Makes the peak what is used now."""
    file = Path("/proc/self/clear_refs")
    if file.exists():
        file.write_text("5")


def main() -> None:
    """Reads requests `{path, name, choice}`, one a line, and answers each with `{error, seconds, growth}`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    check = import_module(f"fuzz.{sys.argv[1]}_fuzz").check
    for line in sys.stdin:
        request = json.loads(line)
        reset_peak()
        before, began, error = peak(), time.process_time(), None
        try:
            check(Path(request["path"]), request["name"], request["choice"])
        except BaseException:  # noqa: BLE001 - whatever it is, it is what is looked for
            error = traceback.format_exc()
        answer = {"error": error, "seconds": time.process_time() - began, "growth": peak() - before}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
