"""How well and how fast pages are recognised: rendered pages of PDFs against their own text layers and bare tesseract.

Each page with enough text is rendered at 300 dpi into a PDF of pictures. The engine alone and the recognition of
Canonry read the same pages, one after the other in one process, so that other work on the machine slows both. The
engine alone is the program, run once a page as a script would run it: it loads its models for each page, which Canonry
does once for many.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import resource
import subprocess
import tempfile
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.report import Result, met, show

DPI = 300
MIN_WORDS = 150  # of a page's text layer: with fewer, a single word is a percent
TARGET_F1, TARGET_SPEED, TARGET_MEMORY_MB = 0.97, 0.9, 700

_WORD = re.compile(r"[^\W_]+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-\s*\n\s*(?=[a-z])")


class Measured(NamedTuple):
    """One page: quality is F1 of the bag of words, seconds are of CPU and of the clock."""

    file: str
    page: int
    words: int
    f1: float
    f1_bare: float
    cpu: float
    cpu_bare: float
    wall: float
    wall_bare: float
    lost: list[str]
    made_up: list[str]


def main(words: list[str]) -> int:
    """`python -m bench recognition FOLDER`: prints the table; 0 when the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m bench recognition", description=__doc__)
    parser.add_argument("folder", type=Path, help="PDFs whose text layers are right")
    parser.add_argument("--pages", type=int, default=3, help="of each file, at most (default: 3)")
    parser.add_argument("--misses", action="store_true", help="list the words that were lost or made up")
    args = parser.parse_args(words)
    files = sorted(args.folder.rglob("*.pdf"))
    if not files:
        parser.error(f"there is no PDF in {args.folder}")
    result, pages = measure(files, args.pages)
    show(result)
    if args.misses:
        for page in pages:
            print(f"{page.file} {page.page}\n  lost: {' '.join(page.lost)}\n  made up: {' '.join(page.made_up)}")
    return 0 if result.values["met"] else 1


