"""`canonry inspect` and `canonry triage`: files without a log."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from streams.cli.output import EXIT_INCOMPLETE, json_option, note, safe, say, show_json, show_table, tell_progress
from streams.settings import Settings


def files_under(path: Path) -> Iterator[Path]:
    """The file itself, or all regular files below a folder in a fixed order; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        for entry in sorted(path.iterdir()):
            yield from files_under(entry) if entry.is_dir() and not entry.is_symlink() else [entry]
    else:
        yield path


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--media-type", metavar="TYPE", help="Media type that the source declared.")
@click.option("--http-content-type", metavar="VALUE", help="Content-Type header that came with the file.")
@click.option(
    "--overlay",
    metavar="PNG",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the pages of FILE with the blocks over them; several pages become NAME-1.png and so on.",
)
@click.option("--pages", metavar="LIST", help="With --overlay: which pages, e.g. 2 or 1-3,7.")
@json_option
def inspect(
    paths: tuple[Path, ...],
    media_type: str | None,
    http_content_type: str | None,
    overlay: Path | None,
    pages: str | None,
    as_json: bool,
) -> None:
    """Show what Canonry makes of files or folders: format, encoding, text, tables, scores, verdict.

    Runs decode, extract and screen in this process's slots; no broker, nothing is stored. With --json one object per
    line and document, members of containers after their container; its keys are stable.

    \b
    Examples:
      canonry inspect report.pdf
      canonry inspect --json mail/ | jq -r 'select(.outcome != "ready") | .path'
      canonry inspect report.pdf --overlay seen.png --pages 1-3
    """
    from streams.ops.inspect import Declared, examine_all, line_of
    from streams.ops.overlay import draw_pages
    from streams.runtime.slots import Slots

    settings = Settings.load()
    files = [file for path in paths for file in files_under(path)]
    declared = Declared(media_type, http_content_type)
    ranges = _page_ranges(paths, overlay, pages)
    tell_progress("streams.runtime.progress")

    async def work() -> None:
        slots = Slots(settings.worker)
        try:
            async for examined in examine_all(files, settings, slots, declared):
                line = await asyncio.to_thread(line_of, examined)
                if as_json:
                    show_json(line)
                    sys.stdout.flush()
                else:
                    _show(line)
                if overlay is not None and examined.parent is None:
                    async for file in draw_pages(files[0], examined, slots, overlay, ranges):
                        note(f"Drawn: {file}")
        finally:
            await slots.stop()

    asyncio.run(work())


def _page_ranges(paths: tuple[Path, ...], overlay: Path | None, pages: str | None) -> list[tuple[int, int]] | None:
    """What `--pages` asks for. Raises click.UsageError for what can't be drawn."""
    from streams.ops.overlay import parse_pages

    if overlay is None and pages is not None:
        raise click.UsageError("--pages says which pages --overlay draws.")
    if overlay is not None and (len(paths) != 1 or paths[0].is_dir()):
        raise click.UsageError("--overlay draws one file.")
    try:
        return parse_pages(pages) if pages is not None else None
    except ValueError:
        raise click.UsageError("--pages takes numbers and ranges, e.g. 2 or 1-3,7.") from None


