"""`canonry run`, `canonry worker`, `canonry consumer`: the parts at work."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import click

from streams.cli.output import EXIT_INCOMPLETE, EXIT_INTERRUPTED, json_option, note, quiet_clients, say, show_json
from streams.errors import CanonryError
from streams.settings import Settings
from streams.topology import STAGES


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--source", metavar="NAME", help="Name of the source; default: the folder's own name.")
@click.option("--watch", is_flag=True, help="Follow the folder until Ctrl-C.")
@click.option("--approve-deletes", is_flag=True, help="Publish deletes even when they are many.")
@json_option
def run(folder: Path, source: str | None, watch: bool, approve_deletes: bool, as_json: bool) -> None:
    """Take a folder the whole way: through the log, the stages and the ledger, into the catalog and the search index.

    Starts what it needs on this machine (a broker, unless CANONRY_BROKER names one; a worker), publishes what is new,
    changed, moved or deleted since the last time, and ends when every document has an outcome: ready, quarantined with
    a code, or skipped by a rule. A second run costs a look at each file. Exit status 0 only if every document reached
    an outcome.

    \b
    Examples:
      canonry run ~/Documents
      canonry run /srv/share --source share --watch
    """
    from streams.ops.run import Run, source_name

    settings = Settings.load()
    configure_logging(settings)
    name = source or source_name(folder)
    from streams.cli.progress import Meter

    with Meter(f"canonry run {name}", quiet=as_json) as meter:

        def progress(phase: str, done: int, total: int) -> None:
            meter.update(done, total or None, phase)

        seen: dict[str, tuple[Any, str | None]] = {}

        def on_state(state: Any) -> None:
            _follow(state, seen, quiet=as_json or not watch)

        def on_held(source_ids: list[str]) -> None:
            if watch:
                _say_held(source_ids)

        work = Run(
            folder,
            settings,
            name,
            approve_deletes=approve_deletes,
            progress=progress,
            on_state=on_state,
            on_held=on_held,
        )
        interrupted = False

        async def main() -> Any:
            nonlocal interrupted
            stop = asyncio.Event()
            task = asyncio.current_task()
            assert task is not None

            def stop_now() -> None:
                nonlocal interrupted
                if watch and not stop.is_set():
                    stop.set()
                else:
                    interrupted = True
                    task.cancel()

            loop = asyncio.get_running_loop()
            for signum in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(signum, stop_now)
            try:
                return await (work.watch(stop) if watch else work.once())
            except asyncio.CancelledError:
                if not interrupted:
                    raise
                return work.report

        try:
            report = asyncio.run(main())
        except CanonryError as error:
            if error.transient:
                error.remedy = f"{error.remedy} The same command then goes on where this one ended.".lstrip()
            raise
    _show(report, settings, as_json, interrupted=interrupted)
    if interrupted:
        note("Stopped. What was published is in the log and goes on with the next run.")
        raise click.exceptions.Exit(EXIT_INTERRUPTED)
    if not report.complete:
        raise click.exceptions.Exit(EXIT_INCOMPLETE)


def _follow(state: Any, seen: dict[str, tuple[Any, str | None]], *, quiet: bool) -> None:
    """One line for each change of a document's fate while the folder is watched."""
    from streams.ops.tracker import outcome_of

    now = (state.current, outcome_of(state))
    if now == seen.get(state.source_id) or now[1] is None:
        return
    seen[state.source_id] = now
    if not quiet:
        say(f"{now[1]:<12} {state.path}")


def _say_held(source_ids: list[str]) -> None:
    note(
        f"{len(source_ids)} documents are gone from the folder: so many that nothing was deleted. "
        "If it is meant, run again with --approve-deletes."
    )


def _show(report: Any, settings: Settings, as_json: bool, *, interrupted: bool) -> None:
    from streams.consumers.catalog import Catalog

    counts: Counter[tuple[str, str]] = Counter()
    with Catalog(settings) as catalog:
        for row in catalog.outcome_table(report.source):
            counts[row.media_type or "—", row.outcome or "pending"] += row.count
    summary = report.summary
    if as_json:
        show_json(
            {
                "source": report.source,
                "complete": report.complete,
                "outcomes": [{"media_type": m, "outcome": o, "count": n} for (m, o), n in sorted(counts.items())],
                "scan": {
                    key: getattr(summary, key) for key in ("new", "changed", "moved", "deleted", "failed", "unchanged")
                },
                "held_deletes": summary.held_deletes,
                "incomplete": summary.incomplete,
                "settled": report.settled,
                "pending": report.pending,
                "dead_letters": report.lost,
                "worker_restarts": report.worker_restarts,
                "waiting": report.waiting,
                "seconds": round(report.seconds, 3),
            }
        )
        return
    from streams.cli.files import show_outcomes

    show_outcomes(counts)
    said = {
        "new": summary.new,
        "changed": summary.changed,
        "moved": summary.moved,
        "deleted": summary.deleted,
        "without content (links, unreadable)": summary.failed,
        "unchanged": summary.unchanged,
    }
    nothing = "it was not read to its end" if interrupted else "the folder holds no files"
    parts = [f"{number} {what}" for what, number in said.items() if number]
    say(f"\n{report.source}: {', '.join(parts) or nothing}; {report.seconds:.1f} s")
    if report.new_log:
        note("The log is another one than before (or was lost), so every document was published again.")
    if report.worker_restarts:
        note(f"The worker was started again {report.worker_restarts} times; see logs/worker.log in the data directory.")
    if report.waiting:
        listed = ", ".join(f"{stage} {number}" for stage, number in report.waiting.items())
        note(f"Events of others wait (a replay, or another source): {listed}. `canonry worker` does them.")
    for place in summary.incomplete:
        note(f"could not be listed: {place}")
    if summary.held_deletes:
        _say_held(summary.held_deletes)
    for source_id, why in list(report.lost.items())[:20]:
        note(f"no outcome: {source_id}: {why}")
    for source_id in report.pending[:20]:
        note(f"still pending: {source_id}")


def configure_logging(settings: Settings) -> None:
    """Log lines on stderr; those of the log's client libraries only when everything is asked for."""
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True)
    quiet_clients(logging.NOTSET if settings.log_level == "DEBUG" else logging.CRITICAL)


@click.command()
@click.argument("stages", nargs=-1, type=click.Choice(list(STAGES)))
@click.option("--with-parent", is_flag=True, hidden=True, help="End when standard input closes.")
def worker(stages: tuple[str, ...], with_parent: bool) -> None:
    """Run stages in this process until SIGTERM: decode, extract, screen, recognize, ledger, provenance; all by default.

    Each stage is a consumer group of its own (canonry-<stage>), so it scales, lags and stops alone: start as many
    workers as you like, on as many machines.

    \b
    Exit status: 0 after SIGTERM; 70 when it ended itself because it could not go on (start it again).
    """
    from streams.log.broker import ensure
    from streams.runtime.worker import run_worker

    settings = Settings.load()
    configure_logging(settings)
    run_worker(settings, ensure(settings), stages, until_stdin_closes=with_parent)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(["catalog", "search"]))
def consumer(names: tuple[str, ...]) -> None:
    """Run the built-in index builders until SIGTERM: catalog, search; both when none is named."""
    from streams.blobs import open_store
    from streams.consumers.host import NAMES, run_consumers
    from streams.log.broker import ensure

    settings = Settings.load()
    configure_logging(settings)
    broker = ensure(settings)

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, stop.set)
        await run_consumers(settings, broker, open_store(settings), names=names or NAMES, stop=stop)

    asyncio.run(main())