def measure(files: list[Path], most: int) -> tuple[Result, list[Measured]]:
    """The table and each page, measured in a fresh process as a slot is one.

    Args:
        most: pages of one file.
    """
    started = time.monotonic()
    here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_work, args=(there, files, most))
    process.start()
    there.close()
    try:
        pages, own_mb, engine_mb = here.recv()
    except EOFError:
        raise SystemExit("The process that measures ended without an answer.") from None
    finally:
        process.join()
    mean, bare = _mean([page.f1 for page in pages]), _mean([page.f1_bare for page in pages])
    cpu, cpu_bare = sum(page.cpu for page in pages), sum(page.cpu_bare for page in pages)
    wall, wall_bare = sum(page.wall for page in pages), sum(page.wall_bare for page in pages)
    speed, by_clock = cpu_bare / max(cpu, 0.01), wall_bare / max(wall, 0.01)
    reached = bool(pages) and mean >= TARGET_F1 and speed >= TARGET_SPEED and own_mb + engine_mb < TARGET_MEMORY_MB
    rows = [
        [f"{p.file} {p.page}", str(p.words), f"{p.f1:.3f}", f"{p.f1_bare:.3f}", f"{p.cpu:.1f}", f"{p.cpu_bare:.1f}"]
        for p in pages
    ]
    rows.append(
        ["all", str(sum(p.words for p in pages)), f"{mean:.3f}", f"{bare:.3f}", f"{cpu:.1f}", f"{cpu_bare:.1f}"]
    )
    values = {
        "pages": len(pages),
        "f1": round(mean, 4),
        "f1_bare": round(bare, 4),
        "pages_per_s": round(len(pages) / max(wall, 0.01), 3),
        "pages_per_s_bare": round(len(pages) / max(wall_bare, 0.01), 3),
        "speed_cpu": round(speed, 3),
        "speed_wall": round(by_clock, 3),
        "slot_mb": round(own_mb),
        "engine_mb": round(engine_mb),
        "met": reached,
    }
    target = f"F1 >= {TARGET_F1}, speed >= {TARGET_SPEED} of the engine alone, slot and engine < {TARGET_MEMORY_MB} MB"
    result = Result(
        name="recognition",
        title=f"{len(pages)} pages at {DPI} dpi against their text layers",
        columns=["page", "words", "F1", "engine alone", "CPU s", "engine alone"],
        rows=rows,
        values=values,
        verdict=met(target, reached),
        notes=[
            f"speed of the engine alone: {speed:.2f} by CPU time, {by_clock:.2f} by the clock "
            f"({values['pages_per_s']} and {values['pages_per_s_bare']} pages/s)",
            f"peak memory: slot {own_mb:.0f} MB, the engine {engine_mb:.0f} MB beside it",
        ],
        seconds=time.monotonic() - started,
    )
    return result, pages


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def words_of(text: str) -> Counter[str]:
    """The bag of words: letters and digits, ligatures resolved, without case."""
    return Counter(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def f1(truth: Counter[str], found: Counter[str]) -> float:
    """Harmonic mean of precision and recall over bags of words."""
    both = truth.total() + found.total()
    return 2 * (truth & found).total() / both if both else 1.0


# --- in a process of its own ---------------------------------------------------------------------------------------


def _work(pipe: Any, files: list[Path], most: int) -> None:
    from streams.runtime.jobs import JOBS

    os.environ["OMP_THREAD_LIMIT"] = "1"  # as the slots have it
    JOBS["warm"](msgspec.Raw(b"null"), b"")
    watched = _Engine()
    watched.start()
    with tempfile.TemporaryDirectory(prefix="canonry-bench.") as folder:
        pages = [page for file in files for page in _pages(file, most, Path(folder))]
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send((pages, own, watched.most_mb))


class _Engine(threading.Thread):
    """The most memory that the processes of the engine had together; what forks share counts for each of them."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most_mb = 0.0

    def run(self) -> None:
        while True:
            resident = (_read(Path(f"/proc/{pid}/statm")).split() for pid in _descendants(os.getpid()))
            pages = sum(int(found[1]) for found in resident if found)
            self.most_mb = max(self.most_mb, pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20))
            time.sleep(0.05)


def _descendants(pid: int) -> list[int]:
    children = [int(child) for found in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(found).split()]
    return [*children, *(deeper for child in children for deeper in _descendants(child))]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _pages(file: Path, most: int, folder: Path) -> Iterator[Measured]:
    """The pages of one file that have enough text, one after the other, and what the screen says of them."""
    from streams.extract import extract
    from streams.extract.outcome import Request
    from streams.extract.recognise import RecogniseRequest, recognise
    from streams.extract.tools.tesseract import MODELS, PROGRAM
    from streams.records import Detection
    from streams.screen import screen
    from streams.screen.language import detect_language
    from streams.screen.policy import Policy

    truths = _as_pictures(file, most, folder / "scan.pdf")
    if not truths:
        return
    detection = Detection(media_type="application/pdf", detected_by="bench")
    language = detect_language(" ".join(text for _, text in truths))[0] or "en"
    body = extract(Request(path=folder / "scan.pdf", detection=detection), content_hash="")
    for index, (number, text) in enumerate(truths, 1):
        before, clock = _cpu(), time.perf_counter()
        command = [
            PROGRAM,
            str(folder / f"{index}.png"),
            "stdout",
            "-l",
            MODELS[language][0],
            "--dpi",
            str(DPI),
            "hocr",
        ]
        answer = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        cpu_bare, wall_bare = _cpu() - before, time.perf_counter() - clock
        before, clock = _cpu(), time.perf_counter()
        request = RecogniseRequest(
            path=folder / "scan.pdf", detection=detection, body=body, pages=[index], languages=[language]
        )
        body = recognise(request)
        screen(body, Policy(), size=1 << 20)
        cpu, wall = _cpu() - before, time.perf_counter() - clock
        truth = words_of(text)
        found = words_of("\n".join(block.text for block in body.blocks if block.page == index))
        bare = words_of(re.sub(r"(?<=[^\W\d_])-\s+(?=[a-z])", "", _plain(answer)))
        yield Measured(
            file=file.name,
            page=number,
            words=truth.total(),
            f1=f1(truth, found),
            f1_bare=f1(truth, bare),
            cpu=cpu,
            cpu_bare=cpu_bare,
            wall=wall,
            wall_bare=wall_bare,
            lost=sorted((truth - found).elements()),
            made_up=sorted((found - truth).elements()),
        )


def _plain(hocr: str) -> str:
    import html

    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", hocr.partition("<body>")[2]).split()))


def _as_pictures(file: Path, most: int, target: Path) -> list[tuple[int, str]]:
    """Writes pages of a PDF as pictures, and gives their numbers and what their text layers say."""
    import pymupdf

    found: list[tuple[int, str]] = []
    flags = pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_PRESERVE_WHITESPACE
    with pymupdf.open(file) as source, pymupdf.open() as out:
        for page in source:
            text = page.get_text("text", flags=flags, sort=False)
            if len(found) == most or words_of(text).total() < MIN_WORDS or "\ufffd" in text:
                continue
            found.append((page.number + 1, _HYPHEN.sub("", text)))
            pixels = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csGRAY, alpha=False)
            pixels.set_dpi(DPI, DPI)
            pixels.save(target.with_name(f"{len(found)}.png"))
            sheet = out.new_page(width=page.rect.width, height=page.rect.height)
            sheet.insert_image(sheet.rect, pixmap=pixels)
        if found:
            out.save(target)
    return found


def _cpu() -> float:
    """Seconds of this process, of those that it has ended, and of those that are ready for the next page."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for pid in _descendants(os.getpid()):
        stat = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        ticks += sum(map(int, stat[11:15]))  # proc(5): utime, stime, cutime, cstime
    own_s, ended_s = own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime
    return own_s + ended_s + ticks / os.sysconf("SC_CLK_TCK")
