"""What a second run costs when nothing has changed: a look at each file, and no extraction."""

from __future__ import annotations

import argparse

from bench.filled import documents_decoded, fill
from bench.report import Result, met
from bench.world import World

TARGET = 500.0


def measure(world: World, args: argparse.Namespace) -> Result:
    folder, _, first = fill(world, args.files)
    before = documents_decoded(world)
    runs = [world.canonry("run", str(folder)) for _ in range(2)]
    extracted = documents_decoded(world) - before
    unchanged = [run.said["scan"]["unchanged"] for run in runs]
    if extracted or unchanged != [args.files] * len(runs):
        raise RuntimeError(f"{extracted} documents were decoded again, and {unchanged} of {args.files} were unchanged.")
    best = min(run.seconds for run in runs)
    return Result(
        name="unchanged",
        title=f"{args.files} small files that were run before",
        columns=["", "seconds", "docs/s", "CPU s"],
        rows=[
            ["first run", f"{first:.1f}", f"{args.files / first:.0f}", ""],
            *(
                [f"again ({number})", f"{run.seconds:.2f}", f"{args.files / run.seconds:.0f}", f"{run.all_cpu_s:.2f}"]
                for number, run in enumerate(runs, 1)
            ),
        ],
        values={
            "files": args.files,
            "first_run_seconds": round(first, 1),
            "seconds": [round(run.seconds, 2) for run in runs],
            "cpu_s": [round(run.all_cpu_s, 2) for run in runs],
            "decoded_again": extracted,
        },
        verdict=met(f"≥ {TARGET:.0f} documents/s with start-up", args.files / best >= TARGET),
        notes=["no new record on `decoded`: nothing was extracted again"],
    )
