"""Writes the documents of a small invented company: what companies have, and what goes wrong with it.

    python -m demo.make_documents OUT [--count 60] [--seed 0] [--list]

Deterministic: the same count and seed give the same bytes. Nothing in it is taken from anywhere.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from demo import formats
from demo.locked_pdf import locked_pdf
from demo.reports import WORDINGS, report

TEXTS = Path(__file__).parent / "texts"
CONFIDENTIAL = "This message and its attachments are confidential and intended for the addressee only."
SECRET = "tide-and-time"  # noqa: S105 (of a made file, and nobody tells Canonry)
LOGIN = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in - Norrvik Portal</title></head>
<body><h1>Sign in</h1><p>Your session has expired. Please sign in to continue.</p>
<form action="/login" method="post"><label>User name <input name="user"></label>
<label>Password <input type="password" name="password"></label><button>Sign in</button></form>
<p><a href="/forgot">Forgot your password?</a></p></body></html>
"""


@dataclass(frozen=True)
class Plan:
    """One document: where it goes, what it is there for, and how its bytes are made; or where a link leads."""

    path: str  # relative; undecodable bytes as surrogates, as `os.fsdecode` gives them
    purpose: str
    content: Callable[[], bytes] | None = None
    link: str | None = None


@dataclass(frozen=True)
class Made:
    """A document that was written. `size` in bytes; 0 for a link."""

    path: str
    purpose: str
    size: int


def text_of(name: str) -> str:
    """A text of `demo/texts`, by its file name without the ending."""
    return (TEXTS / f"{name}.md").read_text(encoding="utf-8")


