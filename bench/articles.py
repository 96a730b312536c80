"""How much of a page's article is found, and how much beside it, on pages whose article people have marked.

The folder is a copy of github.com/scrapinghub/article-extraction-benchmark: `ground-truth.json` with the `articleBody`
of each page, and the pages in `html/NAME.html.gz`. The measure is that benchmark's: runs of four words, counted as
often as they come; precision and recall are means over the pages, F1 is made of the two means. Its texts hold no
headline and no captions, so these kinds of blocks are left out of Canonry's text. Pages are in two halves by a hash of
their names: the rules were adjusted while looking at pages of the first half only.

Peers run in a virtual environment of their own, which is made in `.bench-peers` when they are first asked for.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import time
import venv
from collections import Counter
from pathlib import Path
from statistics import mean

from bench.report import Result, met, show
from streams.extract.html import no_content, parse
from streams.extract.html_walk import Walk
from streams.records import FURNITURE, BlockKind

TARGET = 0.955
PEERS = ("trafilatura", "resiliparse", "readability-lxml", "goose3")
VENV = Path(".bench-peers") / "articles"
RUN = 4
"""Words of a run."""
TIMEOUT = 1800.0
"""Seconds that one peer may take for all pages."""

_WORD = re.compile(r"\w+")
_ASIDE = frozenset({*FURNITURE, BlockKind.FIGURE, BlockKind.CAPTION})
_PEER = """
import gzip, json, sys, time
name, folder = sys.argv[1:3]
if name == "trafilatura":
    import trafilatura
    ask = lambda page: trafilatura.extract(page, include_comments=False) or ""
elif name == "resiliparse":
    from resiliparse.extract.html2text import extract_plain_text
    ask = lambda page: extract_plain_text(page, main_content=True, alt_texts=False)
elif name == "readability-lxml":
    import lxml.html, readability
    ask = lambda page: lxml.html.fromstring(readability.Document(page).summary()).text_content()
else:
    from goose3 import Goose
    ask = lambda page: Goose().extract(raw_html=page).cleaned_text
read = lambda key: gzip.open(f"{folder}/html/{key}.html.gz").read().decode("utf-8", "replace")
pages = {key: read(key) for key in json.load(sys.stdin)}
found, began = {}, time.process_time()
for key, page in pages.items():
    try:
        found[key] = ask(page)
    except Exception:
        found[key] = ""
