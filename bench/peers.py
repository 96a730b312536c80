"""Documents per second, peak memory and what survives, format by format, beside other converters in the same run.

Each converter runs in a process of its own, warm, all on one CPU; rounds go through the converters in turn, and the
median of the rounds counts. Canonry makes its whole canon: format, extraction, the finishing step, and Markdown of it.
The others give Markdown, or text where they have no Markdown. They live in environments of their own below
`.bench-peers`, which the first run makes with pip.

What survives is asked of small files with known features, made by code (`bench.peer_features`). Of each converter the
best of its outputs counts: Markdown together with what its structured answer says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench import peer_bulk
from bench.peer_checks import Said, Verdict
from bench.peer_features import FEATURES, make_samples
from bench.report import Result, met, show

FORMATS = (
    *("docx", "doc", "odt", "rtf", "pptx", "ppt", "odp", "xlsx", "xls", "ods", "csv", "pdf"),
    *("html", "epub", "eml", "msg", "json", "xml", "md", "txt", "ipynb"),
)
PEERS = {
    "kreuzberg": ["kreuzberg>=4.10,<5"],
    "markitdown": ["markitdown[docx,xlsx,xls,pptx,pdf,outlook]>=0.1"],
    "unstructured": [
        "unstructured[docx,doc,odt,pptx,ppt,xlsx,rtf,epub,md,csv,pdf]>=0.27",
        "pypandoc-binary",
        "python-oxmsg",
    ],
    "docling": ["docling>=2.140"],
}
"""What pip installs. Two of them fetch models when they are first used: where they can't, docling reads no PDF, and
unstructured gets a tokenizer without a model (`bench.peer_reader`)."""
FASTER_THAN = ("markitdown", "unstructured", "docling")
SECONDS = 120.0
"""What a converter may take to start, and for one round of a format."""
_ROOT = Path(__file__).parent.parent
_MARKS = {Verdict.KEPT: "kept", Verdict.PARTLY: "partly", Verdict.LOST: "-", Verdict.WRONG: "WRONG"}


def main(words: list[str]) -> int:
    """`python -m bench peers [FORMAT…]`: prints the tables; 0 when the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m bench peers", description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"which; default: {' '.join(FORMATS)}")
    parser.add_argument("--files", type=Path, metavar="DIR", help="documents of your own for the clock")
    parser.add_argument("--only", metavar="NAMES", help=f"which converters: canonry,{','.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the clock; 0: what survives only (default: 3)")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="files of a format from DIR (default: 20)")
    parser.add_argument("--peers", type=Path, default=_ROOT / ".bench-peers", help="where the others are installed")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the files and all answers there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there as well")
    args = parser.parse_args(words)
    formats = args.formats or list(FORMATS)
    if unknown := set(formats) - set(FORMATS):
        parser.error(f"no files of the formats {', '.join(sorted(unknown))} are made; there are: {' '.join(FORMATS)}")
    names = args.only.split(",") if args.only else ["canonry", *PEERS]
    if unknown := set(names) - {"canonry", *PEERS}:
        parser.error(f"no converter is called {', '.join(sorted(unknown))}; there are: canonry, {', '.join(PEERS)}")
    missing = [name for name in names if name in PEERS and not install(args.peers / name, PEERS[name])]
    if missing:
        print(f"left out, could not be installed (no network?): {', '.join(missing)}", file=sys.stderr)
        if len(missing) == len(set(names) - {"canonry"}):
            return 2
    names = [name for name in names if name not in missing]
    with _folder(args.keep) as folder:
        results = []
        if args.rounds:
            files = _found(args.files, formats, args.most) if args.files else peer_bulk.make(folder, formats)
            results.append(clock(files, names, args.peers, args.rounds))
            show(results[-1])
        results.append(survival(folder, formats, names, args.peers))
        show(results[-1])
    if args.json:
        args.json.write_text(json.dumps({one.name: one.values for one in results}, indent=2) + "\n", "utf-8")
    return 0 if all(one.values["met"] for one in results) else 1


def install(folder: Path, packages: list[str]) -> bool:
    """Makes the environment of a converter unless it is there; false where pip can't. pip says why."""
    done = folder / "installed.txt"
    wanted = "\n".join(packages)
    if done.exists() and done.read_text("utf-8") == wanted:
        return True
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
    if subprocess.run(pip, check=False, stdout=subprocess.DEVNULL).returncode:
        return False
    done.write_text(wanted, "utf-8")
    return True


