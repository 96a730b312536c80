"""One file or many without a log: decode, extract and screen in slots, one JSON object per document."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from streams.connectors.names import display_path
from streams.errors import DocumentError, SlotFailure
from streams.extract.finish import body_text
from streams.extract.render import table_records, table_rows
from streams.records import CanonBody, Failure, Outcome, Screening
from streams.records.codec import decode
from streams.runtime.jobs import DecodeArgs, Examination, ExamineArgs, failed, path_text
from streams.runtime.slots import Slots
from streams.runtime.stages import failure_of, with_attempts
from streams.settings import Settings

Line = dict[str, Any]


class Declared:
    """What a source would have said about a file."""

    def __init__(self, media_type: str | None = None, http_content_type: str | None = None) -> None:
        self.media_type = media_type
        self.http_content_type = http_content_type


class Examined:
    """One document and what came of it."""

    def __init__(
        self, path: Path, size: int | None, content_hash: str | None, found: Examination, body: bytes, seconds: float
    ) -> None:
        self.path = path
        self.size = size
        self.content_hash = content_hash
        self.found = found
        self.body = body
        self.seconds = seconds


async def examine_all(
    paths: Iterable[Path], settings: Settings, slots: Slots, declared: Declared | None = None
) -> AsyncIterator[Examined]:
    """Examines files side by side in the slots; results come in the order of `paths`."""
    window = settings.worker.slots * 3
    running: list[asyncio.Task[Examined]] = []
    try:
        for path in paths:
            running.append(asyncio.create_task(examine(path, settings, slots, declared or Declared())))
            if len(running) >= window:
                yield await running.pop(0)
        while running:
            yield await running.pop(0)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def examine(path: Path, settings: Settings, slots: Slots, declared: Declared) -> Examined:
    """Decode, extract and screen one file. Whatever is wrong with it is in the result; nothing is raised for it."""
    started = time.perf_counter()
    size: int | None = None
    content_hash: str | None = None
    try:
        measured = await asyncio.to_thread(_measure, path)
        size, content_hash = measured
        args = ExamineArgs(
            decode=DecodeArgs(
                path=path_text(path),
                file_name=display_path(os.fsencode(path.name)),
                declared_media_type=declared.media_type,
                http_content_type=declared.http_content_type,
                max_bytes=settings.limits.max_document_bytes,
            ),
            content_hash=measured[1],
            size=measured[0],
            max_pages=settings.limits.max_pages,
            policy_file=str(settings.screen.policy_file) if settings.screen.policy_file else None,
        )
        found, body, _ = await with_attempts(
            settings.worker.max_attempts, lambda: slots.run("examine", args, Examination)
        )
    except OSError as error:
        found, body = _ended(Failure(code="unreadable", message=f"{error.strerror or error}.")), b""
    except (DocumentError, SlotFailure) as error:
        found, body = _ended(failure_of(error)), b""
    return Examined(path, size, content_hash, found, body, time.perf_counter() - started)


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
        "path": display_path(os.fsencode(examined.path)),
        "parent": None,
        "name": display_path(os.fsencode(examined.path.name)),
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
        "attempts": [_attempt(found)] if found.attempt else [],
        "language": body.language if body else None,
        "title": body.title if body else None,
        "authors": body.authors if body else [],
        "created": body.created if body else None,
        "modified": body.modified if body else None,
        "page_count": body.page_count if body else None,
        "warnings": _warnings(examined, body),
        "text": body_text(body) if body else "",
        "blocks": [_block(block) for block in body.blocks] if body else [],
        "tables": _tables(body) if body else [],
        "scores": {
            "document": screening.scores,
            "pages": [{"page": page.number, **page.scores} for page in screening.pages],
        },
        "children": [],
        "seconds": round(examined.seconds, 4),
    }


def _attempt(found: Examination) -> Line:
    assert found.attempt is not None
    attempt = found.attempt
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
