"""One file or many without a log: decode, extract and screen in slots, one JSON object per document."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from streams.connectors.names import display_path, file_name
from streams.decode.unpack import Member
from streams.errors import DocumentError, SlotFailure
from streams.extract.finish import body_text
from streams.extract.render import table_records, table_rows
from streams.records import Attempt, CanonBody, Failure, Judged, Outcome, Screening, Tried
from streams.records.codec import decode
from streams.runtime.jobs import DecodeArgs, Examination, ExamineArgs, ScreenArgs, failed, path_text
from streams.runtime.languages import languages_of
from streams.runtime.members import Opened, carries, open_members
from streams.runtime.progress import Progress
from streams.runtime.recognition import Recogniser
from streams.runtime.scratch import scratch_folder
from streams.runtime.screening import merit, next_tool, recognition_wanted, unrecognised
from streams.runtime.slots import Slots
from streams.runtime.stages import failure_of, screen_args, with_attempts
from streams.screen.policy import load_policy
from streams.settings import Settings

Line = dict[str, Any]


class Declared:
    """What a source would have said about a file."""

    def __init__(self, media_type: str | None = None, http_content_type: str | None = None) -> None:
        self.media_type = media_type
        self.http_content_type = http_content_type


@dataclass
class Examined:
    """One document and what came of it."""

    path: str  # as a person reads it; of a member, below the path of its container
    name: str
    size: int | None
    content_hash: str | None
    found: Examination
    body: bytes
    seconds: float
    parent: str | None = None
    inside: str = ""  # of a member: its path in the container
    attempts: list[Attempt] = field(default_factory=list)  # in their order; the last one counts
    members: list[Examined] = field(default_factory=list)

    def tree(self) -> Iterator[Examined]:
        """The document, and all that is in it, containers before what they hold."""
        yield self
        for member in self.members:
            yield from member.tree()


async def examine_all(
    paths: Iterable[Path], settings: Settings, slots: Slots, declared: Declared | None = None
) -> AsyncIterator[Examined]:
    """Examines files side by side in the slots; results come in the order of `paths`, members after their container.

    Raises:
        ScratchUnavailable: there is no room for the members of a container.
    """
    said = declared or Declared()
    files = (examine(path, display_path(os.fsencode(path)), settings, slots, said) for path in paths)
    async for examined in _side_by_side(files, settings.worker.slots * 3):
        for document in examined.tree():
            yield document


async def _side_by_side(work: Iterable[Coroutine[Any, Any, Examined]], window: int) -> AsyncIterator[Examined]:
    running: list[asyncio.Task[Examined]] = []
    try:
        for each in work:
            running.append(asyncio.create_task(each))
            if len(running) >= window:
                yield await running.pop(0)
        while running:
            yield await running.pop(0)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def examine(
    path: Path, shown: str, settings: Settings, slots: Slots, declared: Declared, *, depth: int = 0
) -> Examined:
    """Decode, extract and screen one file and its members. What is wrong with it is in the result, never raised.

    Args:
        shown: its path as a person reads it; the name is the last part.
        depth: how many containers it lies in.
    """
    started = time.perf_counter()
    name = file_name(shown)
    size: int | None = None
    content_hash: str | None = None
    members: list[Examined] = []
    attempts: list[Attempt] = []
    try:
        measured = await asyncio.to_thread(_measure, path)
        size, content_hash = measured
        args = ExamineArgs(
            decode=DecodeArgs(
                path=path_text(path),
                file_name=name,
                declared_media_type=declared.media_type,
                http_content_type=declared.http_content_type,
                max_bytes=settings.limits.max_document_bytes,
            ),
            content_hash=measured[1],
            size=measured[0],
            max_pages=settings.limits.max_pages,
            policy_file=str(settings.screen.policy_file) if settings.screen.policy_file else None,
        )
        found, body, attempts = await _attempts(path, args, settings, slots)
        if found.detection is not None and carries(found.detection, found.failure):
            with scratch_folder(settings) as folder:
                opened = await open_members(
                    slots, settings, path, name, found.detection, found.failure, depth=depth, into=folder
                )
                found = _said(found, opened)
                work = (_member(each, folder, shown, settings, slots, depth + 1) for each in opened.members)
                members = [each async for each in _side_by_side(work, settings.worker.slots * 3)]
    except OSError as error:
        found, body = _ended(Failure(code="unreadable", message=f"{error.strerror or error}.")), b""
    except (DocumentError, SlotFailure) as error:
        found, body = _ended(failure_of(error)), b""
    seconds = time.perf_counter() - started
    return Examined(shown, name, size, content_hash, found, body, seconds, attempts=attempts, members=members)


async def _attempts(
    path: Path, args: ExamineArgs, settings: Settings, slots: Slots
) -> tuple[Examination, bytes, list[Attempt]]:
    """The best of all attempts that the policy asks for, and which made a canon, the best one last."""
    policy = load_policy(settings)
    tried: list[Tried] = []
    results: list[tuple[Examination, bytes]] = []

    def note(found: Examination, body: bytes, tool: str | None) -> None:
        results.append((found, body))
        tried.append(Tried(tool=tool, attempt=found.attempt, summary=found.summary, screening=found.screening))

    tool: str | None = None
    while True:
        asked = msgspec.structs.replace(args, tool=tool)
        try:
            told = Progress("Extraction").of(path.name)
            found, body, _ = await with_attempts(
                settings.worker.max_attempts, partial(slots.run, "examine", asked, Examination, told=told)
            )
        except SlotFailure as error:
            if not results:
                raise
            found, body = msgspec.structs.replace(_ended(failure_of(error)), detection=results[0][0].detection), b""
        note(found, body, tool)
        if recognition_wanted(settings, found.screening, found.attempt):
            found, body = await _recognised(path, found, body, settings, slots, screen_args(settings, args.size))
            if found.attempt == tried[-1].attempt:  # it gave nothing but the reason
                results.pop()
                tried.pop()
            note(found, body, tool)
        tool = next_tool(policy, results[0][0].detection, tried)
        if tool is None:
            break
    best = max(range(len(tried)), key=lambda number: merit(tried[number].screening, tried[number].summary, number))
    attempts = [each.attempt for number, each in enumerate(tried) if each.attempt is not None and number != best]
    chosen = tried[best].attempt
    return *results[best], attempts if chosen is None else [*attempts, chosen]


async def _recognised(
    path: Path, found: Examination, body: bytes, settings: Settings, slots: Slots, screen: ScreenArgs
) -> tuple[Examination, bytes]:
    """The same document with its pictures read; or as it was, with the reason."""
    assert found.detection is not None
    assert found.summary is not None
    recogniser = Recogniser(settings, slots)
    try:
        read = await recogniser.whole(path, body, found.detection, languages_of(settings, None), screen)
    except (DocumentError, SlotFailure) as error:
        read = f"Recognition failed: {error.problem}: {error.message}"
    if isinstance(read, str):
        before = Judged(screening=found.screening, summary=found.summary, seconds=0.0)
        return msgspec.structs.replace(found, screening=unrecognised(before, read).screening), body
    answer, made = read
    assert answer.judged is not None
    judged = answer.judged
    again = msgspec.structs.replace(found, attempt=answer.attempt, summary=judged.summary, screening=judged.screening)
    return again, made


async def _member(member: Member, folder: Path, parent: str, settings: Settings, slots: Slots, depth: int) -> Examined:
    shown = f"{parent}/{member.path}"
    if member.file is None:
        failure = member.failure or Failure(code="corrupt", message="It has no bytes.")
        examined = Examined(shown, file_name(shown), None, None, _ended(failure), b"", 0.0)
    else:
        said = Declared(member.media_type)
        examined = await examine(folder / member.file, shown, settings, slots, said, depth=depth)
    return replace(examined, parent=parent, inside=member.path)


def _said(found: Examination, opened: Opened) -> Examination:
    """What the members say of their container."""
    if opened.failure is None:
        return msgspec.structs.replace(found, detection=opened.detection)
    return Examination(detection=opened.detection, failure=opened.failure, screening=failed(opened.failure))


def _ended(failure: Failure) -> Examination:
    return Examination(failure=failure, screening=failed(failure))


def _measure(path: Path) -> tuple[int, str]:
    """Size and hash. Raises DocumentError for what is no regular file: a pipe would never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise DocumentError("unreadable", "It is no regular file.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return os.fstat(file.fileno()).st_size, digest.hexdigest()


def line_of(examined: Examined) -> Line:
    """The JSON object of one document; its keys are a contract (see `canonry inspect --help`)."""
    found = examined.found
    screening: Screening = found.screening
    detection = found.detection
    body = decode(CanonBody, examined.body) if examined.body else None
    return {
        "path": examined.path,
        "parent": examined.parent,
        "name": examined.name,
        "content_hash": examined.content_hash,
        "size": examined.size,
        "media_type": detection.media_type if detection else None,
        "declared_media_type": detection.declared_media_type if detection else None,
        "mismatch": detection.mismatch if detection else False,
        "detected_by": detection.detected_by if detection else None,
        "encoding": detection.encoding if detection else None,
        "encoding_source": detection.encoding_source if detection else None,
        "encoding_confidence": detection.encoding_confidence if detection else None,
        "outcome": screening.outcome.value,
        "problems": screening.problems,
        "rule": screening.rule if screening.outcome is Outcome.SKIPPED else None,
        "error": screening.error,
        "extractor": body.extractor if body else None,
        "extractor_version": body.extractor_version if body else None,
        "method": body.method.value if body else None,
        "confidence": body.confidence if body else None,
        "attempts": [_attempt(attempt) for attempt in examined.attempts],
        "language": body.language if body else None,
        "title": body.title if body else None,
        "authors": body.authors if body else [],
        "created": body.created if body else None,
        "modified": body.modified if body else None,
        "page_count": body.page_count if body else None,
        "warnings": _warnings(examined, body),
        "dropped": {each.what: each.count for each in body.dropped} if body else {},
        "metadata": body.metadata if body else {},
        "text": body_text(body) if body else "",
        "blocks": [_block(block) for block in body.blocks] if body else [],
        "tables": _tables(body) if body else [],
        "scores": {
            "document": screening.scores,
            "pages": [{"page": page.number, **page.scores} for page in screening.pages],
        },
        "children": [_child(member) for member in examined.members],
        "seconds": round(examined.seconds, 4),
    }


def _child(member: Examined) -> Line:
    detection = member.found.detection
    return {
        "name": member.name,
        "path": member.inside,
        "media_type": detection.media_type if detection else None,
        "outcome": member.found.screening.outcome.value,
    }


def _attempt(attempt: Attempt) -> Line:
    return {
        "extractor": attempt.extractor,
        "extractor_version": attempt.extractor_version,
        "fingerprint": attempt.fingerprint,
        "method": attempt.method.value,
        "problems": attempt.problems,
        "seconds": round(attempt.seconds, 4),
    }


def _warnings(examined: Examined, body: CanonBody | None) -> list[str]:
    detection = examined.found.detection
    found = [*(detection.warnings if detection else []), *(body.warnings if body else [])]
    return list(dict.fromkeys([*found, *examined.found.screening.warnings]))


def _block(block: Any) -> Line:
    return {
        "id": block.id,
        "kind": block.kind.value,
        "level": block.level,
        "marker": block.marker,
        "text": block.text,
        "page": block.page,
        "bbox": list(block.bbox) if block.bbox else None,
        "section": block.section,
        "source": block.source.value,
        "confidence": block.confidence,
        "language": block.language,
        "table": block.table,
        "ref": block.ref,
        "links": [{"text": link.text, "target": link.target} for link in block.links],
        "hidden": block.hidden,
    }


def _tables(body: CanonBody) -> list[Line]:
    return [
        {
            "number": table.number,
            "caption": table.caption,
            "pages": table.pages,
            "header_rows": table.header_rows,
            "n_rows": table.n_rows,
            "n_cols": table.n_cols,
            "rows": table_rows(table),
            "records": table_records(table),
        }
        for table in body.tables
    ]
