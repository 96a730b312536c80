"""The jobs a slot can do: the pure core, called by name with JSON arguments."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from streams.decode.unpack.model import Limits, Unpacked
from streams.errors import DocumentError
from streams.records import (
    Attempt,
    Block,
    BlockKind,
    BlockSource,
    CanonBody,
    CanonSummary,
    Detection,
    Failure,
    Judged,
    Outcome,
    Screening,
)
from streams.records.codec import decode as avro_decode
from streams.records.codec import encode as avro_encode

MAX_TITLE = 1000
MAX_AUTHORS = 100
MAX_MESSAGE = 2000
MAX_PAGE_SCORES = 800
"""A record must fit into a message, whatever a document claims its title, authors or page count to be; the canon in the
blob store has all of it."""


SCREEN_AT_ONCE_S = 5.0
"""Where extraction took longer, the screen gets a job and a time limit of its own."""


def path_text(path: Path) -> str:
    """A path as JSON can carry it: file names are bytes, and not all of them are UTF-8. `text_path` is the way back."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return "\0" + os.fsencode(path).decode("latin-1")  # no path holds a NUL
    return str(path)


def text_path(text: str) -> Path:
    """The path that `path_text` spelled."""
    return Path(os.fsdecode(text[1:].encode("latin-1")) if text.startswith("\0") else text)


class DecodeArgs(msgspec.Struct, frozen=True, kw_only=True):
    """What decode is told about the bytes at `path`, which `path_text` spelled."""

    path: str
    file_name: str
    declared_media_type: str | None = None
    http_content_type: str | None = None
    max_bytes: int


class DecodeAnswer(msgspec.Struct, frozen=True):
    """What the bytes are, or why that is the end, or both."""

    detection: Detection | None
    failure: Failure | None


class UnpackArgs(msgspec.Struct, frozen=True, kw_only=True):
    """A container, and the empty folder for its members; both as `path_text` spelled them."""

    path: str
    file_name: str  # a compressed file's only member takes its name from it
    media_type: str
    into: str
    limits: Limits


class UnpackAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of it. `unavailable`: the folder can't be written to, which says nothing of the container."""

    unpacked: Unpacked = Unpacked()
    unavailable: str | None = None


class ScreenArgs(msgspec.Struct, frozen=True, kw_only=True):
    """How to judge the canon in the body."""

    size: int  # bytes of the original
    policy_file: str | None = None
    source: str | None = None  # registered name: the policy may have exceptions for it


class ExtractArgs(msgspec.Struct, frozen=True, kw_only=True):
    """One content to extract; nothing of where it came from."""

    path: str
    content_hash: str
    detection: Detection
    language_hint: str | None = None
    max_pages: int
    tool: str | None = None  # the extractor that a decision named
    screen: ScreenArgs | None = None  # judge it at once, while it is at hand


class RecognitionPlanArgs(msgspec.Struct, frozen=True, kw_only=True):
    """What to recognise of the canon that is the body beside it."""

    detection: Detection
    pages: list[int]  # empty: all that need it
    languages: list[str]
    max_pixels: int
    most: int  # pages at once


class RecognitionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of now, those of later, and the fingerprint of the canon that will have the first ones."""

    pages: list[int] = []
    rest: list[int] = []
    fingerprint: str = ""
    unavailable: str | None = None  # why nothing can be recognised here


class RecogniseArgs(msgspec.Struct, frozen=True, kw_only=True):
    """Pages to recognise; the canon so far is the body beside it."""

    path: str
    detection: Detection
    pages: list[int]
    languages: list[str]
    max_pixels: int
    page_timeout_s: float
    screen: ScreenArgs


class ExtractAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt, and what the screen says of the canon, where that was asked and quickly said."""

    attempt: Attempt
    judged: Judged | None = None


class ScreenAnswer(msgspec.Struct, frozen=True):
    screening: Screening
    summary: CanonSummary


class ExamineArgs(msgspec.Struct, frozen=True, kw_only=True):
    """Decode, extract and screen in one go, for work without a log."""

    decode: DecodeArgs
    content_hash: str
    size: int
    language_hint: str | None = None
    max_pages: int
    tool: str | None = None  # the extractor whose turn it is; null: the format's own
    policy_file: str | None = None


class OverlayArgs(msgspec.Struct, frozen=True, kw_only=True):
    """A page to draw with its blocks over it; the canon is the body beside it."""

    path: str
    detection: Detection
    page: int


