"""How the screen's scores are distributed over real documents, where their tails begin, and a policy that follows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import sqlalchemy as sa

from streams.consumers import catalog_tables as t
from streams.consumers.catalog import Catalog
from streams.errors import CanonryError
from streams.extract.finish import body_text
from streams.ops.inspect import examine_all
from streams.ops.lookup import canon_of
from streams.ops.quarantine_scores import LIMITS
from streams.records import CanonBody, Outcome
from streams.records.codec import decode
from streams.runtime.slots import Slots
from streams.screen.policy import Policy, Thresholds
from streams.settings import Settings

LEAST = 50
"""Documents with a score, below which no line is suggested."""

SPREADS = 5.0
"""Robust standard deviations from the median at which a body of values ends."""

MOST_TAIL = 0.1
"""Share of the documents from which what lies apart is no tail but a second body: another kind of document."""

MIN_GAP = 0.1
"""Share of the range of all values that has to lie empty between body and tail: a thin end of one body is no tail."""

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
BINS = 24
TO_READ = 20
_FIRST = 160  # characters of a document to read


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One judged document."""

    path: str
    source: str
    media_type: str
    language: str
    problems: list[str]
    scores: dict[str, float]
    words: str = ""  # its first ones, where it is held


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The documents of one format, source or language."""

    by: str
    name: str
    documents: int
    median: float
    tail: float  # the hundredth part on the side of damage begins here
    beyond: int  # the limit of now


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """One score over all documents that have it. `limit` is that of most documents; exceptions count as they are."""

    score: str
    documents: int
    quantiles: list[float]  # at QUANTILES
    bins: list[int]  # BINS of equal width between the first and last quantile
    above: bool  # damage lies above the limit, else below
    limit_name: str
    code: str
    limit: float
    beyond: int
    suggested: float | None = None
    beyond_suggested: int = 0
    why: str = ""
    groups: list[Group] = []


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    documents: int
    held: int
    policy: str
    distributions: list[Distribution]
    to_read: list[Document]


def from_catalog(settings: Settings, policy: Policy) -> Calibration:
    """Of the scores that the catalog keeps of all living documents; originals stay where they are.

    Raises:
        DatabaseUnavailable: the catalog does not answer.
    """
    documents, versions = t.documents.c, t.versions.c
    query = (
        sa.select(
            documents.source_id, documents.path, documents.source, documents.media_type, documents.language,
            documents.problems, versions.scores,
        )
        .join(
            t.versions,
            (versions.source_id == documents.source_id)
            & (versions.epoch == documents.current_epoch)
            & (versions.offset == documents.current_offset),
        )
        .where(documents.status == "live")
        .order_by(documents.source_id)
    )  # fmt: skip
    with Catalog(settings) as catalog:
        with catalog.reading() as connection:
            found = [
                Document(
                    path=row.path,
                    source=row.source,
                    media_type=row.media_type or "",
                    language=row.language or "",
                    problems=row.problems,
                    scores=row.scores,
                    words=row.source_id,
                )
                for row in connection.execute(query)
                if row.scores
            ]
        read = [msgspec.structs.replace(each, words=_words_of(settings, catalog, each.words)) for each in chosen(found)]
    return calibrate(found, policy, read)


def _words_of(settings: Settings, catalog: Catalog, source_id: str) -> str:
    try:
        body, _ = canon_of(settings, catalog, catalog.find(source_id, limit=1)[0])
    except (CanonryError, IndexError):  # it has no text, or it is gone by now
        return ""
    return _first(body)


def _first(body: CanonBody) -> str:
    return " ".join(body_text(body)[: 4 * _FIRST].split())[:_FIRST]


async def from_files(files: Iterable[Path], source: str, settings: Settings, slots: Slots) -> AsyncIterator[Document]:
    """Documents below a folder, judged in the slots as `canonry triage` does."""
    async for examined in examine_all(files, settings, slots):
        screening = examined.found.screening
        if not screening.scores:
            continue
        held = screening.outcome is Outcome.QUARANTINED and examined.body
        summary, detection = examined.found.summary, examined.found.detection
        yield Document(
            path=examined.path,
            source=source,
            media_type=detection.media_type if detection else "",
            language=(summary.language if summary else None) or "",
            problems=screening.problems,
            scores=screening.scores,
            words=_first(decode(CanonBody, examined.body)) if held else "",
        )


def chosen(documents: Iterable[Document]) -> list[Document]:
    """Twenty held documents to read, every code in turn so that none hides the others."""
    by_code: dict[str, list[Document]] = {}
    for document in documents:
        if document.problems:
            by_code.setdefault(document.problems[0], []).append(document)
    found: list[Document] = []
    for turn in range(TO_READ):
        found += [some[turn] for _, some in sorted(by_code.items()) if turn < len(some)]
    return found[:TO_READ]


def calibrate(documents: list[Document], policy: Policy, to_read: list[Document] | None = None) -> Calibration:
    """Distributions of all scores that have a limit, those whose suggestion differs most first."""
    limits = [
        policy.thresholds(media_type=each.media_type, language=each.language or None, source=each.source)
        for each in documents
    ]
    found = [_distribution(name, documents, limits, policy.defaults) for name in LIMITS]
    kept = sorted((each for each in found if each is not None), key=lambda d: (d.suggested is None, d.score))
    return Calibration(
        documents=len(documents),
        held=sum(bool(each.problems) for each in documents),
        policy=policy.id,
        distributions=kept,
        to_read=chosen(documents) if to_read is None else to_read,
    )


def _distribution(
    name: str, documents: list[Document], limits: list[Thresholds], defaults: Thresholds
) -> Distribution | None:
    limit_name, code, above = LIMITS[name]
    having = [
        (document, document.scores[name], float(getattr(own, limit_name)))
        for document, own in zip(documents, limits, strict=True)
        if name in document.scores
    ]
    if not having:
        return None
    values = sorted(value for _, value, _ in having)
    limit = float(getattr(defaults, limit_name))
    suggested, why = suggest(values, above)
    if suggested is not None:
        suggested = float(f"{suggested:.4g}")

    def beyond(value: float, line: float) -> bool:
        return value > line if above else value < line

    now = sum(beyond(value, own) for _, value, own in having)
    then = now
    if suggested is not None:
        then = sum(beyond(value, own if own != limit else suggested) for _, value, own in having)
        if then == now:
            suggested, why = None, f"the limit of now divides them as {suggested:g} would"
    return Distribution(
        score=name,
        documents=len(values),
        quantiles=[quantile(values, q) for q in QUANTILES],
        bins=histogram(values),
        above=above,
        limit_name=limit_name,
        code=code,
        limit=limit,
        beyond=now,
        suggested=suggested,
        beyond_suggested=then,
        why=why,
        groups=list(_groups(having, above)),
    )


def _groups(having: list[tuple[Document, float, float]], above: bool) -> Iterator[Group]:
    for by, key in (("format", "media_type"), ("source", "source"), ("language", "language")):
        of: dict[str, list[tuple[float, float]]] = {}
        for document, value, limit in having:
            of.setdefault(getattr(document, key) or "—", []).append((value, limit))
        for group, pairs in sorted(of.items(), key=lambda item: (-len(item[1]), item[0])):
            values = sorted(value for value, _ in pairs)
            yield Group(
                by=by,
                name=group,
                documents=len(values),
                median=quantile(values, 0.5),
                tail=quantile(values, 0.99 if above else 0.01),
                beyond=sum(value > line if above else value < line for value, line in pairs),
            )


def quantile(values: list[float], share: float) -> float:
    """Of sorted values, with a straight line between neighbours."""
    position = share * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def histogram(values: list[float]) -> list[int]:
    """How many of the sorted values lie in each of BINS parts of equal width."""
    first, width = values[0], (values[-1] - values[0]) / BINS
    found = [0] * BINS
    for value in values:
        found[min(BINS - 1, int((value - first) / width)) if width else 0] += 1
    return found


def suggest(values: list[float], above: bool) -> tuple[float | None, str]:
    """Where the tail leaves the body, and why; None where there is no tail to speak of.

    The body ends SPREADS robust standard deviations from the median: 1.4826 times the median absolute deviation, or
    what the twentieth part on the side of damage says where more than half of the values are alike. The line lies in
    the middle between the last value of the body and the first beyond it, where the gap between them is wide enough.

    Args:
        values: sorted.
        above: whether damage lies above.
    """
    if len(values) < LEAST:
        return None, f"fewer than {LEAST} documents have it"
    middle = quantile(values, 0.5)
    side = quantile(values, 0.95 if above else 0.05)
    spread = max(1.4826 * median(abs(value - middle) for value in values), abs(side - middle) / 1.645)
    if not spread:
        return None, "nearly all values are alike"
    edge = middle + SPREADS * spread if above else middle - SPREADS * spread
    tail = [value for value in values if (value > edge if above else value < edge)]
    if not tail:
        return None, "no value lies apart from the others"
    if len(tail) > MOST_TAIL * len(values):
        return None, f"{len(tail)} of {len(values)} lie apart: another kind of document, not a tail"
    inner = max(value for value in values if value <= edge) if above else min(v for v in values if v >= edge)
    outer = tail[0] if above else tail[-1]
    if abs(outer - inner) < max(spread, MIN_GAP * (values[-1] - values[0])):
        return None, "the tail goes over into the body without a gap"
    return (inner + outer) / 2, (
        f"{len(tail)} of {len(values)} lie more than {SPREADS:g} robust standard deviations ({spread:.3g}) from the "
        f"median {middle:.3g}; the body ends at {inner:.3g}, the tail begins at {outer:.3g}"
    )


def policy_text(found: Calibration, policy: Policy) -> str:
    """A policy file (TOML) with what differs from the built-in one: what the policy of now says, and suggestions."""
    changes: dict[str, Any] = {
        name: value
        for name, value in msgspec.structs.asdict(policy.defaults).items()
        if value != getattr(Thresholds(), name)
    }
    said = {each.limit_name: each for each in found.distributions if each.suggested is not None}
    changes |= {name: each.suggested for name, each in said.items()}
    version = str(int(policy.version) + 1) if policy.version.isdecimal() else f"{policy.version}+1"
    lines = [
        f"# From {found.documents} documents, {found.held} of them held under {policy.id}.",
        f"name = {_value(policy.name)}",
        f"version = {_value(version)}",
    ]
    if changes:
        lines += ["", "[defaults]"]
    for name, value in changes.items():
        if name in said:
            each = said[name]
            lines.append(f"# {each.score}: {each.why}.")
            lines.append(
                f"# Beyond {each.limit:g}: {each.beyond} documents; beyond {each.suggested:g}: {each.beyond_suggested}."
            )
        lines.append(f"{name} = {_value(value)}")
    built_in = Policy()
    for kind in ("formats", "languages", "sources"):
        for key, layer in getattr(policy, kind).items():
            if layer != getattr(built_in, kind).get(key):
                lines += [
                    "",
                    f"[{kind}.{_value(key)}]",
                    *(f"{name} = {_value(value)}" for name, value in layer.items()),
                ]
    if policy.forks != built_in.forks:
        for fork in policy.forks:
            lines += ["", "[[forks]]", *(f"{k} = {_value(v)}" for k, v in msgspec.structs.asdict(fork).items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """As TOML has it; JSON's strings, numbers, truth values and lists are TOML's, DEL and lone surrogates apart."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def values_of(found: Calibration) -> Mapping[str, Any]:
    """As plain values, for `--json`."""
    said: dict[str, Any] = msgspec.to_builtins(found)
    return said
