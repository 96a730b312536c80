"""One held document for a person: why it is held, what was tried, what was decided, and how its text begins."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from streams.cli.output import safe, say, show_table
from streams.cli.times import utc

if TYPE_CHECKING:
    from streams.ops.quarantine import Case
    from streams.ops.quarantine_scores import Score

PREVIEW_LINES = 15


def tell(case: Case, now: datetime) -> None:
    """Prints it."""
    row, held = case.document, case.held
    click.secho(safe(row.path), bold=True)
    say(f"  {row.source_id}\n")
    say(f"  {row.outcome or row.status}: {', '.join(row.problems) or row.rule or 'nothing is wrong with it'}")
    if row.error:
        say(f"  {row.error}")
    if held is None:
        say("  It is not held (any more).")
    else:
        late = held.deadline is not None and held.deadline < now
        say(f"\n  held since:  {utc(held.held_since)} UTC")
        say(f"  deadline:    {utc(held.deadline)}{' (overdue)' if late else ''}")
        say(f"  owner:       {held.owner or 'nobody'}")
    say(f"  format:      {row.media_type or 'unknown'}, {row.size if row.size is not None else '?'} bytes")
    _scores(case)
    _section(
        "Attempts, the one that counts last",
        ["when (UTC)", "tool", "outcome", "why", "characters", "confidence", "seconds"],
        [
            [
                str(each["settled_at"])[:19].replace("T", " "),
                f"{each['extractor']} {each['extractor_version']}" if each["extractor"] else "—",
                each["outcome"],
                ", ".join(each["problems"]) or each["error"],
                each["characters"],
                each["confidence"],
                f"{each['seconds']:.2f}",
            ]
            for each in case.attempts
        ],
    )
    _section(
        "Decisions",
        ["when (UTC)", "what", "by", "why", "batch", ""],
        [
            [utc(made.decided_at), f"{made.kind} {made.tool or ''}".strip(), made.actor, made.reason, made.batch,
             "" if made.kind not in ("re_extract", "recognize") else "done" if made.answered_at else "under way"]
            for made in case.decisions
        ],
    )  # fmt: skip
    _text(case)
    if held is not None:
        ways = ["--accept"] if case.text is not None else []
        ways += [f"--re-extract {tool}" for tool in case.tools] + ["--recognize"] * case.recognizable + ["--skip"]
        say(f"\n  Decide with `canonry quarantine decide {row.source_id} … --reason WHY`: {', '.join(ways)}")


def _scores(case: Case) -> None:
    if case.scores:
        title = "Scores"
        if case.policy and case.policy != case.limits_of:
            title += f" (judged by {case.policy}; the limits are those of now, {case.limits_of})"
        _section(title, ["score", "value", "limit", "", "code"], [_score(score) for score in case.scores])
    pages: list[list[Any]] = [
        [page.number, *_score(score)] for page in case.pages for score in page.scores if score.fired
    ]
    if pages:
        _section("Pages beyond a limit", ["page", "score", "value", "limit", "", "code"], pages)


def _score(score: Score) -> list[Any]:
    limit = "" if score.limit is None else f"{'>' if score.above else '<'} {score.limit:g}"
    return [
        score.name,
        f"{score.value:g}",
        limit,
        "✗" if score.fired else "",
        score.code if score.limit is not None else "",
    ]


def _text(case: Case) -> None:
    say("")
    if case.text is None:
        say("  There is no text.")
        return
    lines = case.text.splitlines()
    click.secho("How the text begins", bold=True)
    for line in lines[:PREVIEW_LINES]:
        say(f"  │ {line[:160]}")
    if len(lines) > PREVIEW_LINES or not case.text_complete:
        say(f"  … `canonry canon {case.document.source_id} --as text` has all of it")


def _section(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    if rows:
        say("")
        show_table(columns, rows, title=title)