def _show(line: dict[str, Any]) -> None:
    """One document for a reader."""
    click.secho(safe(line["path"]), bold=True)
    verdict = line["outcome"]
    colour = {"ready": "green", "quarantined": "red"}.get(verdict, "yellow")
    why = ", ".join(line["problems"]) or line["rule"] or ""
    click.secho(f"  {verdict}" + (f": {why}" if why else ""), fg=colour)
    if line["error"]:
        say(f"  {line['error']}")
    facts = [line["media_type"] or "unknown format", f"{line['size'] if line['size'] is not None else '?'} bytes"]
    if line["encoding"]:
        facts.append(f"{line['encoding']} ({line['encoding_source']})")
    if line["page_count"]:
        facts.append(f"{line['page_count']} pages")
    if line["language"]:
        facts.append(f"language {line['language']}")
    if line["children"]:
        facts.append(f"{len(line['children'])} members")
    facts.append(f"{len(line['blocks'])} blocks, {len(line['tables'])} tables, {line['seconds']:.2f} s")
    say("  " + " · ".join(facts))
    if line["mismatch"]:
        say(f"  the name or the source says otherwise; decided by {line['detected_by']}")
    for label in ("title", "created"):
        if line[label]:
            say(f"  {label}: {line[label]}")
    if line["warnings"]:
        say(f"  warnings: {', '.join(line['warnings'])}")
    if line["dropped"]:
        say("  left out: " + ", ".join(f"{count} {what}" for what, count in line["dropped"].items()))
    text = line["text"].strip()
    if text:
        shown = text[:600]
        say("")
        for part in shown.splitlines():
            say(f"  │ {part}")
        if len(text) > len(shown):
            say(f"  │ … {len(text) - len(shown)} more characters (--json shows all)")
    say("")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sample", type=click.IntRange(min=1), help="Look at this many files only, chosen at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice.")
@json_option
def triage(folder: Path, sample: int | None, seed: int, as_json: bool) -> None:
    """What is in this folder, and what would become of it? A table of format × outcome, without a log.

    \b
    Examples:
      canonry triage /srv/share --sample 2000
    """
    from streams.cli.progress import progress_bar
    from streams.ops.inspect import examine_all
    from streams.runtime.slots import Slots

    settings = Settings.load()
    files = list(files_under(folder))
    if sample is not None and sample < len(files):
        files = sorted(random.Random(seed).sample(files, sample))  # noqa: S311 - a sample, no secret

    async def work() -> None:
        counts: Counter[tuple[str, str]] = Counter()
        problems: Counter[str] = Counter()
        seconds, documents = 0.0, 0
        slots = Slots(settings.worker)
        try:
            with progress_bar(len(files), "triage", quiet=as_json) as advance:
                async for examined in examine_all(files, settings, slots):
                    found = examined.found
                    documents += 1
                    counts[found.detection.media_type if found.detection else "—", found.screening.outcome.value] += 1
                    problems.update(found.screening.problems or [found.screening.rule or ""])
                    if examined.parent is None:
                        seconds = advance()
        finally:
            await slots.stop()
        problems.pop("", None)
        if as_json:
            show_json(
                {
                    "files": len(files),
                    "documents": documents,  # members of containers included
                    "seconds": round(seconds, 3),
                    "outcomes": [{"media_type": m, "outcome": o, "count": n} for (m, o), n in sorted(counts.items())],
                    "reasons": dict(problems.most_common()),
                }
            )
            return
        show_outcomes(counts)
        if problems:
            say("")
            show_table(["why", "documents"], problems.most_common())
        rate = len(files) / seconds if seconds else 0.0
        members = f", {documents - len(files)} members and attachments" if documents > len(files) else ""
        say(f"\n{len(files)} files{members} in {seconds:.1f} s ({rate:.1f} per second). Nothing was stored.")

    if not files:
        note(f"{folder} holds no files.")
        raise click.exceptions.Exit(EXIT_INCOMPLETE)
    asyncio.run(work())


_OOXML = "application/vnd.openxmlformats-officedocument."
SHORT = {
    f"{_OOXML}wordprocessingml.document": "docx",
    f"{_OOXML}spreadsheetml.sheet": "xlsx",
    f"{_OOXML}presentationml.presentation": "pptx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odp",
}
"""Media types that are too long for a table, by the name everybody uses; `--json` has them as they are."""


def show_outcomes(counts: Counter[tuple[str, str]]) -> None:
    """The table of format × outcome."""
    outcomes = [o for o in ("ready", "quarantined", "skipped", "pending") if any(key[1] == o for key in counts)]
    formats = sorted({key[0] for key in counts}, key=lambda f: -sum(counts[f, o] for o in outcomes))
    rows: list[list[Any]] = [[SHORT.get(f, f), *(counts[f, o] or "" for o in outcomes)] for f in formats]
    rows.append(["total", *(sum(counts[f, o] for f in formats) for o in outcomes)])
    show_table(["format", *outcomes], rows)