def _found(folder: Path, formats: list[str], most: int) -> dict[str, list[Path]]:
    """At most `most` files of each format, spread evenly over their names."""
    found = {}
    for kind in formats:
        paths = sorted(path for path in folder.rglob(f"*.{kind}") if path.is_file())
        if paths:
            found[kind] = paths[:: -(-len(paths) // most)]
    return found


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="canonry-peers.") as folder:
        yield Path(folder)


class Reader:
    """A converter, started and waiting."""

    def __init__(self, name: str, peers: Path) -> None:
        python = Path(sys.executable) if name == "canonry" else peers / name / "bin" / "python"
        call = [str(python), "-P", str(Path(__file__).with_name("peer_reader.py")), name]
        if cpus := getattr(os, "sched_getaffinity", lambda _: ())(0):
            call = ["taskset", "-c", str(min(cpus)), *call]
        settings = {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        here = {"PYTHONPATH": str(_ROOT)} if name == "canonry" else {}
        self._process = subprocess.Popen(
            call,
            env=os.environ | settings | here,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.failed = ""

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Its answer; empty when it died or takes too long, which `failed` says and ends it."""
        if self.failed:
            return {}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self.failed = "died"
            return {}
        line = _line(self._process.stdout.fileno(), SECONDS)
        if line is None or not line:
            self.failed = "died" if line == b"" else f"more than {SECONDS:.0f} s"
            self.close()
            return {}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends it with all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()


def _line(source: int, seconds: float) -> bytes | None:
    """A line; empty at the end, null when time is over."""
    ends = time.monotonic() + seconds
    found = b""
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            if not selector.select(max(0.0, ends - time.monotonic())):
                return None
            part = os.read(source, 1 << 20)
            if not part:
                return b""
            found += part
    return found


def clock(files: dict[str, list[Path]], names: list[str], peers: Path, rounds: int) -> Result:
    """Documents per second of CPU and peak memory, by format and converter."""
    began = time.monotonic()
    rows = []
    values: dict[str, Any] = {}
    slower = []
    for kind, paths in files.items():
        print(f"{kind}: {len(paths)} files", file=sys.stderr, flush=True)
        readers = {name: Reader(name, peers) for name in names}
        asked = {"time": [str(path) for path in paths]}
        taken: dict[str, list[float]] = defaultdict(list)
        failed: dict[str, int] = {}
        for number in range(rounds + 1):  # the first one warms up
            for name, reader in readers.items():
                answer = reader.ask(asked)
                if answer and number:
                    taken[name].append(answer["cpu"])
                    failed[name] = len(answer["failed"])
        row, speeds = [kind, str(len(paths))], {}
        for name, reader in readers.items():
            memory = reader.ask({}).get("memory")
            reader.close()
            if reader.failed or failed.get(name, 0) == len(paths):
                row.append(reader.failed or "cannot")
                continue
            done = len(paths) - failed[name]
            speeds[name] = done / max(median(taken[name]), 1e-6)
            row.append(f"{speeds[name]:.4g} / {memory:.0f}" + (f" ({done})" if failed[name] else ""))
            values.setdefault(kind, {})[name] = {
                "documents_per_cpu_second": round(speeds[name], 2),
                "memory_mib": round(memory or 0),
                "failed": failed[name],
            }
        rows.append(row)
        slower += [f"{kind}: {name}" for name in FASTER_THAN if speeds.get(name, 0) > speeds.get("canonry", 0) > 0]
    reached = not slower
    return Result(
        name="peers",
        title=f"documents per second of CPU / peak MiB, {rounds} rounds in turn, one CPU",
        columns=["format", "files", *names],
        rows=rows,
        values={**values, "met": reached},
        verdict=met("faster than all but kreuzberg", reached) + (f" ({'; '.join(slower)})" if slower else ""),
        notes=["(n): only n files could be converted"],
        seconds=time.monotonic() - began,
    )


def survival(folder: Path, formats: list[str], names: list[str], peers: Path) -> Result:
    """What each converter keeps of the features of `bench.peer_features`."""
    began = time.monotonic()
    samples = make_samples(folder, formats)
    answers: dict[tuple[str, str], Said | str] = {}
    for name in names:
        reader = Reader(name, peers)
        for file, path in samples.items():
            answer = reader.ask({"say": str(path)})
            answers[name, file] = (
                Said(answer["main"], answer["more"]) if "main" in answer else answer.get("failed", reader.failed)
            )
            if reader.failed:
                reader = Reader(name, peers)
        reader.close()
    (folder / "answers.json").write_text(
        json.dumps({f"{n} {f}": getattr(a, "all", a) for (n, f), a in answers.items()}, indent=1, ensure_ascii=False),
        "utf-8",
    )
    rows, totals, richer = [], defaultdict(Counter), []  # type: ignore[var-annotated]
    for feature in FEATURES:
        if feature.file not in samples:
            continue
        row = [f"{feature.file}: {feature.name}"]
        found: dict[str, Verdict] = {}
        for name in names:
            said = answers[name, feature.file]
            found[name] = feature.check(said) if isinstance(said, Said) else Verdict.LOST
            totals[name][found[name]] += 1
            row.append(_MARKS[found[name]] if isinstance(said, Said) else "cannot")
        if found.get("canonry", Verdict.KEPT) is not Verdict.KEPT and Verdict.KEPT in found.values():
            richer.append(row[0])
        rows.append(row)
    rows += [[f"= {verdict.value}", *(str(totals[name][verdict]) for name in names)] for verdict in Verdict]
    kept = {name: totals[name][Verdict.KEPT] for name in names}
    reached = not richer and all(kept.get("canonry", 0) >= other for other in kept.values())
    return Result(
        name="survival",
        title=f"what survives of {sum(totals[names[0]].values())} features",
        columns=["feature", *names],
        rows=rows,
        values={"totals": {n: {v.value: c for v, c in t.items()} for n, t in totals.items()}, "met": reached},
        verdict=met("richer than all", reached) + (f" (kept by another only: {'; '.join(richer)})" if richer else ""),
        notes=["partly: the words, not what they are; WRONG: it says something else; cannot: no answer for the file"],
        seconds=time.monotonic() - began,
    )