def make_documents(out: Path, count: int = 60, seed: int = 0) -> list[Made]:
    """Writes `count` documents under `out` and says what each is for.

    What a file system refuses (a name that is no UTF-8, say) is left out; nothing that exists is changed.
    Errors: FileExistsError if one of the files is there already.
    """
    made: list[Made] = []
    for plan in plans(count, seed):
        target = os.fsencode(out) + b"/" + os.fsencode(plan.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        data = b"" if plan.content is None else plan.content()
        try:
            if plan.link is not None:
                os.symlink(plan.link, target)
            else:
                with open(target, "xb") as file:
                    file.write(data)
        except FileExistsError:
            raise
        except (OSError, ValueError):  # APFS and NTFS know fewer names than Linux, and Windows links need rights
            continue
        made.append(Made(plan.path, plan.purpose, len(data)))
    return made


def plans(count: int, seed: int) -> Iterator[Plan]:
    """The first `count` documents: the company's own, the broken ones, then reports of inspections without end."""
    fixed = [*_whole(), *_broken()]
    yield from fixed[:count]
    random = Random(seed)
    languages = sorted(WORDINGS)
    for at in range(count - len(fixed)):
        yield _report(at, random, languages[at % len(languages)])


def _report(at: int, random: Random, language: str) -> Plan:
    station, source = report(random, language)
    plain_name = unicodedata.normalize("NFKD", station).encode("ascii", "ignore").decode("ascii")
    stem = re.sub(r"\W+", "-", plain_name).strip("-").lower()
    endings = ["md", "txt", "html", "docx"] + (["pdf"] if language != "cs" else [])  # the PDF writer knows Latin-1 only
    ending = endings[at % len(endings)]
    writers: dict[str, Callable[[], bytes]] = {
        "md": lambda: formats.markdown(source).encode(),
        "txt": lambda: formats.plain(source).encode(),
        "html": lambda: formats.html(source, language),
        "docx": lambda: formats.docx(source, "Tom Hardcastle"),
        "pdf": lambda: formats.pdf(source),
    }
    return Plan(
        f"inspections/{language}/{at + 1:04}-{stem}.{ending}", f"inspection report ({language})", writers[ending]
    )


def _text(path: str, purpose: str, name: str, encoding: str = "utf-8") -> Plan:
    return Plan(path, purpose, lambda: formats.plain(text_of(name)).encode(encoding))


def _markdown(path: str, purpose: str, name: str) -> Plan:
    return Plan(path, purpose, lambda: formats.markdown(text_of(name)).encode())


def _html(path: str, purpose: str, name: str, charset: str = "utf-8", navigation: bool = False) -> Plan:
    language = name.rpartition(".")[2]
    return Plan(path, purpose, lambda: formats.html(text_of(name), language, charset, navigation))


def _docx(path: str, purpose: str, name: str, author: str = "Ada Lindqvist") -> Plan:
    return Plan(path, purpose, lambda: formats.docx(text_of(name), author))


def _pdf(path: str, purpose: str, name: str, columns: int = 1) -> Plan:
    return Plan(path, purpose, lambda: formats.pdf(text_of(name), columns))


def _whole() -> list[Plan]:
    """Documents that must come through."""

    def thread() -> str:
        return (TEXTS / "thread.en.txt").read_text(encoding="utf-8")

    # chapters of the manual: a title inside a document would be a second one
    appendices = [text_of(name).replace("# ", "## ", 1) for name in ("firmware.en", "prices.en", "expenses.en")]
    return [
        _docx("contracts/lease-workshop-four.docx", "contract with a termination notice period", "lease.en"),
        _pdf("contracts/supply-bronze-housings.pdf", "contract in two columns", "supply.en", columns=2),
        _docx("contracts/supply-amendment-1.docx", "tracked changes and a footnote", "amendment.en"),
        _pdf("contracts/wartung-travemuende.pdf", "German contract", "wartung.de"),
        _html("contracts/prestation-roscoff.html", "French contract, windows-1252", "prestation.fr", "windows-1252"),
        _text("contracts/arrendamiento-vigo.txt", "Spanish, windows-1252", "arrendamiento.es", "cp1252"),
        _text("contracts/najem-dilny.txt", "Czech, windows-1250", "najem.cs", "cp1250"),
        _text("contracts/postavka-kabelya.txt", "Russian, KOI8-R", "postavka.ru", "koi8-r"),
        _text("contracts/業務委託契約書.txt", "Japanese, Shift JIS, and a Japanese name", "itaku.ja", "cp932"),
        _docx("archive/2023/lease-workshop-four.docx", "exact duplicate in another folder", "lease.en"),
        _markdown("minutes/2024-05-14-board.md", "minutes in Markdown", "board.en"),
        _docx("minutes/2024-06-06-betriebsversammlung.docx", "German minutes", "betriebsrat.de", "Frau Köhler"),
        _markdown("minutes/2024-05-22-réunion.md", "French minutes, accent in the name", "reunion.fr"),
        _markdown("minutes/2024-05-16-porada.md", "Czech minutes", "porada.cs"),
        _html(
            "minutes/2024-05-21-soveshchanie.html", "Russian minutes, windows-1251", "soveshchanie.ru", "windows-1251"
        ),
        _markdown("minutes/2024-05-20-kaigi.md", "Japanese minutes", "kaigi.ja"),
        Plan(
            "manuals/tg-4-operators-manual.pdf",
            "manual of two pages with running heads and tables",
            lambda: formats.pdf("\n".join([text_of("manual.en"), *appendices])),
        ),
        _html("manuals/tg-4-kurzanleitung.html", "German quick start with a numbered list", "anleitung.de"),
        _docx("manuals/tg-4-guía-rápida.docx", "Spanish quick start with a numbered list", "guia.es"),
        _html("manuals/tg-4-torisetsu.html", "Japanese manual, EUC-JP", "torisetsu.ja", "euc-jp"),
        _text("manuals/firmware-notes.txt", "plain ASCII", "firmware.en"),
        _pdf("finance/price-list-2024.pdf", "ruled table with amounts", "prices.en"),
        _docx("finance/q1-2024.docx", "table of figures and a footnote", "quarter.en"),
        _markdown("finance/expenses-policy.md", "table in Markdown", "expenses.en"),
        _docx("hr/staff-handbook.docx", "headings and footnotes", "handbook.en", "Priya Raman"),
        _html("hr/first-day.html", "page with navigation, script and footer", "onboarding.en", navigation=True),
        _pdf("hr/reisekostenordnung.pdf", "German, table", "reisekosten.de"),
        _text("hr/congés-été.txt", "French, ISO 8859-15", "conges.fr", "iso8859-15"),
        Plan("mail/2024-05-21-batch-23b.txt", "exported mail with quoted history", lambda: thread().encode()),
        Plan(
            "mail/2024-05-21-batch-23b-utf16.txt",
            "the same export in UTF-16 with a BOM",
            lambda: thread().encode("utf-16"),
        ),
        _html("press/twelve-stations.html", "press release inside a web page", "release.en", navigation=True),
        _html("press/roscoff.html", "French press release", "communique.fr"),
        _pdf("research/sensor-drift.pdf", "paper in two columns", "paper.en", columns=2),
        _text("research/sensor-drift.txt", "near-duplicate: the same paper as text", "paper.en"),
    ]


def _broken() -> list[Plan]:
    """Documents that go wrong in practice; each must say so, or come through in spite of it."""

    def source(name: str) -> bytes:
        return formats.plain(text_of(name)).encode()

    def manual() -> bytes:
        return formats.pdf(text_of("manual.en"))

    def handbook() -> bytes:
        return formats.docx(text_of("handbook.en"), "Priya Raman")

    def mojibake() -> bytes:
        return source("wartung.de").decode("utf-8").encode().decode("cp1252", "replace").encode()

    def bundle() -> bytes:
        return formats.packed({"supply.txt": source("supply.en"), "notes/firmware.txt": source("firmware.en")})

    invalid = os.fsdecode(b"incoming/caf\xe9-menu.txt")
    return [
        Plan("incoming/empty.txt", "zero bytes: skipped by rule", lambda: b""),
        Plan("incoming/manual-cut.pdf", "PDF cut off in the middle", lambda: manual()[: len(manual()) * 2 // 5]),
        Plan("incoming/handbook-cut.docx", "DOCX cut off in the middle", lambda: handbook()[: len(handbook()) // 2]),
        Plan(
            "incoming/salaries.pdf",
            "PDF that needs a password",
            lambda: locked_pdf(formats.plain(text_of("quarter.en")).splitlines(), SECRET),
        ),
        Plan("incoming/offer.docx", "a PDF whose name says DOCX", lambda: formats.pdf(text_of("prices.en"))),
        Plan(
            "incoming/notice.pdf",
            "a web page whose name says PDF",
            lambda: formats.html(text_of("onboarding.en"), "en"),
        ),
        Plan(
            "incoming/scan-0001.pdf",
            "a scan: pages without a text layer",
            lambda: formats.pdf_of_pictures(text_of("lease.en")),
        ),
        Plan("incoming/wartung-kopie.txt", "German that was decoded with the wrong encoding", mojibake),
        Plan("incoming/from-supplier.zip", "an archive with two texts", bundle),
        Plan("incoming/gauge.png", "a picture", lambda: formats.png(text_of("firmware.en"))),
        Plan("incoming/logger.bin", "readings of a logger: an unknown binary format", _readings),
        Plan("incoming/disclaimer.txt", "one sentence 300 times", lambda: (CONFIDENTIAL + "\n").encode() * 300),
        Plan("incoming/export.csv", "a login page instead of the export", LOGIN.encode),
        Plan("incoming/two\nlines.txt", "a line break in the name", lambda: source("firmware.en")),
        Plan(invalid, "a name that is no valid UTF-8", lambda: source("reisekosten.de")),
        Plan("incoming/latest.pdf", "a link that leads nowhere", link="../manuals/tg-5-operators-manual.pdf"),
    ]


def _readings() -> bytes:
    random = Random(4)
    return b"\x93NRVK\x00\x02" + bytes(random.randrange(256) for _ in range(4000))


def shown(path: str) -> str:
    """A path as one line that any terminal can print."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in path)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the documents of a small invented company.")
    parser.add_argument("out", type=Path, help="folder to write to; it may exist, the files in it may not")
    parser.add_argument("--count", type=int, default=60, help="how many documents (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="for the readings in the inspection reports")
    parser.add_argument("--list", action="store_true", help="print a table of what was made and what each is for")
    args = parser.parse_args()
    if args.count < 0:
        parser.error("--count must not be negative")
    try:
        made = make_documents(args.out, args.count, args.seed)
    except OSError as error:
        print(
            f"Can't write to {args.out}: {error.strerror}: {shown(os.fsdecode(error.filename or ''))}", file=sys.stderr
        )
        return 1
    if args.list:
        width = max((len(shown(document.path)) for document in made), default=0)
        for document in made:
            print(f"{shown(document.path):<{width}}  {document.size:>8}  {document.purpose}")
    print(f"{len(made)} documents in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
