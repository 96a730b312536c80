"""What the log costs: `canonry run` compared with `canonry triage`, the same work on the same files without a log."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from bench.processes import Measured
from bench.report import Result, met
from bench.world import World

TARGET = 0.8


def measure(world: World, args: argparse.Namespace) -> Result:
    if args.documents is not None:
        own: Path = args.documents.absolute()
        folders = {"own": (own, [path for path in own.rglob("*") if path.is_file() and not path.is_symlink()])}
    else:
        folders = {"office": world.office(), "small": world.documents()}
    world.canonry("run", str(world.one_document("warm-up")))  # topics, groups, and a broker that has run before
    rows: list[list[str]] = []
    notes = ["net: without what the same command takes for a single small document"]
    values: dict[str, Any] = {}
    for name, (folder, files) in folders.items():
        start_triage = world.canonry("triage", str(world.one_document(f"start-{name}")))
        start_run = world.canonry("run", str(world.one_document(f"start-{name}")))
        triage = world.canonry("triage", str(folder))
        run = world.canonry("run", str(folder))
        count = triage.said["files"]
        gross = triage.seconds / run.seconds
        net = (triage.seconds - start_triage.seconds) / (run.seconds - start_run.seconds)
        cpu = triage.all_cpu_s / run.all_cpu_s
        net_cpu = (triage.all_cpu_s - start_triage.all_cpu_s) / (run.all_cpu_s - start_run.all_cpu_s)
        rows.append(_row(f"{name}: triage", triage, start_triage, count))
        rows.append(_row(f"{name}: run", run, start_run, count))
        rows.append([f"{name}: run / triage", f"{gross:.2f}", "", f"{net:.2f}", f"{cpu:.2f}", "", f"{net_cpu:.2f}"])
        size = sum(path.stat().st_size for path in files)
        mix = Counter(path.suffix.lower() or "no ending" for path in files)
        listed = ", ".join(f"{number} {ending}" for ending, number in mix.most_common(8))
        notes.append(f"{name}: {count} documents, {size / 2**20:.1f} MiB: {listed}")
        values[name] = {
            "documents": count,
            "bytes": size,
            "mix": dict(mix.most_common()),
            "triage": _values(triage, start_triage),
            "run": _values(run, start_run),
            "ratio": round(gross, 3),
            "ratio_net": round(net, 3),
            "ratio_cpu": round(cpu, 3),
            "ratio_cpu_net": round(net_cpu, 3),
        }
    first = next(iter(folders))
    return Result(
        name="log-cost",
        title="the same folder with the log and without",
        columns=["", "docs/s", "seconds", "docs/s net", "CPU s", "of it broker", "CPU ms/doc net"],
        rows=rows,
        values=values,
        verdict=met(
            f"{first}: run / triage ≥ {TARGET} in docs/s net of start-up", values[first]["ratio_net"] >= TARGET
        ),
        notes=notes,
    )


def _row(name: str, whole: Measured, start: Measured, count: int) -> list[str]:
    return [
        name,
        f"{count / whole.seconds:.1f}",
        f"{whole.seconds:.1f}",
        f"{(count - 1) / (whole.seconds - start.seconds):.1f}",
        f"{whole.all_cpu_s:.1f}",
        f"{whole.broker_cpu_s:.1f}",
        f"{1000 * (whole.all_cpu_s - start.all_cpu_s) / (count - 1):.1f}",
    ]


def _values(whole: Measured, start: Measured) -> dict[str, float]:
    return {
        "seconds": round(whole.seconds, 2),
        "cpu_s": round(whole.cpu_s, 2),
        "broker_cpu_s": round(whole.broker_cpu_s, 2),
        "start_seconds": round(start.seconds, 2),
        "start_cpu_s": round(start.all_cpu_s, 2),
    }
