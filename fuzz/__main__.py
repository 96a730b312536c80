"""The rounds: which file, which changes, what came of it."""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutate import MAX_SIZE, mutated

SECONDS = 5.0
GROWTH = 500 << 20
_WAIT = 60.0
"""Seconds after which a child is given up; on a busy machine a call takes longer than its work."""
_EACH_CHILD = 2000
"""Calls after which a child is replaced, so that what the libraries keep is not taken for a growth."""


class Child:
    """A process that makes calls, started again whenever it is gone."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._process: subprocess.Popen[str] | None = None
        self._calls = 0

    def call(self, path: Path, name: str, choice: int) -> dict[str, Any]:
        """What came of one call; `error` also when the process died or had to be killed."""
        if self._process is None or self._calls >= _EACH_CHILD:
            self.close()
            command = [sys.executable, "-m", "fuzz.child", self._target]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._calls = 0
        self._calls += 1
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"path": str(path), "name": name, "choice": choice}) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], _WAIT)
        line = process.stdout.readline() if ready else ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        if not ready:
            process.kill()
        status = process.wait()
        self._process = None
        error = f"no answer within {_WAIT} seconds" if not ready else f"the process died: status {status}"
        return {"error": error, "seconds": 0.0, "growth": 0}

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def main() -> int:
    """Runs rounds until the time is over. Exit status: 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Damaged files for decode or unpack.")
    parser.add_argument("target", choices=("decode", "unpack"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-findings"), help="folder for files that found something"
    )
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_intermixed_args()
    pool = {**import_module(f"fuzz.{options.target}_fuzz").seeds(), **given_files(options.files)}
    names, others = list(pool), list(pool.values())
    child = Child(options.target)
    found: Counter[str] = Counter()
    rounds, until = 0, time.monotonic() + options.seconds
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "content"
            while time.monotonic() < until:
                random = Random(f"{options.seed}:{rounds}")  # noqa: S311 - a round is repeated by its number
                name = random.choice(names)
                data = pool[name] if rounds < len(names) else mutated(pool[name], random, others)
                if rounds < len(names):
                    name, data = names[rounds], others[rounds]  # first as they are
                path.write_bytes(data)
                answer = child.call(path, Path(name).name, random.randrange(1 << 16))
                for what in complaints(answer):
                    kind = what.strip().splitlines()[-1][:150]
                    found[kind] += 1
                    if found[kind] == 1:
                        report(options, rounds, name, data, what)
                rounds += 1
    finally:
        child.close()
    sys.stdout.write(f"{rounds} files, seed {options.seed}: {sum(found.values())} findings of {len(found)} kinds\n")
    for kind, count in found.most_common():
        sys.stdout.write(f"{count:6} {kind}\n")
    return 1 if found else 0


def given_files(paths: Iterable[Path]) -> dict[str, bytes]:
    """The files, and those in the folders, by path."""
    found: dict[str, bytes] = {}
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.stat().st_size <= MAX_SIZE:
                found[str(file)] = file.read_bytes()
    return found


def complaints(answer: dict[str, Any]) -> list[str]:
    """What is wrong with a call."""
    found = [answer["error"]] if answer["error"] else []
    if answer["seconds"] > SECONDS:
        found.append(f"over {SECONDS} seconds of work")
    if answer["growth"] > GROWTH:
        found.append(f"memory grew by over {GROWTH >> 20} MB")
    return found


def report(options: argparse.Namespace, rounds: int, name: str, data: bytes, what: str) -> None:
    """Keeps the file of the first finding of its kind, and says what it was."""
    options.keep.mkdir(parents=True, exist_ok=True)
    kept = options.keep / f"{options.target}-{options.seed}-{rounds}-{Path(name).name}"
    kept.write_bytes(data)
    sys.stdout.write(f"--- round {rounds}, seed {options.seed}, from {name}, kept as {kept}\n{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
