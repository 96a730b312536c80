"""`make demo`: the main job on real documents, told step by step with the commands that anybody can type."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from demo.collect import collect_local_documents
from demo.make_documents import make_documents

SYSTEM_DOCUMENTS = 120
WORDS = "termination notice period"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".demo"), help="folder for the demo's documents and data")
    parser.add_argument("--docs", type=Path, help="a folder of your own instead of the made one")
    args = parser.parse_args()
    if args.docs is not None and not args.docs.is_dir():
        print(f"{args.docs} is no folder.", file=sys.stderr)
        return 2
    started = time.monotonic()
    work: Path = args.work.absolute()
    demo = Demo(work)
    documents = args.docs.absolute() if args.docs else make(work / "documents")
    if demo.canonry("run", str(documents), "--source", "demo") not in (0, 1):
        return 1
    demo.explain("What is in there? A search, over the index that the run filled:")
    words = WORDS if args.docs is None else demo.likely_words()
    demo.canonry("search", *words.split(), "--limit", "3")
    story = demo.a_held_document()
    if story:
        demo.explain("Why is a document not in there? The story of one that was held:")
        demo.canonry("doc", story)
    minutes = time.monotonic() - started
    demo.explain(f"That took {minutes:.0f} seconds. What to try next, in this shell:")
    print(f"  export CANONRY_DATA_DIR={shlex.quote(os.path.relpath(work / 'data'))}")
    for line in (
        f"{demo.shown} status                      # outcomes, held documents, lag",
        f"{demo.shown} run {shlex.quote(os.path.relpath(documents))} --source demo --watch   # then edit a file there",
        f"{demo.shown} inspect FILE                # what Canonry makes of any file",
        "make demo DOCS=~/Documents              # the same with your own",
        f"{demo.shown} broker stop                 # when you are done",
    ):
        print(f"  {line}")
    return 0


def make(folder: Path) -> Path:
    """The demo's documents: those made by code, and some that this machine has."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    made = make_documents(folder)
    found = collect_local_documents(folder, SYSTEM_DOCUMENTS)
    print(f"{len(made)} documents made, {found} copied from this machine's own documentation, in {folder}")
    return folder


class Demo:
    """Runs commands and shows them first."""

    def __init__(self, work: Path) -> None:
        beside = Path(sys.executable).parent / "canonry"
        self.command = str(beside) if beside.exists() else "canonry"
        self.shown = os.path.relpath(self.command) if beside.exists() else "canonry"
        self.environment = {**os.environ, "CANONRY_DATA_DIR": str(work / "data")}

    def explain(self, text: str) -> None:
        print(f"\n{text}", flush=True)

    def canonry(self, *words: str) -> int:
        print(f"\n$ canonry {shlex.join(words)}", flush=True)
        return subprocess.run([self.command, *words], env=self.environment, check=False).returncode

    def ask(self, *words: str) -> object:
        """A command's JSON."""
        done = subprocess.run(
            [self.command, *words, "--json"], env=self.environment, capture_output=True, text=True, check=False
        )
        return json.loads(done.stdout) if done.stdout.strip() else None

    def a_held_document(self) -> str | None:
        """The path of a quarantined document, an instructive one if there is a choice."""
        status = self.ask("status")
        held = status.get("held", []) if isinstance(status, dict) else []
        wanted = [entry for entry in held if "encrypted" in entry["problems"]] or held
        return wanted[0]["source_id"] if wanted else None

    def likely_words(self) -> str:
        """Words that a folder of somebody's own will have: from the title of one of its documents."""
        status = self.ask("status")
        titles = status.get("titles", []) if isinstance(status, dict) else []
        words = [word for title in titles for word in title.split() if len(word) > 4 and word.isalpha()]
        return " ".join(words[:2]) or "the"


if __name__ == "__main__":
    sys.exit(main())
