"""A folder as an office has it: reports, contracts and minutes of several pages, most of them PDF and DOCX."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from demo import formats
from demo.make_documents import TEXTS
from demo.reports import WORDINGS, report

PAGES_MEDIAN, PAGES_SIGMA, PAGES_MOST = 8, 0.8, 60
"""Pages of a document are log-normal: half have at most 8, one in eight more than 20. An assumption, not a survey."""

WORDS_PER_PAGE = 420
SHARES = {"pdf": 0.45, "docx": 0.3, "html": 0.1, "txt": 0.1, "md": 0.05}
LANGUAGES = [language for language in sorted(WORDINGS) if language != "cs"]  # the PDF writer knows Latin-1 only


def make_office(folder: Path, count: int, seed: int = 0) -> None:
    """Writes `count` documents, no two with the same content; the same seed gives the same bytes."""
    random = Random(seed)  # noqa: S311 - texts, no secrets
    sentences = _sentences()
    for number in range(count):
        ending = random.choices(list(SHARES), list(SHARES.values()))[0]
        language = random.choice(LANGUAGES)
        pages = min(PAGES_MOST, max(1, round(random.lognormvariate(0, PAGES_SIGMA) * PAGES_MEDIAN)))
        source = _source(random, number, language, pages, sentences[language])
        target = folder / language / f"{number:04d}.{ending}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_written(ending, source, language))


def _sentences() -> dict[str, list[str]]:
    """Sentences of the demo's texts by language."""
    found: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for file in sorted(TEXTS.glob("*.md")):
        language = file.name.split(".")[1]
        if language in found:
            for part in formats.parse(file.read_text("utf-8")):
                if part.kind == "paragraph":
                    found[language] += [s for s in re.split(r"(?<=[.!?]) ", part.text) if len(s.split()) > 4]
    return found


def _source(random: Random, number: int, language: str, pages: int, sentences: list[str]) -> str:
    station, first = report(random, language)
    parts, words = [first], len(first.split())
    section = 0
    while words < pages * WORDS_PER_PAGE:
        section += 1
        block = [f"## {section}. {station} {number}/{section}"]
        block += [" ".join(random.choices(sentences, k=random.randint(3, 8))) for _ in range(random.randint(2, 5))]
        if section % 4 == 0:
            _, more = report(random, language)
            block += [line for line in more.splitlines() if not line.startswith("# ")]
        parts.append("\n\n".join(block))
        words += sum(len(line.split()) for line in block)
    return "\n\n".join(parts) + "\n"


def _written(ending: str, source: str, language: str) -> bytes:
    match ending:
        case "pdf":
            return formats.pdf(source)
        case "docx":
            return formats.docx(source, "Tom Hardcastle")
        case "html":
            return formats.html(source, language, navigation=True)
        case "txt":
            return formats.plain(source).encode()
        case _:
            return formats.markdown(source).encode()
