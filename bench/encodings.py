"""How often the encoding of a file is found, and how fast, beside charset-normalizer and chardet in the same run."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.report import Result, met, show
from streams.decode.encoding import bom_of
from streams.decode.identify import identify
from streams.decode.labels import codec_of, resolve

MOST_SHOWN = 15
LARGE = 32 << 20
"""Bytes of the file that the speed is measured with."""

Detector = Callable[[Path, bytes], str | None]


def labelled(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below `folder` with their encodings: that of the file's name, else that of the nearest folder.

    `big5/a.txt`, `iso-8859-2-czech/b.xml` and `cs/iso-8859-2.txt` are all understood; the rest is left out.
    """
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        names = [f"{path.stem}-{path.suffix[1:]}", path.stem, path.parent.name]
        names += [path.parent.name.rsplit("-", 1)[0]] if path.parent != folder else []
        label = next((found for name in names if (found := resolve(name)) is not None), None)
        if label is not None:
            yield path, label


def same_text(data: bytes, label: str, found: str | None) -> bool:
    """Whether `found` reads the bytes as the label does."""
    meant, read = _text(data, label), _text(data, found or "ascii")
    return meant is not None and meant == read


def _text(data: bytes, encoding: str) -> str | None:
    if bom := bom_of(data[:4]):
        data, encoding = data[bom[1] :], bom[0]
    try:
        return data.decode(codec_of(encoding), "replace").removeprefix("\ufeff")
    except LookupError:
        return None


def ours(path: Path, data: bytes) -> str | None:
    """What `identify` says, without the file's name."""
    found = identify(path, len(data), file_name="", http_content_type=None)
    return found.encoding.name if found.encoding else None


def chardets(path: Path, data: bytes) -> str | None:
    import chardet

    name = chardet.detect(data)["encoding"]
    return resolve(name) if name else None


def normalizers(path: Path, data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    return resolve(best.encoding) if best is not None else None


DETECTORS: dict[str, Detector] = {"canonry": ours, "chardet": chardets, "charset-normalizer": normalizers}


def main(words: list[str]) -> int:
    """`python -m bench encodings FOLDER…`: prints the table; 0 when the target is met."""
    parser = argparse.ArgumentParser(prog="python -m bench encodings", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="files labelled by their folder's or their own name")
    folders = parser.parse_args(words).folders
    files = [(path, path.read_bytes(), label) for folder in folders for path, label in labelled(folder)]
    if not files:
        parser.error("there are no labelled files")
    with tempfile.TemporaryDirectory(prefix="canonry-bench.") as work:
        result = measure(files, Path(work))
    show(result)
    return 0 if result.values["met"] else 1


def measure(files: list[tuple[Path, bytes, str]], work: Path) -> Result:
    """Accuracy over labelled files, and speed on one large file, which is made in `work`."""
    rows: list[list[str]] = []
    values: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    speeds = _speeds(work / "large.txt")
    for name, detect in DETECTORS.items():
        right, read, started = 0, 0, time.process_time()
        for path, data, label in files:
            found = detect(path, data)
            read += len(data)
            if same_text(data, label, found):
                right += 1
            elif name == "canonry" and len(notes) < MOST_SHOWN:
                notes.append(f"{path}: {label}, found {found}")
        seconds = time.process_time() - started
        share = right / max(1, len(files))
        values[name] = {"right": right, "files": len(files), "share": share, "mb_per_second": speeds[name]}
        rate = read / 1e6 / max(seconds, 1e-9)
        rows.append([name, f"{right}/{len(files)}", f"{share:.1%}", f"{rate:.1f}", f"{speeds[name]:.0f}"])
    good = values["canonry"]["share"] >= 0.975 and values["canonry"]["mb_per_second"] >= 10
    return Result(
        name="encodings",
        title="files that decode to the same text as with their label",
        columns=["detector", "right", "share", "MB/s of CPU, these", f"{LARGE >> 20} MB"],
        rows=rows,
        values={**values, "met": good},
        verdict=met("97.5 % of the labelled files, 10 MB/s on a large one", good),
        notes=notes,
    )


def _speeds(path: Path) -> dict[str, float]:
    line = "Die Straße führt über drei Brücken, und am Ende steht für alle das große Lagerhaus der Genossenschaft.\n"
    data = line.encode("cp1252") * (LARGE // len(line))
    path.parent.mkdir(parents=True, exist_ok=True)
    speeds = {}
    for name, detect in DETECTORS.items():
        path.write_bytes(data[: 1 << 12])
        detect(path, data[: 1 << 12])  # word lists and models are read once in a process
        path.write_bytes(data)
        started = time.process_time()
        detect(path, data)
        speeds[name] = len(data) / 1e6 / (time.process_time() - started)
    path.unlink()
    return speeds