class PageArgs(msgspec.Struct, frozen=True, kw_only=True):
    """A page to draw as it is."""

    path: str
    detection: Detection
    page: int


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it; the canon body, where there is one, is the bytes beside it."""

    detection: Detection | None = None
    failure: Failure | None = None
    attempt: Attempt | None = None
    summary: CanonSummary | None = None
    screening: Screening


def run_decode(args: DecodeArgs) -> DecodeAnswer:
    from streams.decode import decode

    found = decode(
        text_path(args.path),
        declared_media_type=args.declared_media_type,
        http_content_type=args.http_content_type,
        file_name=args.file_name,
        max_bytes=args.max_bytes,
    )
    return DecodeAnswer(found.detection, found.failure)


_DISK_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


def run_unpack(args: UnpackArgs) -> UnpackAnswer:
    from streams.decode.unpack import unpack

    try:
        found = unpack(
            text_path(args.path), args.media_type, text_path(args.into), args.limits, file_name=args.file_name
        )
    except OSError as error:
        if error.errno in _DISK_FAULTS:
            return UnpackAnswer(unavailable=error.strerror or str(error))
        raise
    return UnpackAnswer(unpacked=found)


def run_extract(args: ExtractArgs) -> CanonBody:
    from streams.extract import extract
    from streams.extract.outcome import Request

    request = Request(
        path=text_path(args.path),
        detection=args.detection,
        language_hint=args.language_hint,
        max_pages=args.max_pages,
    )
    return extract(request, content_hash=args.content_hash, tool=args.tool)


def run_screen(body: CanonBody, args: ScreenArgs) -> ScreenAnswer:
    from streams.screen import screen

    screening = screen(body, _policy(args.policy_file), size=args.size, source=args.source)
    if len(screening.pages) > MAX_PAGE_SCORES:
        warnings = [*screening.warnings, "page_scores_dropped"]
        screening = msgspec.structs.replace(screening, pages=[], warnings=warnings)
    return ScreenAnswer(screening, summarize(body))


@cache
def _policy(file: str | None) -> Any:
    from streams.screen.policy import Policy, read_policy

    return read_policy(Path(file)) if file else Policy()


def summarize(body: CanonBody) -> CanonSummary:
    """What the ledger and the catalog keep of a canon."""
    from streams.screen.near import signature

    return CanonSummary(
        title=body.title[:MAX_TITLE] if body.title else body.title,
        authors=[author[:MAX_TITLE] for author in body.authors[:MAX_AUTHORS]],
        created=body.created,
        modified=body.modified,
        language=body.language,
        page_count=body.page_count,
        method=body.method,
        confidence=body.confidence,
        blocks=len(body.blocks),
        tables=len(body.tables),
        characters=sum(len(block.text) for block in body.blocks),
        signature=signature(body),
    )


def failed(failure: Failure) -> Screening:
    """The end of a document that never had a canon."""
    message = failure.message[:MAX_MESSAGE]
    if failure.skip:
        return Screening(outcome=Outcome.SKIPPED, rule=failure.code, error=message)
    return Screening(outcome=Outcome.QUARANTINED, problems=[failure.code], error=message)


def run_examine(args: ExamineArgs) -> tuple[Examination, bytes]:
    """All three steps. A document's fault ends as a screening with its code, as in the stages."""
    detection: Detection | None = None
    try:
        found = run_decode(args.decode)
        detection = found.detection
        if found.failure is not None or detection is None:
            failure = found.failure or Failure(code="unsupported_format", message="Nothing is known of its format.")
            return Examination(detection=detection, failure=failure, screening=failed(failure)), b""
        started = time.perf_counter()
        body = run_extract(
            ExtractArgs(
                path=args.decode.path,
                content_hash=args.content_hash,
                detection=detection,
                language_hint=args.language_hint,
                max_pages=args.max_pages,
                tool=args.tool,
            )
        )
    except DocumentError as error:
        failure = Failure(code=error.problem, message=error.message)
        return Examination(detection=detection, failure=failure, screening=failed(failure)), b""
    seconds = time.perf_counter() - started
    judged = run_screen(body, ScreenArgs(size=args.size, policy_file=args.policy_file))
    return (
        Examination(
            detection=detection,
            attempt=attempt_of(body, seconds, judged.screening.problems),
            summary=judged.summary,
            screening=judged.screening,
        ),
        avro_encode(body),
    )


