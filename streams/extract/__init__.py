"""From bytes to canon: the extractor of the format, then the finishing step that all share."""

from __future__ import annotations

from streams.errors import DocumentError
from streams.extract.outcome import Request
from streams.records import CanonBody


def extract(request: Request, *, content_hash: str, tool: str | None = None) -> CanonBody:
    """The canon body of one content, made by the extractor of its format or by the one named as `tool`.

    Raises:
        DocumentError: `unsupported_format`, or what the extractor says is wrong with the document.
    """
    from streams.extract.finish import finish
    from streams.extract.registry import load, plan

    spec = plan(request.detection, tool)
    if spec is None:
        message = f"No extractor is installed for {request.detection.media_type}."
        raise DocumentError("unsupported_format", message)
    draft = load(spec)(request)
    return finish(draft, content_hash=content_hash, detection=request.detection, spec=spec)
