"""Files of each format for the clock: several of a few pages each, as an office has them."""

from __future__ import annotations

import email
import json
from pathlib import Path

from bench import peer_office, peer_texts
from bench.office import make_office
from bench.peer_office import CONVERTED
from tests.unit.extract import epub_files

COUNT = 5
"""Files of a format."""


def make(folder: Path, formats: list[str]) -> dict[str, list[Path]]:
    """Writes the files of these formats; a format is missing that needs LibreOffice where there is none."""
    found: dict[str, list[Path]] = {}
    office = folder / "office"
    make_office(office, 60, seed=7)
    for kind in formats:
        paths = sorted(office.rglob(f"*.{kind}"))[:COUNT]
        if not paths and kind in CONVERTED:
            paths = _converted(kind, folder, sorted(office.rglob("*.docx"))[:COUNT])
        elif not paths:
            paths = [folder / f"{at}.{kind}" for at in range(COUNT)]
            for at, path in enumerate(paths):
                path.write_bytes(_written(kind, at, sorted(office.rglob("*.html"))[0].read_bytes()))
        if paths:
            found[kind] = paths
    return found


def _converted(kind: str, folder: Path, documents: list[Path]) -> list[Path]:
    made = []
    for at in range(COUNT):
        source = documents[at]
        if (origin := CONVERTED[kind]) != "docx":
            source = folder / f"source{at}.{origin}"
            source.write_bytes(_written(origin, at, b""))
        target = folder / f"{at}.{kind}"
        if peer_office.converted(kind, source, target):
            made.append(target)
    return made


def _written(kind: str, number: int, page: bytes) -> bytes:
    size = 1 + number
    prose = peer_texts.PROSE
    match kind:
        case "pptx":
            return peer_office.pptx(copies=8 * size)
        case "xlsx":
            return peer_office.xlsx(more=300 * size)
        case "eml":
            letter = email.message_from_bytes(peer_texts.eml())
            text = letter.get_payload()[0]  # type: ignore[index]
            text.set_payload("".join(f"{prose}{at}\n\n" for at in range(12 * size)).encode())  # type: ignore[union-attr]
            return letter.as_bytes()
        case "epub":
            names = [f"c{at}.xhtml" for at in range(6 * size)]
            chapter = "".join(f"<h2>Part {at}</h2><p>{prose}</p>" for at in range(20))
            return epub_files.book(
                {name: epub_files.page(f"<h1>{name}</h1>{chapter}") for name in names},
                manifest="".join(epub_files.item(name[:-6], name) for name in names),
                spine=" ".join(name[:-6] for name in names),
            )
        case "csv":
            rows = (f"Depot {at};{at / 997:.3f};2024-05-{at % 28 + 1:02d};{prose[:40]}" for at in range(400 * size))
            return "\n".join(["Depot;Share;Opened;Note", *rows]).encode()
        case "json":
            return json.dumps(
                [{"name": f"Depot {at}", "share": at / 997, "note": prose} for at in range(100 * size)]
            ).encode()
        case "xml":
            rows = (f'<depot id="{at}"><name>Depot</name><note>{prose}</note></depot>' for at in range(100 * size))
            return f"<depots>{''.join(rows)}</depots>".encode()
        case "ipynb":
            notebook = json.loads(peer_texts.ipynb())
            notebook["cells"] *= 20 * size
            return json.dumps(notebook).encode()
        case "msg":
            return peer_texts.msg()
        case _:
            raise ValueError(f"no files of the format {kind} are made here")
