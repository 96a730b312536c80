"""One reader of PDFs over a list of files: run by `bench.pdf` as a script, in the environment that has the reader.

Prints one JSON object: characters, seconds of the clock and of CPU, peak memory in MiB, pages for which Canonry asked
its table model. Starting up, loading the library and a first page are not counted.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path


def _canonry(path: str) -> int:
    extract = importlib.import_module("streams.extract").extract
    request = importlib.import_module("streams.extract.outcome").Request
    detection = importlib.import_module("streams.records").Detection
    found = detection(media_type="application/pdf", detected_by="bench")
    body = extract(request(path=Path(path), detection=found, max_pages=10_000), content_hash="")
    return sum(len(block.text) for block in body.blocks)


def _pymupdf4llm(path: str) -> int:
    importlib.import_module("pymupdf.layout")
    return len(importlib.import_module("pymupdf4llm").to_markdown(path, use_ocr=False))


def _kreuzberg(path: str) -> int:
    return len(importlib.import_module("kreuzberg").extract_file_sync(path).content)


def _pdfplumber(path: str) -> int:
    with importlib.import_module("pdfplumber").open(path) as pdf:
        return sum(len(page.extract_text() or "") for page in pdf.pages)


def _pypdf(path: str) -> int:
    return sum(len(page.extract_text()) for page in importlib.import_module("pypdf").PdfReader(path).pages)


READERS: dict[str, Callable[[str], int]] = {
    "canonry": _canonry,
    "pymupdf4llm": _pymupdf4llm,
    "kreuzberg": _kreuzberg,
    "pdfplumber": _pdfplumber,
    "pypdf": _pypdf,
}


def _asked() -> int:
    layout = sys.modules.get("streams.extract.tools.mupdf_layout")
    return layout.pages_asked() if layout else 0


def main() -> None:
    """Arguments: the reader, a small PDF to warm up on, the files."""
    name, warm_up, *files = sys.argv[1:]
    read = READERS[name]
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print what they like
    read(warm_up)
    wall, cpu = time.perf_counter(), time.process_time()
    characters = sum(read(file) for file in files)
    used = {
        "characters": characters,
        "seconds": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "asked": _asked(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    os.write(out, json.dumps(used).encode())


if __name__ == "__main__":
    main()
