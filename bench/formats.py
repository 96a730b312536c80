"""How often the format is told right, on a folder of files whose format is known, beside libmagic alone.

A file's label is what the folder's manifest says, or else what its extension promises; files without a label are left
out. `labels.tsv` in the folder holds lines of path, media types with `|` between them (or `-`: leave it out), reason.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from bench.report import Result, met, show
from streams.decode.identify import identify
from streams.decode.magic_tool import media_type_of
from streams.decode.names import agree, promised

MANIFEST = "labels.tsv"
MAGIC_HEAD = 1 << 20
TARGET, TARGET_SPEED = 0.99, 500
TARGET_FAMILIES = ("office", "pdf", "mail", "html", "text")

_FAMILIES = {
    "office": "doc dot xls xlt ppt pps pot msg oft vsd vst vss pub mpp one docx dotx docm dotm xlsx xltx xlsm xltm "
    "xlam xlsb pptx potx ppsx pptm potm ppsm vsdx vsdm vstx vssx odt ott ods ots odp otp odg odf fodt fods fodp rtf "
    "epub pages numbers key hwp hwpx xps oxps wpd fb2 sxw sxc sxi",
    "pdf": "pdf",
    "mail": "eml emlx mbox mht mhtml tnef",
    "html": "html htm xhtml xht",
    "text": "txt md csv tsv json jsonl ndjson geojson ipynb srt vtt vcf ics tex diff patch py java c h cpp js css sh "
    "sql",
    "xml": "xml svg rss atom kml gpx xfdf",
    "images": "png jpg jpeg gif tif tiff bmp webp heic heif avif ico jp2 psd wmf emf djvu ps eps",
    "archives": "zip jar apk gz tgz tar bz2 xz lzma lz4 z zst 7z rar cpio ar a deb rpm cab iso",
}
_BY_EXTENSION = {extension: family for family, line in _FAMILIES.items() for extension in line.split()}


def main(words: list[str]) -> int:
    """`python -m bench formats FOLDER`: prints the tables; 0 when the target is met."""
    parser = argparse.ArgumentParser(prog="python -m bench formats", description=__doc__)
    parser.add_argument("folder", type=Path, help="the labelled files")
    parser.add_argument("--without-names", action="store_true", help="hide the files' names from the decoder")
    parser.add_argument("--misses", action="store_true", help="list every file that is told wrong")
    args = parser.parse_args(words)
    files = labelled(args.folder)
    if not files:
        parser.error(f"{args.folder} has no files whose format is known")
    result, misses = measure(files, args.without_names)
    show(result)
    if args.misses:
        for path, label, found in misses:
            print(f"{path.relative_to(args.folder)}\t{'|'.join(label)}\t{found}")
    return 0 if result.values["met"] else 1


def labelled(folder: Path) -> list[tuple[Path, tuple[str, ...]]]:
    """The files below `folder` that have a label, and what they may be called."""
    stated: dict[str, tuple[str, ...]] = {}
    manifest = folder / MANIFEST
    if manifest.is_file():
        for line in manifest.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                name, media_types = line.split("\t")[:2]
                stated[name] = () if media_types == "-" else tuple(media_types.split("|"))
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path == manifest or not path.stat().st_size:
            continue
        label = stated.get(path.relative_to(folder).as_posix(), _by_extension(path.name))
        if label:
            found.append((path, label))
    return found


def _by_extension(name: str) -> tuple[str, ...]:
    return ("text/plain",) if name.lower().endswith(".txt") else promised(name)


def measure(
    files: list[tuple[Path, tuple[str, ...]]], without_names: bool = False
) -> tuple[Result, list[tuple[Path, tuple[str, ...], str]]]:
    """The table per family and every miss: the file, its label, what was found."""

    def ours(path: Path) -> str:
        name = "" if without_names else path.name
        return identify(path, path.stat().st_size, file_name=name, http_content_type=None).media_type

    def magic(path: Path) -> str:
        with path.open("rb") as file:
            return media_type_of(file.read(MAGIC_HEAD)) or "application/octet-stream"

    for path, _ in files[:20]:  # both load their tables before the clock runs
        ours(path), magic(path)
    magic_found, magic_seconds = _timed(files, magic)
    found, seconds = _timed(files, ours)
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    misses = []
    for (path, label), one, other in zip(files, found, magic_found, strict=True):
        totals[_family(path, label)][0] += 1
        totals[_family(path, label)][1] += _right(label, one)
        totals[_family(path, label)][2] += _right(label, other)
        if not _right(label, one):
            misses.append((path, label, one))
    rows = [
        [family, str(n), str(right), f"{right / n:.2%}", f"{libmagic / n:.1%}"]
        for family, (n, right, libmagic) in sorted(totals.items())
    ]
    counted = [totals[family] for family in TARGET_FAMILIES if family in totals]
    n, right = sum(one[0] for one in counted), sum(one[1] for one in counted)
    worst = min((one[1] / one[0] for one in counted), default=0.0)
    rows.append(
        [
            "the target's",
            str(n),
            str(right),
            f"{right / max(1, n):.2%}",
            f"{sum(one[2] for one in counted) / max(1, n):.1%}",
        ]
    )
    confusions = Counter((label[0], one) for _, label, one in misses).most_common(8)
    speed = len(files) / seconds
    reached = worst >= TARGET
    return (
        Result(
            name="formats",
            title=f"formats told right, {len(files)} files{', names hidden' if without_names else ''}",
            columns=["family", "files", "right", "share", "libmagic"],
            rows=rows,
            values={
                "families": {k: v[:2] for k, v in totals.items()},
                "files_per_second": round(speed),
                "met": reached,
            },
            verdict=met(f"{TARGET:.0%} in each of {', '.join(TARGET_FAMILIES)}", reached),
            notes=[
                f"{speed:.0f} files per second of CPU; libmagic alone {len(files) / magic_seconds:.0f} "
                f"(target on small files: {TARGET_SPEED})",
                *(f"{count} x {label} taken for {one}" for (label, one), count in confusions),
            ],
            seconds=seconds + magic_seconds,
        ),
        misses,
    )


def _timed(files: list[tuple[Path, tuple[str, ...]]], ask: Callable[[Path], str]) -> tuple[list[str], float]:
    started = time.process_time()
    found = [ask(path) for path, _ in files]
    return found, time.process_time() - started


def _family(path: Path, label: tuple[str, ...]) -> str:
    """By what the label's first media type is usually called, so that a mislabelled file counts where it belongs."""
    extension = path.name.rsplit(".", 1)[-1].lower()
    if extension in _BY_EXTENSION and label == _by_extension(path.name):
        return _BY_EXTENSION[extension]
    return next((family for one, family in _BY_EXTENSION.items() if label[0] in promised(f"x.{one}")[:1]), "other")


def _right(label: tuple[str, ...], found: str) -> bool:
    return any(one == found or (one != "text/plain" and agree(one, found)) for one in label)
