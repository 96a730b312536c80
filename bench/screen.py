"""Which share of damaged documents the screen holds, which share of undamaged ones, and how many it judges a second.

The folder has a sub-folder of texts (*.txt, one paragraph a line) for each language, named by its ISO 639-1 code.
Documents of one to ten kilobytes are cut from them; no text of a document is part of another one.
"""

from __future__ import annotations

import argparse
import itertools
import random
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.damage import DAMAGES, UNSPACED, WORD, columns_in_order
from bench.report import Result, met, show
from streams.records import Block, BlockKind, BlockSource, CanonBody
from streams.screen import Policy, detect_language, screen

LEVELS = (0.05, 0.1, 0.2, 0.5, 1.0)
TARGET_LEVEL, TARGET, MOST_FALSE, TARGET_SPEED = 0.2, 0.98, 0.005, 300
WIDTH = 80
LEAST_CHANGED = 5
"""Words or lines that differ, below which a text was not damaged: wrong code pages do nothing to plain English."""
KILOBYTES = (1, 2, 3, 4, 6, 10)


def main(words: list[str]) -> int:
    """`python -m bench screen FOLDER`: prints the table; 0 when the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m bench screen", description=__doc__)
    parser.add_argument("folder", type=Path, help="texts, one sub-folder for each language")
    parser.add_argument("--most", type=int, default=40, help="documents of each language (default: 40)")
    parser.add_argument("--only", help="a single damage")
    parser.add_argument("--misses", action="store_true", help="list undamaged documents that are held, and why")
    args = parser.parse_args(words)
    texts = {d.name: documents(d, args.most) for d in sorted(args.folder.iterdir()) if d.is_dir()}
    if not any(texts.values()):
        parser.error(f"{args.folder} has no texts")
    result = measure(texts, [args.only] if args.only else list(DAMAGES), show_false=args.misses)
    show(result)
    return 0 if result.values["met"] else 1


def documents(folder: Path, most: int) -> list[str]:
    """The language's documents: whole paragraphs, wrapped as on a page, 1 to 10 kB of UTF-8 each."""
    paragraphs = [p for path in sorted(folder.glob("*.txt")) for p in path.read_text("utf-8").splitlines() if p.strip()]
    unspaced = folder.name in UNSPACED - {"th"}  # Thai breaks lines at spaces and between words alone
    found: list[str] = []
    current: list[str] = []
    for paragraph in paragraphs:
        current.append(_wrapped(paragraph, unspaced))
        if sum(len(p.encode()) for p in current) >= 1000 * KILOBYTES[len(found) % len(KILOBYTES)]:
            found.append("\n".join(current))
            current = []
        if len(found) >= most:
            break
    return found


def _wrapped(paragraph: str, unspaced: bool) -> str:
    if unspaced:
        return "\n".join(paragraph[i : i + WIDTH // 2] for i in range(0, len(paragraph), WIDTH // 2))
    return textwrap.fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)


def canon_of(text: str) -> CanonBody:
    """As the extractor of plain text would have it: the language is what the damaged text seems to be."""
    return CanonBody(
        content_hash="",
        fingerprint="",
        extractor="",
        extractor_version="",
        media_type="text/plain",
        language=detect_language(text)[0],
        blocks=[Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.TEXT_LAYER)],
    )


def damaged(texts: list[str], language: str, kind: str, level: float) -> Iterator[str]:
    """Each text with this damage, where that changes it."""
    if kind == "dropped_spaces" and language in UNSPACED:
        return
    if kind == "scrambled_case" and language in {*UNSPACED, "ar", "he", "ko"}:
        return
    for number, text in enumerate(texts):
        after = DAMAGES[kind](text, language, level, _dice(kind, level, language, number))
        if kind == "interleaved_lines":
            in_order = Counter(
                itertools.pairwise(
                    columns_in_order(text, language, level, _dice(kind, level, language, number)).split("\n")
                )
            )
            changed = sum((Counter(itertools.pairwise(after.split("\n"))) - in_order).values())
        else:
            changed = sum((Counter(WORD.findall(text)) - Counter(WORD.findall(after))).values())
        if changed >= (LEAST_CHANGED if language not in UNSPACED else 1):
            yield after