json.dump([found, time.process_time() - began], sys.stdout)
"""


def main(words: list[str]) -> int:
    """`python -m bench articles FOLDER`: prints the table; 0 when the target is met."""
    parser = argparse.ArgumentParser(prog="python -m bench articles", description=__doc__)
    parser.add_argument("folder", type=Path, help="a copy of the benchmark's repository")
    parser.add_argument("--peers", action="store_true", help="other extractors as well; installs them")
    args = parser.parse_args(words)
    truth = args.folder / "ground-truth.json"
    if not truth.is_file():
        parser.error(f"{truth} is not there: the folder is no copy of the benchmark")
    result = measure(args.folder, PEERS if args.peers else ())
    show(result)
    return 0 if result.values["met"] else 1


def measure(folder: Path, peers: tuple[str, ...]) -> Result:
    """The table: one row for Canonry and each peer, on both halves and all pages."""
    began = time.monotonic()
    truth = {
        key: runs(value["articleBody"])
        for key, value in json.loads((folder / "ground-truth.json").read_text("utf-8")).items()
    }
    ours, seconds, flagged = _ours(folder, list(truth))
    answers = {"canonry": (ours, seconds)} | {peer: _peer(folder, list(truth), peer) for peer in peers}
    rows: list[list[str]] = []
    values: dict[str, object] = {}
    scored: dict[str, float] = {}
    for name, (texts, seconds) in answers.items():
        counted = {key: counts(truth[key], runs(texts[key])) for key in truth}
        parts = [counted.values(), [counted[k] for k in truth if half(k) == 0], [counted[k] for k in truth if half(k)]]
        scores = [score(list(part)) for part in parts]
        speed = len(truth) / max(seconds, 1e-6)
        rows.append(
            [name, *(f"{x:.4f}" for x in scores[0]), f"{scores[1][0]:.4f}", f"{scores[2][0]:.4f}", f"{speed:.0f}"]
        )
        scored[name] = scores[0][0]
        values[name] = {"f1": round(scores[0][0], 4), "halves": [round(s[0], 4) for s in scores[1:]]}
    reached = scored["canonry"] >= TARGET
    return Result(
        name="articles",
        title=f"articles of {len(truth)} pages",
        columns=["", "F1", "precision", "recall", "F1, first half", "second half", "pages per CPU second"],
        rows=rows,
        values={**values, "not_content": len(flagged), "met": reached},
        verdict=met(f"F1 of at least {TARGET}", reached),
        notes=[f"taken for no documents: {len(flagged)} {' '.join(flagged)}".rstrip()],
        seconds=time.monotonic() - began,
    )


def runs(text: str) -> Counter[tuple[str, ...]]:
    """Runs of four words and how often each comes; a shorter text is one run."""
    found = _WORD.findall(text)
    return Counter(tuple(found[at : at + RUN]) for at in range(max(1, len(found) - RUN + 1)) if found)


def counts(true: Counter[tuple[str, ...]], found: Counter[tuple[str, ...]]) -> tuple[int, int, int]:
    """Runs that are right, that are too many, and that are missing."""
    right = (true & found).total()
    return right, found.total() - right, true.total() - right


def score(pages: list[tuple[int, int, int]]) -> tuple[float, float, float]:
    """F1, precision and recall. Pages for which nothing was found do not count for precision, but for recall."""
    precision = mean([right / (right + more) for right, more, _ in pages if right + more] or [0.0])
    recall = mean([right / (right + less) for right, _, less in pages if right + less] or [0.0])
    return 2 * precision * recall / ((precision + recall) or 1.0), precision, recall


def half(name: str) -> int:
    """0 for the pages that the rules were adjusted on, 1 for the others."""
    return hashlib.sha256(name.encode()).digest()[0] % 2


def article(walk: Walk) -> str:
    """The text of a page's article without headline and captions."""
    lines: list[str] = []
    headline = False
    for block in walk.blocks:
        if block.kind in _ASIDE or block.hidden:
            continue
        if block.kind is BlockKind.HEADING and block.level == 1 and not headline:
            headline = True
        elif block.table is not None:
            lines += [cell.text for cell in walk.tables[block.table].cells]
        else:
            lines.append(block.text)
    return "\n".join(lines)


def _ours(folder: Path, keys: list[str]) -> tuple[dict[str, str], float, list[str]]:
    """Texts by page, CPU seconds, and the pages that are taken for no documents: none of these is a gate or a shell."""
    pages = {key: gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes()) for key in keys}
    found: dict[str, str] = {}
    flagged: list[str] = []
    began = time.process_time()
    for key, page in pages.items():
        walk, meta, _ = parse(page.decode("utf-8", "replace"), whole_page=True)
        found[key] = article(walk)
        if no_content(walk, meta):
            flagged.append(key)
    return found, time.process_time() - began, flagged


def _peer(folder: Path, keys: list[str], name: str) -> tuple[dict[str, str], float]:
    """What a peer finds, and its CPU seconds. An exception of a peer counts as an empty text, as in that benchmark."""
    python = VENV / "bin" / "python"
    if not python.exists():
        venv.create(VENV, with_pip=True)
    installed = subprocess.run([python, "-m", "pip", "show", "-q", name], capture_output=True, check=False)
    if installed.returncode:
        # lxml calls the extra that the peers ask for by another name now
        subprocess.run([python, "-m", "pip", "install", "-q", name, "lxml_html_clean"], check=True, stdout=sys.stderr)
    done = subprocess.run(
        [python, "-c", _PEER, name, folder],
        input=json.dumps(keys).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=TIMEOUT,
    )
    texts, seconds = json.loads(done.stdout)
    return texts, seconds
