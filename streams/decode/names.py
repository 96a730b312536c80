"""What a file's name or its source says it is, and whether that agrees with the bytes."""

from __future__ import annotations

_BY_EXTENSION: dict[str, tuple[str, ...]] = {
    "pdf": ("application/pdf",),
    "doc": ("application/msword",),
    "dot": ("application/msword",),
    "xls": ("application/vnd.ms-excel",),
    "ppt": ("application/vnd.ms-powerpoint",),
    "msg": ("application/vnd.ms-outlook",),
    "docx": (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/x-ooxml-encrypted",
    ),
    "dotx": (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
        "application/x-ooxml-encrypted",
    ),
    "docm": ("application/vnd.ms-word.document.macroEnabled.12", "application/x-ooxml-encrypted"),
    "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/x-ooxml-encrypted"),
    "xlsm": ("application/vnd.ms-excel.sheet.macroEnabled.12", "application/x-ooxml-encrypted"),
    "xlsb": ("application/vnd.ms-excel.sheet.binary.macroEnabled.12", "application/x-ooxml-encrypted"),
    "pptx": (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/x-ooxml-encrypted",
    ),
    "odt": ("application/vnd.oasis.opendocument.text",),
    "ods": ("application/vnd.oasis.opendocument.spreadsheet",),
    "odp": ("application/vnd.oasis.opendocument.presentation",),
    "epub": ("application/epub+zip",),
    "rtf": ("text/rtf",),
    "html": ("text/html", "application/xhtml+xml"),
    "htm": ("text/html", "application/xhtml+xml"),
    "xhtml": ("application/xhtml+xml", "text/html"),
    "mht": ("multipart/related", "message/rfc822"),
    "mhtml": ("multipart/related", "message/rfc822"),
    "eml": ("message/rfc822",),
    "mbox": ("application/mbox",),
    "json": ("application/json",),
    "xml": ("application/xml", "application/xhtml+xml", "image/svg+xml"),
    "svg": ("image/svg+xml",),
    "csv": ("text/csv", "text/tab-separated-values"),
    "tsv": ("text/tab-separated-values", "text/csv"),
    "md": ("text/markdown",),
    "txt": (
        "text/plain",
        "text/markdown",
        "text/csv",
        "text/tab-separated-values",
        "application/json",
        "application/x-ndjson",
    ),
    "zip": ("application/zip",),
    "jar": ("application/java-archive",),
    "gz": ("application/gzip",),
    "tgz": ("application/gzip",),
    "tar": ("application/x-tar",),
    "bz2": ("application/x-bzip2",),
    "xz": ("application/x-xz",),
    "7z": ("application/x-7z-compressed",),
    "rar": ("application/vnd.rar",),
    "png": ("image/png",),
    "jpg": ("image/jpeg",),
    "jpeg": ("image/jpeg",),
    "gif": ("image/gif",),
    "tif": ("image/tiff",),
    "tiff": ("image/tiff",),
    "bmp": ("image/bmp",),
    "webp": ("image/webp",),
}

_SAME: dict[str, str] = {
    "application/rtf": "text/rtf",
    "text/xml": "application/xml",
    "text/x-markdown": "text/markdown",
    "application/csv": "text/csv",
    "application/x-zip-compressed": "application/zip",
    "application/x-gzip": "application/gzip",
    "image/jpg": "image/jpeg",
    "application/x-pdf": "application/pdf",
    "application/xhtml+xml": "text/html",
    "application/x-mimearchive": "multipart/related",
    "message/rfc2822": "message/rfc822",
    "application/excel": "application/vnd.ms-excel",
    "application/ms-tnef": "application/vnd.ms-tnef",
    "application/x-rar-compressed": "application/vnd.rar",
}
_SAYS_NOTHING = frozenset({"application/octet-stream", "binary/octet-stream", "application/x-download", "*/*", ""})


def essence(content_type: str | None) -> str | None:
    """The media type of a Content-Type without its parameters, in lower case; None when it is none."""
    value = (content_type or "").split(";", 1)[0].strip().lower()
    return value if value.count("/") == 1 and not any(c.isspace() for c in value) else None


def mismatch(media_type: str, declared: str | None, file_name: str) -> bool:
    """Whether the declared type, or else the extension, promises something else than the bytes are."""
    if declared is not None and declared not in _SAYS_NOTHING and not _agree(declared, media_type):
        return True
    extension = file_name.rsplit(".", 1)[-1].lower() if "." in file_name else ""
    expected = _BY_EXTENSION.get(extension)
    return expected is not None and not any(_agree(one, media_type) for one in expected)


def _agree(promised: str, found: str) -> bool:
    promised, found = promised.lower(), found.lower()
    if _SAME.get(promised, promised) == _SAME.get(found, found):
        return True
    if promised == "text/plain":
        return found in ("text/markdown", "text/csv", "text/tab-separated-values")
    return False
