"""Recognition: what is written on pages that are pictures, as blocks beside those that have a text layer.

    request -> pages that need it -> image of one page -> reading -> (all pages) blocks -> merged with what was there

A page's image lives only while that page is read, so memory does not grow with the number of pages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from PIL import Image

from streams.errors import DocumentError
from streams.extract import registry
from streams.extract.finish import finish
from streams.extract.images import points_per_pixel
from streams.extract.progress import tell
from streams.extract.recognise.engine import Engine, EngineFailed
from streams.extract.recognise.layout import SeenPage, blocks_of
from streams.extract.recognise.merge import NEARLY_EMPTY, Layer, merged
from streams.extract.recognise.reader import Enlarge, Reader, confidence, without_noise
from streams.extract.tools.mupdf import PageError, Pdf, open_pdf
from streams.extract.tools.mupdf_render import render
from streams.extract.tools.pillow import FORMATS, FrameInfo, open_picture, resized
from streams.records import BlockSource, CanonBody, Detection
from streams.screen.verdict import UNREAD_CONFIDENCE

VERSION = "2"
"""Version of the code of this package: raise it when it makes other canons of the same pages."""

DPI = 300
MAX_PIXELS = 40_000_000
PAGE_SECONDS = 180.0
MISSING_CONFIDENCE = UNREAD_CONFIDENCE
"""Confidence that blocks have at most when the model for their language is missing: nobody was there to read them."""

WAY_DIGITS = 8
"""Digits of a fingerprint that say in which way the pages were recognised, whichever they are."""

MIN_IMAGE_AREA = 0.5
"""Share of a page under images from which an empty page is taken for a scan; the screen's threshold, too."""


class RecogniseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A content, its canon so far, and what to recognise."""

    path: Path  # the original bytes, readable
    detection: Detection
    body: CanonBody  # of the extractor of its format
    pages: list[int] = []  # from 1; empty: every page that needs it
    languages: list[str] = []  # ISO 639-1, best guess first; empty: unknown
    max_pixels: int = MAX_PIXELS  # of one page
    dpi: int = DPI  # of rendered pages
    page_seconds: float = PAGE_SECONDS  # for all that the engine is asked about one page; a dense A4 takes 7


def pages_needing(body: CanonBody) -> list[int]:
    """Pages (from 1) with text that only recognition reads: under images, in pictures, or in a broken text layer."""
    count: dict[int, int] = {}
    for block in body.blocks:
        if block.page is not None and not block.hidden:
            count[block.page] = count.get(block.page, 0) + len("".join(block.text.split()))
    return [
        page.number
        for page in body.pages
        if page.source is not BlockSource.OCR
        and (
            page.unreadable
            or page.picture_text
            or (page.image_area >= MIN_IMAGE_AREA and count.get(page.number, 0) < NEARLY_EMPTY)
        )
    ]


def fingerprint(
    detection: Detection,
    languages: Sequence[str],
    *,
    pages: Sequence[int] = (),
    before: str = "",
    max_pixels: int = MAX_PIXELS,
    dpi: int = DPI,
    engine: Engine | None = None,
) -> str:
    """16 hex digits: the same content and the same fingerprint give the same canon (R-CAN-7).

    Of: the extractor whose canon it builds on, this package, the engine with its models, and what was asked. The first
    half is the same for all pages, so that it tells whether a canon would be made in the same way now. A canon with
    pages that failed has another one, for the next attempt may read them.

    Args:
        pages: that are asked for; empty: all that need it.
        before: fingerprint of the canon to which the pages are added.

    Raises:
        EngineUnavailable: there is no engine, so there will be no canon.
    """
    spec = _spec(detection, languages, max_pixels, dpi, engine or default_engine())
    return _fingerprint(spec, detection, pages, before, failed=())


def _fingerprint(
    spec: registry.ExtractorSpec, detection: Detection, pages: Sequence[int], before: str, *, failed: Sequence[int]
) -> str:
    way = registry.fingerprint(spec, detection)
    which = hashlib.sha256(f"{way} {before} {sorted(set(pages))} {sorted(failed)}".encode()).hexdigest()
    return way[:WAY_DIGITS] + which[: 16 - WAY_DIGITS]


def default_engine() -> Engine:
    """The engine that is used where none is named; its module is loaded with the first question."""
    from streams.extract.tools.tesseract import Tesseract

    return Tesseract()


def _spec(
    detection: Detection,
    languages: Sequence[str],
    max_pixels: int,
    dpi: int,
    engine: Engine,
) -> registry.ExtractorSpec:
    base = registry.plan(detection)
    if base is None:
        raise DocumentError("unsupported_format", f"No extractor is installed for {detection.media_type}.")
    asked = {"languages": list(languages), "max_pixels": max_pixels, "dpi": dpi}
    return registry.ExtractorSpec(
        name=f"{base.name}+{engine.name}",
        version=f"{base.version}+{VERSION} ({engine.name} {engine.version})",
        function="streams.extract.recognise:recognise",
        media_types=base.media_types,
        libraries=tuple(sorted({*base.libraries, "pymupdf", "pillow", "numpy", "wordfreq"})),
        options={
            **base.options,
            "engine": engine.identity(),
            "asked": hashlib.sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()[:16],
        },
    )


def recognise(request: RecogniseRequest, *, engine: Engine | None = None) -> CanonBody:
    """The whole canon again: kept text-layer blocks, and recognised ones for the pages.

    Warnings: `recognition_language_missing` when no model for the language of a page is installed (its blocks then
    have a confidence that the screen does not accept), `page_failed` when a page could not be rendered or read (it
    stays as it was), `truncated` when a picture's data ends early.

    Raises:
        DocumentError: the file can't be opened, or its format has no pages that can be recognised.
        EngineUnavailable: there is no engine, or it has no models.
    """
    engine = engine or default_engine()
    spec = _spec(request.detection, request.languages, request.max_pixels, request.dpi, engine)
    expected = request.languages or ([request.body.language] if request.body.language else [])
    reader = Reader(engine, expected, seconds=request.page_seconds)
    wanted = sorted(set(request.pages)) if request.pages else pages_needing(request.body)
    layer = Layer(request.body)
    seen: list[SeenPage] = []
    failed: list[int] = []
    noise = 0
    read_with: dict[str, None] = {}
    with _opened(request) as source:
        pages = {page.number: page for page in request.body.pages}
        for index, number in enumerate(wanted):
            tell(index, len(wanted))
            page = pages.get(number)
            if page is None:
                continue
            try:
                image, scale, enlarge, dpi = source.page(number)
                reading, missing = reader.read(image, enlarge, dpi=dpi)
            except (PageError, EngineFailed):
                failed.append(number)
                continue
            lines, dropped = without_noise(reading)
            noise += dropped
            mean = confidence(reading.words)
            if missing and mean is not None:
                mean = min(mean, MISSING_CONFIDENCE)
            read_with.update(dict.fromkeys(reading.languages if lines else ()))
            pages[number] = msgspec.structs.replace(
                page,
                source=BlockSource.OCR,
                confidence=mean,
                characters=sum(len("".join(line.text.split())) for line in lines),
            )
            seen.append(
                SeenPage(
                    number=number,
                    width=page.width,
                    height=page.height,
                    pixels_per_point=scale,
                    reading=reading,
                    lines=lines,
                    most_confidence=MISSING_CONFIDENCE if missing else 1.0,
                )
            )
        truncated = source.truncated
    warnings = [code for code, said in (
        ("recognition_language_missing", bool(reader.missing)),
        ("page_failed", bool(failed)),
        ("truncated", truncated),
    ) if said]  # fmt: skip
    draft = merged(
        layer,
        [pages[number] for number in sorted(pages)],
        blocks_of(seen, max(pages, default=0)),
        {page.number for page in seen},
        warnings=warnings,
        noise=noise,
        metadata={
            "recognition": f"{engine.name} {engine.version}",
            "recognition_languages": " ".join(read_with),
            "recognition_languages_missing": " ".join(sorted(reader.missing)),
        },
    )
    body = finish(draft, content_hash=request.body.content_hash, detection=request.detection, spec=spec)
    made = _fingerprint(spec, request.detection, request.pages, request.body.fingerprint, failed=failed)
    return msgspec.structs.replace(body, fingerprint=made)


# --- where the images of pages come from -------------------------------------------------------------------------

_Image = tuple[Image.Image, float, Enlarge, int | None]
"""A grey page, its pixels for each point, the same page larger, and its pixels per inch where they are known."""


class _Source:
    """Pages of an open file as images."""

    def __init__(self, page: Callable[[int], _Image], truncated: Callable[[], bool]) -> None:
        self.page = page
        self._truncated = truncated

    @property
    def truncated(self) -> bool:
        return self._truncated()


@contextmanager
def _opened(request: RecogniseRequest) -> Iterator[_Source]:
    kind = request.detection.media_type
    if kind == "application/pdf":
        with open_pdf(request.path) as pdf:
            yield _Source(lambda number: _pdf_page(pdf, number, request), lambda: False)
    elif kind in FORMATS:
        with open_picture(request.path, kind) as picture:
            frames = picture.frames(max((page.number for page in request.body.pages), default=1))

            def page(number: int) -> _Image:
                if number > len(frames):
                    raise PageError(f"page {number}: the file ends before it")
                try:
                    image = picture.gray(number, request.max_pixels)
                except DocumentError as error:
                    if error.problem in ("corrupt", "truncated") and len(frames) > 1:
                        raise PageError(f"page {number}: {error.message}") from error
                    raise
                return _frame(image, frames[number - 1], request.max_pixels)

            yield _Source(page, lambda: picture.truncated)
    else:
        raise DocumentError("unsupported_format", f"Pages of {kind} can't be recognised.")


def _pdf_page(pdf: Pdf, number: int, request: RecogniseRequest) -> _Image:
    image, scale = render(pdf, number, dpi=request.dpi, max_pixels=request.max_pixels)

    def enlarge(factor: float) -> Image.Image | None:
        larger, reached = render(pdf, number, dpi=request.dpi * factor, max_pixels=request.max_pixels)
        return larger if reached >= 0.95 * scale * factor else None

    return image, scale, enlarge, round(scale * 72)


def _frame(image: Image.Image, frame: FrameInfo, max_pixels: int) -> _Image:
    scale = image.width / (frame.width * points_per_pixel(frame))

    def enlarge(factor: float) -> Image.Image | None:
        return resized(image, factor) if image.width * image.height * factor**2 <= max_pixels else None

    # the engine's own guess, from the size of the letters, is better than what cameras and editors write
    return image, scale, enlarge, None
