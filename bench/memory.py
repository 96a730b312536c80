"""The memory of a worker's parent process, which hosts all stages, while thousands of documents pass through it."""

from __future__ import annotations

import argparse

from bench.filled import Sample, fill
from bench.report import Result, met
from bench.world import World

TARGET_MB = 350.0
FLAT_MB = 20.0
"""Growth over the second half that may be chance."""


def measure(world: World, args: argparse.Namespace) -> Result:
    count: int = args.files
    _, samples, seconds = fill(world, count)
    if not samples:
        raise RuntimeError("The worker's memory could not be read: this needs /proc.")
    marks = [("first documents", 1), ("a fifth", count // 5), ("half", count // 2), ("all", count)]
    found = [(name, _at(samples, number)) for name, number in marks]
    highest = max(sample[2] for sample in samples)
    half, last = found[2][1][2], found[3][1][2]
    reached = highest < TARGET_MB and last - half < FLAT_MB
    return Result(
        name="memory",
        title=f"worker with all stages, {count} small documents",
        columns=["after", "documents", "seconds", "RSS MiB"],
        rows=[[name, str(s[1]), f"{s[0]:.0f}", f"{s[2]:.0f}"] for name, s in found],
        values={
            "files": count,
            "first_run_seconds": round(seconds, 1),
            "highest_mb": round(highest, 1),
            "growth_second_half_mb": round(last - half, 1),
            "samples": [[round(s[0], 1), s[1], round(s[2], 1)] for s in samples],
        },
        verdict=met(f"below {TARGET_MB:.0f} MiB and flat", reached),
        notes=[f"highest {highest:.0f} MiB; the slots' processes are apart"],
    )


def _at(samples: list[Sample], number: int) -> Sample:
    """The first sample with at least that many documents, else the last one."""
    return next((sample for sample in samples if sample[1] >= number), samples[-1])
