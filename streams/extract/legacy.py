"""Formats of the past that nothing here reads itself: LibreOffice converts them, and what it made is read.

Also asked for by name, where a decision says that a document is to be read with it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import msgspec

from streams.errors import DocumentError
from streams.extract.outcome import Draft, Request
from streams.extract.tools import libreoffice

TEXT_TYPES = (
    "application/vnd.apple.pages",
    "application/vnd.ms-works",
    "application/vnd.stardivision.writer",
    "application/vnd.wordperfect",
)
SHEET_TYPES = ("application/vnd.apple.numbers", "application/vnd.stardivision.calc")
SLIDE_TYPES = ("application/vnd.apple.keynote",)


_DOCUMENT = "application/vnd.openxmlformats-officedocument."
_READ_AS = {
    "docx": f"{_DOCUMENT}wordprocessingml.document",
    "xlsx": f"{_DOCUMENT}spreadsheetml.sheet",
    "pptx": f"{_DOCUMENT}presentationml.presentation",
}
_NAMES = {
    "application/vnd.apple.keynote": "key",
    "application/vnd.apple.numbers": "numbers",
    "application/vnd.apple.pages": "pages",
    "application/vnd.ms-works": "wps",
    "application/vnd.stardivision.calc": "sdc",
    "application/vnd.stardivision.writer": "sdw",
    "application/vnd.wordperfect": "wpd",
}
"""Extensions by which LibreOffice knows what its contents do not say."""


def extract(request: Request) -> Draft:
    """The blocks of the document that LibreOffice makes of this one, with a warning `converted`.

    Errors: DocumentError `unsupported_format` where LibreOffice is not installed; `parser_error` where it makes
    nothing of the file, `timeout` where it takes too long; and those of the format it converts to.
    """
    from streams.extract.registry import load, plan

    media_type = request.detection.media_type
    target = _target(media_type)
    with tempfile.TemporaryDirectory(prefix="canonry.") as name:
        folder = Path(name)
        source = folder / f"document.{_NAMES.get(media_type, 'bin')}"
        shutil.copyfile(request.path, source)
        try:
            made = libreoffice.convert(source, target, folder)
        except libreoffice.LibreOfficeMissing as error:
            message = f"{error} Only it reads {media_type}; install it and replay the document."
            raise DocumentError("unsupported_format", message) from error
        except libreoffice.ConversionFailed as error:
            raise DocumentError("timeout" if error.timed_out else "parser_error", str(error)) from error
        detection = msgspec.structs.replace(request.detection, media_type=_READ_AS[target])
        spec = plan(detection)
        if spec is None:
            raise DocumentError("unsupported_format", f"Nothing reads {detection.media_type}.")
        draft = load(spec)(msgspec.structs.replace(request, path=made, detection=detection))
    draft.warnings = list(dict.fromkeys([*draft.warnings, "converted"]))
    draft.metadata["converted_by"] = libreoffice.version()
    return draft


def _target(media_type: str) -> str:
    """What keeps most of a document: a text, a table or slides."""
    lower = media_type.lower()
    if media_type in SHEET_TYPES or "excel" in lower or "spreadsheet" in lower or ".calc" in lower:
        return "xlsx"
    if media_type in SLIDE_TYPES or "powerpoint" in lower or "presentation" in lower or ".impress" in lower:
        return "pptx"
    return "docx"
