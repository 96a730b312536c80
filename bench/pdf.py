"""Pages a second and peak memory of the whole canon of PDFs, beside other readers in the same run.

Each reader runs alone in a process on one CPU, one after the other over the same files, in several rounds of which the
median counts. The others live in an environment of their own, `.bench-peers`, that the first run makes with pip;
Canonry does not depend on them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import pymupdf

from bench.pdf_reader import READERS
from bench.report import Result, met, show

PEERS = ("pymupdf4llm==1.28.2", "pymupdf-layout==1.28.2", "kreuzberg>=4.10,<5", "pdfplumber>=0.11", "pypdf>=6")
TARGET_SPEED, TARGET_RATIO = 40, 20
_ROOT = Path(__file__).parent.parent


def main(words: list[str]) -> int:
    """`python -m bench pdf FOLDER`: prints the table; 0 when the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m bench pdf", description=__doc__)
    parser.add_argument("folder", type=Path, help="PDFs with text layers: running text, as papers and books have it")
    parser.add_argument("--peers", type=Path, default=_ROOT / ".bench-peers", help="where the others are installed")
    parser.add_argument("--only", metavar="NAMES", help="which readers, e.g. canonry,pypdf")
    parser.add_argument("--rounds", type=int, default=3, help="how often each reads all files (default: 3)")
    args = parser.parse_args(words)
    files = sorted(args.folder.rglob("*.pdf"))
    if not files:
        parser.error(f"{args.folder} has no PDFs")
    names = args.only.split(",") if args.only else list(READERS)
    unknown = set(names) - set(READERS)
    if unknown:
        parser.error(f"no reader is called {', '.join(sorted(unknown))}; there are: {', '.join(READERS)}")
    if set(names) != {"canonry"}:
        _install(args.peers)
    result = measure(files, names, args.peers, max(1, args.rounds))
    show(result)
    return 0 if result.values.get("met", True) else 1


def _install(peers: Path) -> None:
    python = peers / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(peers)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PEERS], check=True)


def measure(files: list[Path], names: list[str], peers: Path, rounds: int) -> Result:
    """Runs the readers `names` over `files`, in turn, `rounds` times."""
    started = time.monotonic()
    pages = 0
    for file in files:
        with pymupdf.open(file) as document:
            pages += document.page_count
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        for name in names:
            if name not in failed:
                used = _run(Path(sys.executable) if name == "canonry" else peers / "bin" / "python", name, files)
                if isinstance(used, str):
                    failed[name] = used
                else:
                    found[name].append(used)
    rows: list[list[str]] = []
    notes: list[str] = []
    speeds: dict[str, float] = {}
    values: dict[str, Any] = {"files": len(files), "pages": pages, "rounds": rounds}
    for name in names:
        if name in failed:
            rows.append([name, "failed", "", "", failed[name]])
            continue
        speeds[name], clock = (pages / median(used[key] for used in found[name]) for key in ("cpu", "seconds"))
        memory, characters = max(used["memory"] for used in found[name]), found[name][0]["characters"]
        values[name] = {"pages_per_cpu_second": round(speeds[name], 2), "memory_mib": round(memory)}
        rows.append([name, f"{speeds[name]:.1f}", f"{clock:.1f}", f"{memory:.0f}", f"{characters:,.0f}"])
        if asked := found[name][0]["asked"]:
            notes.append(f"{name} asked the table model for {asked:.0f} of the pages.")
    verdict = ""
    if "canonry" in speeds:
        ratio = speeds["canonry"] / speeds["pymupdf4llm"] if "pymupdf4llm" in speeds else None
        reached = speeds["canonry"] >= TARGET_SPEED and (ratio is None or ratio >= TARGET_RATIO)
        values |= {"ratio": ratio, "met": reached}
        if ratio is None:
            verdict = met(f"{TARGET_SPEED} pages/s", reached)
        else:
            verdict = (
                met(f"{TARGET_SPEED} pages/s and {TARGET_RATIO} times pymupdf4llm", reached) + f" ({ratio:.1f} times)"
            )
    return Result(
        name="pdf",
        title=f"{len(files)} PDFs, {pages} pages, one CPU each, median of {rounds} rounds",
        columns=["reader", "pages/s of CPU", "pages/s", "peak MiB", "characters"],
        rows=rows,
        values=values,
        verdict=verdict,
        notes=notes,
        seconds=time.monotonic() - started,
    )


def _run(python: Path, name: str, files: list[Path]) -> dict[str, float] | str:
    """What one reader took; or why it did not end well."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.pdf"
        with pymupdf.open() as document:
            text = "A page to warm up on, with enough lines of text to load what the first document waits for.\n" * 20
            document.new_page().insert_text((72, 72), text)
            document.save(small)
        call = [str(python), "-P", str(Path(__file__).with_name("pdf_reader.py")), name, str(small), *map(str, files)]
        if cpus := getattr(os, "sched_getaffinity", lambda _: ())(0):
            call = ["taskset", "-c", str(min(cpus)), *call]
        one = {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1"}
        here = {"PYTHONPATH": str(_ROOT)} if name == "canonry" else {}
        done = subprocess.run(call, env=os.environ | one | here, capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"failed: {last[-1] if last else done.returncode}"
    found: dict[str, float] = json.loads(done.stdout)
    return found
