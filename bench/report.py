"""What a benchmark found: a table for people, values for programs, and the machine that it was measured on."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass
class Result:
    """One benchmark's numbers."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    values: dict[str, Any]
    verdict: str = ""  # the target and whether it was met; never an error, for a busy machine proves nothing
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


def show(result: Result) -> None:
    console = Console(width=110, highlight=False)
    table = Table()
    for number, column in enumerate(result.columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in result.rows:
        table.add_row(*row)
    console.print(f"\n{result.name}: {result.title}", style="bold")
    console.print(table)
    for line in [result.verdict, *result.notes]:
        if line:
            console.print(line)
    console.print(f"({result.seconds:.0f} s in all, load {os.getloadavg()[0]:.1f})")


def met(target: str, reached: bool) -> str:
    return f"target: {target}: {'met' if reached else 'not met'}"


def machine() -> dict[str, Any]:
    """Enough to know which numbers compare."""
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text("utf-8"))
    except OSError:
        found = None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": found[1].strip() if found else platform.processor() or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": list(os.getloadavg()),
    }
