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

_DOCUMENT = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
_FILTERS: dict[str, tuple[str, str]] = {
    "application/vnd.apple.keynote": ("Apple Keynote", "pptx"),
    "application/vnd.apple.numbers": ("Apple Numbers", "xlsx"),
    "application/vnd.apple.pages": ("Apple Pages", "docx"),
    "application/vnd.ms-works": ("MS_Works", "docx"),
    "application/vnd.stardivision.calc": ("StarOffice_Spreadsheet", "xlsx"),
    "application/vnd.stardivision.draw": ("StarOffice_Presentation", "odp"),
    "application/vnd.stardivision.impress": ("StarOffice_Presentation", "odp"),
    "application/vnd.stardivision.writer": ("StarOffice_Writer", "docx"),
    "application/vnd.sun.xml.calc": ("StarOffice XML (Calc)", "ods"),
    "application/vnd.sun.xml.draw": ("StarOffice XML (Draw)", "odg"),
    "application/vnd.sun.xml.impress": ("StarOffice XML (Impress)", "odp"),
    "application/vnd.sun.xml.writer": ("StarOffice XML (Writer)", "odt"),
    "application/vnd.wordperfect": ("WordPerfect", "docx"),
    "application/msword": ("MS Word 97", "docx"),
    "application/rtf": ("Rich Text Format", "docx"),
    "application/vnd.ms-excel": ("MS Excel 97", "xlsx"),
    "application/vnd.ms-powerpoint": ("MS PowerPoint 97", "pptx"),
    "text/rtf": ("Rich Text Format", "docx"),
    f"{_DOCUMENT}presentationml.presentation": ("Impress MS PowerPoint 2007 XML", "pptx"),
    f"{_DOCUMENT}spreadsheetml.sheet": ("Calc MS Excel 2007 XML", "xlsx"),
    f"{_DOCUMENT}wordprocessingml.document": ("MS Word 2007 XML", "docx"),
    f"{_OPEN}presentation": ("impress8", "pptx"),
    f"{_OPEN}spreadsheet": ("calc8", "xlsx"),
    f"{_OPEN}text": ("writer8", "docx"),
}
"""Media type -> LibreOffice's name of the filter that reads it, without which it takes rubbish for plain text; and what
keeps most of such a document."""
_READ_AS = {
    "docx": f"{_DOCUMENT}wordprocessingml.document",
    "odg": f"{_OPEN}graphics",
    "odp": f"{_OPEN}presentation",
    "ods": f"{_OPEN}spreadsheet",
    "odt": f"{_OPEN}text",
    "xlsx": f"{_DOCUMENT}spreadsheetml.sheet",
    "pptx": f"{_DOCUMENT}presentationml.presentation",
}


def extract(request: Request) -> Draft:
    """The blocks of the document that LibreOffice makes of this one, with a warning `converted`.

    Errors: DocumentError `unsupported_format` where LibreOffice is not installed or not asked for the format;
    `parser_error` where it makes nothing of the file, `timeout` where it takes too long; and those of the format it
    converts to.
    """
    from streams.extract.registry import load, plan

    media_type = request.detection.media_type
    if media_type not in _FILTERS:
        raise DocumentError("unsupported_format", f"LibreOffice is not asked for {media_type}.")
    reader, target = _FILTERS[media_type]
    with tempfile.TemporaryDirectory(prefix="canonry.") as name:
        folder = Path(name)
        source = folder / "document.bin"
        shutil.copyfile(request.path, source)
        try:
            made = libreoffice.convert(source, reader, target, folder)
        except libreoffice.LibreOfficeMissing as error:
            raise DocumentError("unsupported_format", f"{error} Install it and replay the document.") from error
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
