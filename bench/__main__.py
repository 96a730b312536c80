"""`python -m bench [NAME…]`: runs benchmarks and prints one table for each."""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import articles, encodings, formats, pdf, peers, recognition, screen, tables
from bench.report import Result, machine, show
from bench.world import World

BENCHMARKS = {
    "log-cost": "documents per second through the log, compared with the same work without it",
    "latency": "one small document on an idle system, published to seen by a consumer",
    "memory": "the worker's parent process over 5,000 documents",
    "unchanged": "a second run over 5,000 unchanged files",
    "replay": "everything once more with nothing changed, from the ledger and from decode",
    "stages": "each stage alone over a prepared topic, and how soon work goes on after a kill",
    "restore": "states of the ledger read from `versions`: seconds and memory",
}
"""In the order of running: `unchanged` and `replay` find what `memory` has filled."""
ON_FOLDERS = {
    "articles": articles.main,
    "encodings": encodings.main,
    "formats": formats.main,
    "pdf": pdf.main,
    "tables": tables.main,
    "recognition": recognition.main,
    "peers": peers.main,
    "screen": screen.main,
}
"""Of labelled files, named after it; without a log."""


def main() -> int:
    if sys.argv[1:] and sys.argv[1] in ON_FOLDERS:
        return ON_FOLDERS[sys.argv[1]](sys.argv[2:])
    listed = "\n".join(f"  {name:<10} {what}" for name, what in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"Benchmarks:\n{listed}\n\nOn labelled files: python -m bench {'|'.join(ON_FOLDERS)} FOLDER …",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there as well")
    parser.add_argument("--documents", type=Path, metavar="FOLDER", help="log-cost: a folder of your own")
    parser.add_argument(
        "--files", type=int, default=5000, help="memory, unchanged, replay: how many files (default: 5000)"
    )
    parser.add_argument("--events", type=int, default=600, help="stages: how many documents (default: 600)")
    parser.add_argument("--states", type=int, default=100_000, help="restore: how many states (default: 100000)")
    parser.add_argument("--work", type=Path, help="where to work; it is kept, and what is there is used again")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    work = args.work.absolute() if args.work else Path(tempfile.mkdtemp(prefix="canonry-bench."))
    work.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: the broker must not stay behind
    results: list[Result] = []
    about = machine()
    print(f"{about['cpus']} CPUs ({about['cpu']}), load {about['load'][0]:.1f}, Python {about['python']}", flush=True)
    try:
        for name in [name for name in BENCHMARKS if not args.names or name in args.names]:
            started = time.monotonic()
            module: Any = importlib.import_module(f"bench.{name.replace('-', '_')}")
            shared = "files" if name in ("memory", "unchanged", "replay") else name
            with World(work / shared) as world:
                result: Result = module.measure(world, args)
            result.seconds = time.monotonic() - started
            results.append(result)
            show(result)
    finally:
        if args.json is not None and results:
            values = [{"name": r.name, "seconds": round(r.seconds, 1), **r.values} for r in results]
            args.json.write_text(json.dumps({"machine": about, "benchmarks": values}, indent=2) + "\n", "utf-8")
        if args.work is None:
            shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
