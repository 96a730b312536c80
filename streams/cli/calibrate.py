"""`canonry calibrate`: how the screen's scores are distributed, and where their tails begin."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.cli.files import SHORT, files_under
from streams.cli.output import EXIT_INCOMPLETE, json_option, note, safe, say, show_json, show_table
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.calibrate import Calibration, Distribution

_BARS = " ▁▂▃▄▅▆▇█"
_MOST_GROUPS = 4


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--catalog", is_flag=True, help="Take the scores that the catalog keeps; no file is read.")
@click.option("--sample", type=click.IntRange(min=1), help="Look at this many files only, chosen at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random choice.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="A page with plots.")
@click.option(
    "--write",
    metavar="POLICY.toml",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The suggestions as a policy.",
)
@json_option
def calibrate(
    folder: Path | None,
    catalog: bool,
    sample: int | None,
    seed: int,
    html: Path | None,
    write: Path | None,
    as_json: bool,
) -> None:
    """Show how each score of the screen is distributed over documents, what its limit flags, and where its tail begins.

    The suggested line lies where values leave the body: five robust standard deviations from the median. Read the held
    documents that are listed before you take it over with `screen.policy_file`.

    \b
    Examples:
      canonry calibrate /srv/share --sample 2000 --html scores.html
      canonry calibrate --catalog --write policy.toml
    """
    if (folder is None) == (not catalog):
        raise click.UsageError("Give a folder, or --catalog.")
    for file in (html, write):
        if file is not None:
            _check_new(file)
    from streams.ops.calibrate import from_catalog, policy_text, values_of
    from streams.ops.calibrate_page import page
    from streams.screen.policy import load_policy

    settings = Settings.load()
    policy = load_policy(settings)
    if folder is None:
        found = from_catalog(settings, policy)
    else:
        found = asyncio.run(_of_folder(folder, folder.absolute().name, sample, seed, settings, as_json))
    if html is not None:
        _save(html, page(found))
    if write is not None:
        _save(write, policy_text(found, policy))
    if as_json:
        show_json(values_of(found))
    else:
        _show(found)
    if not found.documents:
        note("No document has scores.")
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


def _check_new(file: Path) -> None:
    """Asked before the work begins. Raises click.UsageError for a file that is there, or can't be."""
    try:
        if file.exists():
            raise click.UsageError(f"{file} is there already; give a new name.")
    except OSError as error:  # a name that is too long, a folder that nobody may look into
        raise click.UsageError(f"{file} can't be written: {error.strerror}.") from error
    if not file.parent.is_dir():
        raise click.UsageError(f"{file} can't be written: there is no folder {file.parent}.")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise click.UsageError(f"{file} can't be written: {file.parent} takes no new files from you.")


def _save(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:  # a full disk
        raise click.UsageError(f"{file} can't be written: {error.strerror}.") from error


async def _of_folder(
    folder: Path, name: str, sample: int | None, seed: int, settings: Settings, quiet: bool
) -> Calibration:
    from streams.cli.progress import progress_bar
    from streams.ops.calibrate import calibrate as calibrated
    from streams.ops.calibrate import from_files
    from streams.runtime.slots import Slots
    from streams.screen.policy import load_policy

    files = list(files_under(folder))
    if sample is not None and sample < len(files):
        files = sorted(random.Random(seed).sample(files, sample))  # noqa: S311 - a sample, no secret
    slots = Slots(settings.worker)
    try:
        documents = []
        with progress_bar(len(files), "calibrate", quiet=quiet) as advance:
            async for document in from_files(files, name, settings, slots):
                documents.append(document)
                advance()
    finally:
        await slots.stop()
    return calibrated(documents, load_policy(settings))


def _show(found: Calibration) -> None:
    say(f"{found.documents} documents, {found.held} of them held under {found.policy}.\n")
    rows = []
    for each in found.distributions:
        suggested = "" if each.suggested is None else f"{each.suggested:g}"
        then = "" if each.suggested is None else f"{each.beyond_suggested / each.documents:.1%}"
        middle, tail = (f"{each.quantiles[at]:.3g}" for at in (4, 7 if each.above else 1))
        limit = f"{'>' if each.above else '<'} {each.limit:g}"
        share = f"{each.beyond / each.documents:.1%}"
        rows.append([each.score, each.documents, middle, tail, _bars(each), limit, share, suggested, then])
    show_table(["score", "n", "50 %", "tail", "histogram", "limit", "beyond", "suggested", "beyond"], rows)
    for each in found.distributions:
        if each.suggested is not None:
            say(f"{each.limit_name}: {each.why}.")
    for by in ("format", "source", "language"):
        groups = [
            [SHORT.get(g.name, safe(g.name)), each.score, g.documents, f"{g.median:.3g}", f"{g.tail:.3g}", g.beyond]
            for each in found.distributions
            for g in [group for group in each.groups if group.by == by][:_MOST_GROUPS]
        ]
        if groups:
            say("")
            show_table([by, "score", "n", "50 %", "tail", "beyond"], sorted(groups, key=lambda row: str(row[0])))
    if found.to_read:
        say("\nTo read before a limit is changed:")
        for document in found.to_read:
            say(f"  {safe(document.path)}: {', '.join(document.problems)}")
            if document.words:
                say(f"    {safe(document.words)}")


def _bars(each: Distribution) -> str:
    most = max(each.bins) ** 0.5
    return "".join(_BARS[-(-round(8 * count**0.5 * 100 / most) // 100)] for count in each.bins[::2]) if most else ""