def attempt_of(body: CanonBody, seconds: float, problems: list[str] | None = None) -> Attempt:
    return Attempt(
        extractor=body.extractor,
        extractor_version=body.extractor_version,
        fingerprint=body.fingerprint,
        method=body.method,
        problems=problems or [],
        seconds=seconds,
    )


def _decode_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return run_decode(msgspec.json.decode(args, type=DecodeArgs)), b""


def _unpack_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return run_unpack(msgspec.json.decode(args, type=UnpackArgs)), b""


def _extract_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    started = time.perf_counter()
    given = msgspec.json.decode(args, type=ExtractArgs)
    canon = run_extract(given)
    seconds = time.perf_counter() - started
    attempt = attempt_of(canon, seconds)
    if given.screen is None or seconds > SCREEN_AT_ONCE_S:
        return ExtractAnswer(attempt=attempt), avro_encode(canon)
    started = time.perf_counter()
    said = run_screen(canon, given.screen)
    seconds = time.perf_counter() - started
    judged = Judged(screening=said.screening, summary=said.summary, seconds=seconds)
    return ExtractAnswer(attempt=attempt, judged=judged), avro_encode(canon)


def _recognise_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    from streams.extract.recognise import RecogniseRequest, recognise

    given = msgspec.json.decode(args, type=RecogniseArgs)
    started = time.perf_counter()
    canon = recognise(
        RecogniseRequest(
            path=text_path(given.path),
            detection=given.detection,
            body=avro_decode(CanonBody, body),
            pages=given.pages,
            languages=given.languages,
            max_pixels=given.max_pixels,
            page_seconds=given.page_timeout_s,
        )
    )
    attempt = attempt_of(canon, time.perf_counter() - started)
    started = time.perf_counter()
    said = run_screen(canon, given.screen)
    judged = Judged(screening=said.screening, summary=said.summary, seconds=time.perf_counter() - started)
    return ExtractAnswer(attempt=attempt, judged=judged), avro_encode(canon)


def _recognition_plan_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    from streams.extract.recognise import fingerprint, pages_needing
    from streams.extract.recognise.engine import EngineUnavailable

    given = msgspec.json.decode(args, type=RecognitionPlanArgs)
    before = avro_decode(CanonBody, body)
    pages = given.pages or pages_needing(before)
    now, rest = pages[: given.most], pages[given.most :]
    try:
        named = fingerprint(
            given.detection, given.languages, pages=now, before=before.fingerprint, max_pixels=given.max_pixels
        )
    except EngineUnavailable as error:
        return RecognitionPlan(unavailable=str(error)), b""
    return RecognitionPlan(pages=now, rest=rest, fingerprint=named), b""


def _screen_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return run_screen(avro_decode(CanonBody, body), msgspec.json.decode(args, type=ScreenArgs)), b""


def _examine_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return run_examine(msgspec.json.decode(args, type=ExamineArgs))


def _overlay_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    from streams.extract.overlay import draw_page

    given = msgspec.json.decode(args, type=OverlayArgs)
    return None, draw_page(text_path(given.path), given.detection, avro_decode(CanonBody, body), given.page)


def _page_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    from streams.extract.overlay import plain_page

    given = msgspec.json.decode(args, type=PageArgs)
    return None, plain_page(text_path(given.path), given.detection, given.page)


def _warm_job(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    """Loads what the first document would have to wait for: parsers, the language model, the English word list."""
    from streams import decode, extract  # noqa: F401
    from streams.screen import screen

    text = "The first document of a process should not have to wait until it has learned to read its language."
    block = Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.TEXT_LAYER)
    canon = CanonBody(
        content_hash="", fingerprint="", extractor="", extractor_version="", media_type="text/plain", blocks=[block]
    )
    screen(canon, _policy(None), size=len(text))
    return None, b""


JOBS: dict[str, Callable[[msgspec.Raw, bytes], tuple[Any, bytes]]] = {
    "decode": _decode_job,
    "unpack": _unpack_job,
    "extract": _extract_job,
    "screen": _screen_job,
    "recognition_plan": _recognition_plan_job,
    "recognise": _recognise_job,
    "examine": _examine_job,
    "overlay": _overlay_job,
    "page": _page_job,
    "warm": _warm_job,
}
