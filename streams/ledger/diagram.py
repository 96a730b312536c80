"""The diagram of the table of transitions: what `apply` really does with each kind of event in each kind of state.

`python -m streams.ledger.diagram` writes it into the README beside this file; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from streams.ledger.decisions import DecisionRefused
from streams.ledger.timeline import version_at
from streams.ledger.transitions import RULES, Arrived, Event, apply, empty
from streams.records import (
    Attempt,
    ChangeEvent,
    Content,
    Decision,
    DecisionKind,
    Detection,
    DocumentRef,
    Failure,
    Manifest,
    Method,
    Operation,
    Outcome,
    Payload,
    Screened,
    Screening,
    Sequence,
    SourceState,
    Status,
    Timing,
    Version,
)

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- transitions -->\n", "<!-- end of transitions -->\n"
START = datetime(2026, 1, 1, tzinfo=UTC)


def section() -> str:
    """The generated part of the README: the diagram, and the rule of each event."""
    rules: dict[str, list[str]] = {}
    for event, rule in RULES.items():
        rules.setdefault((rule.__doc__ or "").split("\n\n")[0].replace("\n", " "), []).append(f"`{event}`")
    table = "".join(f"| {', '.join(events)} | {text} |\n" for text, events in rules.items())
    return f"{BEGIN}```mermaid\n{mermaid()}```\n\n| event | what it does |\n|---|---|\n{table}{END}"


def mermaid() -> str:
    """All kinds of states that a document can be in, and the events that lead from one to another."""
    edges: dict[tuple[str, str], list[str]] = {}
    waiting = [empty("share:doc")]
    known = {_look(waiting[0])}
    names = [_kind(waiting[0])]
    while waiting:
        state = waiting.pop(0)
        for label, event in _events(state):
            try:
                after, _ = apply(state, event, now=_now(state))
            except DecisionRefused:
                continue
            labels = edges.setdefault((_kind(state), _kind(after)), [])
            if label not in labels:
                labels.append(label)
            if _look(after) not in known:
                known.add(_look(after))
                waiting.append(after)
                names += [_kind(after)] if _kind(after) not in names else []
    ids = {name: f"s{number}" for number, name in enumerate(names)}
    lines = [f'    state "{name}" as {ids[name]}\n' for name in names]
    lines += [
        f"    {ids[one]} --> {ids[other]}: {', '.join(labels)}\n"
        for (one, other), labels in sorted(
            edges.items(), key=lambda edge: (names.index(edge[0][0]), names.index(edge[0][1]))
        )
        if one != other
    ]
    return "stateDiagram-v2\n" + "".join(lines)


def _look(state: SourceState) -> tuple[object, ...]:
    """What makes a difference to the next event, and may not show in the name: each such state is looked at once."""
    current = version_at(state, state.current)
    last = current.decisions[-1].kind if current is not None and current.decisions else None
    has_content = current is not None and current.content is not None
    return _kind(state), has_content, last, bool(current and current.canons), bool(state.versions)


def _kind(state: SourceState) -> str:
    """A state as a person would call it."""
    current, published = version_at(state, state.current), version_at(state, state.published)
    if state.status is Status.DELETED:
        return "deleted and erased" if state.erasures and all(v.erased_at for v in state.versions) else "deleted"
    if current is None:
        return "unknown"
    name = "in conflict" if state.conflict else current.outcome.value
    return f"{name}, an older version is served" if published not in (None, current) else name


def _events(state: SourceState) -> Iterator[tuple[str, Event]]:
    """One event of every kind that could come next."""
    current = version_at(state, state.current)
    last = state.versions[-1].content if state.versions else None
    yield "upsert", _arrived(state, Operation.UPSERT, content=f"{state.high_water.offset + 1:064x}")
    if last is not None:
        yield "upsert of the same bytes", _arrived(state, Operation.UPSERT, content=last.sha256)
        yield (
            "upsert by another source",
            _arrived(state, Operation.UPSERT, content=f"{state.high_water.offset + 1:064x}", source="crm"),
        )
    yield "failed", _arrived(state, Operation.FAILED, failure=Failure(code="unreadable", message="It can't be read."))
    for operation in (Operation.MOVE, Operation.ACL, Operation.DELETE):
        yield operation.value, _arrived(state, operation)
    if current is not None and current.content is not None:
        for outcome in (Outcome.READY, Outcome.QUARANTINED, Outcome.SKIPPED):
            yield f"result {outcome.value}", _result(state, current, outcome)
    for kind in (DecisionKind.ACCEPT, DecisionKind.SKIP, DecisionKind.UNDO, DecisionKind.ERASE):
        yield f"decision {kind.value}", _decision(state, kind)


def _now(state: SourceState) -> datetime:
    """A minute after everything that the state knows."""
    judged = [timing.started_at for version in state.versions for timing in version.timings]
    judged += [timing.started_at for v in state.versions for other in v.others for timing in other.timings]
    decided = [made.decided_at for version in state.versions for made in version.decisions]
    known = [*(v.manifest.ingested_at for v in state.versions), *(change.at for change in state.changes)]
    return max([START, *judged, *decided, *known]) + timedelta(minutes=1)


def _arrived(
    state: SourceState,
    operation: Operation,
    *,
    content: str | None = None,
    failure: Failure | None = None,
    source: str = "share",
) -> Arrived:
    sequence = Sequence(epoch=1, offset=state.high_water.offset + 1)
    manifest = Manifest(
        path="in/doc",
        file_name="doc",
        source=source,
        native_id="doc",
        observed_at=_now(state),
        ingested_at=_now(state),
        readers=[],
    )
    body = Content(sha256=content, size=1) if content is not None else None
    event = ChangeEvent(
        source_id=state.source_id, operation=operation, manifest=manifest, content=body, failure=failure
    )
    return Arrived(event, sequence)


def _result(state: SourceState, version: Version, outcome: Outcome) -> Screened:
    assert version.content is not None
    fingerprint = f"made at {_now(state)}"
    screened = Screened(
        document=DocumentRef(
            source_id=state.source_id, sequence=version.sequence, content=version.content, manifest=version.manifest
        ),
        detection=Detection(media_type="text/plain", detected_by="text"),
        screening=Screening(outcome=outcome, rule="media" if outcome is Outcome.SKIPPED else None),
        timings=[Timing(stage="screen", started_at=_now(state), seconds=0.0)],
    )
    if outcome is Outcome.SKIPPED:
        return screened
    return msgspec.structs.replace(
        screened,
        payload=Payload(key=fingerprint, sha256=fingerprint, size=1),
        attempt=Attempt(
            extractor="text", extractor_version="1", fingerprint=fingerprint, method=Method.NATIVE, seconds=0.0
        ),
    )


def _decision(state: SourceState, kind: DecisionKind) -> Decision:
    return Decision(
        source_id=state.source_id,
        sequence=state.current or state.high_water,
        kind=kind,
        actor="eva",
        reason="she looked at it",
        decided_at=_now(state),
    )


def main() -> None:
    """Writes the generated part of the README anew."""
    text = README.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) + len(END) :]
    README.write_text(before + section() + after, encoding="utf-8")


if __name__ == "__main__":
    main()