def _dice(kind: str, level: float, language: str, number: int) -> random.Random:
    return random.Random(f"{kind} {level} {language} {number}")  # noqa: S311  # the same damage each time


def measure(texts: dict[str, list[str]], kinds: list[str], *, show_false: bool = False) -> Result:
    """The shares that are held, by damage and level (rows) and by language (note)."""
    policy = Policy()
    began = time.monotonic()
    clean, false = 0, 0
    notes: list[str] = []
    why: Counter[str] = Counter()
    for language, some in texts.items():
        in_columns = (
            columns_in_order(text, language, 0.5, _dice("columns", 0.5, language, number))
            for number, text in enumerate(some)
        )
        for text in (*some, *in_columns):
            said = screen(canon_of(text), policy, size=len(text.encode()))
            clean += 1
            false += bool(said.problems)
            if said.problems and show_false:
                print(language, said.error, repr(text[:80]))
    rows: list[list[str]] = []
    values: dict[str, dict[str, float]] = {}
    reached = false <= MOST_FALSE * clean
    weak: list[str] = []
    for kind in kinds:
        row, shares = [kind], {}
        for level in LEVELS:
            held, total = 0, 0
            by_language: dict[str, list[int]] = defaultdict(lambda: [0, 0])
            for language, some in texts.items():
                for text in damaged(some, language, kind, level):
                    said = screen(canon_of(text), policy, size=len(text.encode()))
                    why.update(said.problems)
                    by_language[language][0] += bool(said.problems)
                    by_language[language][1] += 1
            held, total = (sum(n[i] for n in by_language.values()) for i in (0, 1))
            share = held / max(1, total)
            row.append(f"{share:.1%}")
            shares[str(level)] = share
            if level == TARGET_LEVEL:
                row.append(str(total))
                reached = reached and share >= TARGET
                low = [f"{lang} {h / n:.0%}" for lang, (h, n) in sorted(by_language.items()) if h < TARGET * n]
                if low:
                    weak.append(f"{kind}, {level:.0%}, below {TARGET:.0%}: {', '.join(low)}")
        rows.append(row)
        values[kind] = shares
    speeds = _speed({language: some for language, some in texts.items() if sum(map(len, some)) >= 10_000})
    # All languages alike: a document of each takes as long as all of them.
    speed = len(speeds) / sum(1 / each for each in speeds.values()) if speeds else 0.0
    notes += [
        f"undamaged: {false} of {clean} held, {false / max(1, clean):.2%}",
        *weak,
        f"codes: {', '.join(f'{code} {n}' for code, n in why.most_common())}",
        f"{speed:.0f} documents of 10 kB per second of CPU (target: {TARGET_SPEED})",
        f"by language: {', '.join(f'{language} {each:.0f}' for language, each in speeds.items())}",
    ]
    columns = [
        "damage",
        *(
            c
            for level in LEVELS
            for c in ([f"{level:.0%}", "documents"] if level == TARGET_LEVEL else [f"{level:.0%}"])
        ),
    ]
    return Result(
        name="screen",
        title=f"damaged documents that are held, {len(texts)} languages",
        columns=columns,
        rows=rows,
        values={**values, "false": false, "clean": clean, "documents_per_second": round(speed), "met": reached},
        verdict=met(f"{TARGET:.0%} at {TARGET_LEVEL:.0%}, {MOST_FALSE:.1%} of undamaged ones", reached),
        notes=notes,
        seconds=time.monotonic() - began,
    )


def _speed(texts: dict[str, list[str]]) -> dict[str, float]:
    """Documents of 10 kB a second by language, once word lists are read; none of them was screened before."""
    policy, found = Policy(), {}
    for language, some in texts.items():
        raw = "\n".join(some).encode()
        pieces = [raw[start : start + 10_000].decode("utf-8", "ignore") for start in range(0, len(raw) - 9_999, 10_000)]
        first, *rest = map(canon_of, pieces[:6] if len(pieces) > 1 else pieces * 2)
        screen(first, policy, size=10_000)
        started = time.process_time()
        for body in rest:
            screen(body, policy, size=10_000)
        found[language] = len(rest) / max(time.process_time() - started, 1e-9)
    return found
