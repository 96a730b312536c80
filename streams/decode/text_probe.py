"""Which kind of text this is: HTML, XML, JSON, mail, tables, Markdown or none of them, by what stands in it.

The name breaks ties only: Markdown against plain text, a table against lines that happen to look like one.
"""

from __future__ import annotations

import csv
import json
import re

import msgspec

MAX_JSON = 16 << 20
"""Characters up to which JSON is parsed to be sure; above, its ends decide."""


def _words(text: str) -> list[str]:
    return text.split()


HTML_TAGS = frozenset(
    _words(
        "html head body title meta link script style base table tr td th thead tbody div span p br hr h1 h2 h3 h4 h5 "
        "h6 a ul ol li dl dt dd img form input center font b i em strong section article main nav header footer aside "
        "pre code blockquote iframe frameset noscript template"
    )
)
_MARKDOWN_NAMES = (".md", ".markdown", ".mkd", ".mdown", ".mdwn")
_CSV_NAMES = (".csv",)
_TSV_NAMES = (".tsv", ".tab")
_PLAIN_NAMES = (
    ".log",
    ".py",
    ".c",
    ".h",
    ".java",
    ".js",
    ".css",
    ".sql",
    ".sh",
    ".ini",
    ".conf",
    ".yaml",
    ".yml",
    ".tex",
)

_DEEP_JSON = re.compile(r'[\[{\s]+(?:"|-?\d|true\b|false\b|null\b|\]|\})')
_PROLOG = re.compile(r"\s*(?:<\?[^>]*\?>\s*|<!--.*?-->\s*)*", re.DOTALL)
_DOCTYPE = re.compile(r"<!doctype\s+([\w:.-]+)", re.IGNORECASE)
_TAG = re.compile(r"<([A-Za-z_][\w:.-]*)(?=[\s/>])")
_ANY_HTML = re.compile(r"<(/?)([a-z][a-z0-9]*)\b[^<>]*>", re.IGNORECASE)
_HEADER_LINE = re.compile(r"([!-9;-~]{1,60}):[ \t]?(.*)")
_MAIL_STRONG = frozenset(
    _words("message-id received return-path mime-version delivered-to x-mailer x-received in-reply-to")
)
_MAIL_KNOWN = _MAIL_STRONG | frozenset(
    _words(
        "from to subject date cc bcc reply-to sender content-type content-transfer-encoding references list-id "
        "x-originating-ip importance x-priority user-agent thread-topic dkim-signature"
    )
)
_MBOX_LINE = re.compile(r"From \S+ .*\b(?:\d{2}:\d{2}(?::\d{2})?)\b.*\b(?:19|20)\d{2}\b")


class TextKind(msgspec.Struct, frozen=True):
    """Media type of a text and the rule that said so."""

    media_type: str
    rule: str


def probe(text: str, *, whole: bool, tail: str, file_name: str) -> TextKind:
    """What kind of text this is.

    Args:
        text: the decoded beginning, without BOM.
        whole: `text` is all there is.
        tail: its last characters (of `text`, or of the file).
        file_name: breaks ties between text formats.
    """
    name = file_name.lower()
    start = text.lstrip("\ufeff \t\r\n\f\0")
    if start.startswith("{\\rtf"):
        return TextKind("text/rtf", "signature:rtf")
    if kind := _mail(start, name):
        return kind
    if start.startswith("<") and (kind := _markup(start, tail, name)):
        return kind
    if start[:1] in ("{", "[") and _is_json(start, whole, tail):
        return TextKind("application/json", "text:json")
    if start[:1] == "{" and _is_json_lines(start):
        return TextKind("application/x-ndjson", "text:json_lines")
    if name.endswith(_MARKDOWN_NAMES):
        return TextKind("text/markdown", "name:markdown")
    if not start.startswith("<") and _is_html_fragment(start) and name.endswith((".htm", ".html", ".xhtml")):
        return TextKind("text/html", "text:html_fragment")
    return _table(text, name) or TextKind("text/plain", "text")


def _markup(start: str, tail: str, name: str) -> TextKind | None:
    begin = _PROLOG.match(start)
    rest = start[begin.end() :] if begin else start
    has_declaration = start.startswith("<?xml")
    doctype = _DOCTYPE.match(rest)
    root_name = doctype[1].lower() if doctype else None
    tag = _TAG.search(rest if doctype is None else rest[doctype.end() :])
    first = tag[1] if tag and (doctype is not None or tag.start() == 0) else ""
    local = first.rsplit(":", 1)[-1].lower()
    if root_name == "html" or local == "html":
        if has_declaration and "http://www.w3.org/1999/xhtml" in start[:4000]:
            return TextKind("application/xhtml+xml", "text:xhtml_root")
        return TextKind("text/html", "text:html")
    if local == "svg" or root_name == "svg":
        return TextKind("image/svg+xml", "text:xml_root")
    if has_declaration:
        return TextKind("application/xml", "text:xml_declaration")
    if doctype is not None:
        return TextKind("application/xml", "text:doctype")
    if not first:
        # A comment or a conditional before the first tag, or no markup at all
        return TextKind("text/html", "text:html_fragment") if _is_html_fragment(start) else None
    if name.endswith(_MARKDOWN_NAMES):
        return None  # Markdown may begin with HTML
    if local in HTML_TAGS and "xmlns" not in rest[: rest.find(">") + 1]:
        if local in ("head", "body", "title", "script", "style", "table", "meta") or _is_html_fragment(start):
            return TextKind("text/html", "text:html_fragment")
        return None
    if f"</{first}" in tail or rest.rstrip().endswith("/>") or f"</{first}" in rest:
        return TextKind("application/xml", "text:xml_root")
    return None


def _is_html_fragment(start: str) -> bool:
    """Three or more known tags, at least one of them closing, and hardly any unknown ones."""
    tags = [(m[1], m[2].lower()) for m in _ANY_HTML.finditer(start[:20_000])]
    known = sum(1 for _, tag in tags if tag in HTML_TAGS)
    return known >= 3 and known >= 0.8 * len(tags) and any(closing for closing, _ in tags)


def _mail(start: str, name: str) -> TextKind | None:
    lines = start[:20_000].split("\n")
    mbox = bool(_MBOX_LINE.match(lines[0]))
    if mbox:
        lines = lines[1:]
    headers: dict[str, str] = {}
    previous = ""
    for raw in lines[:300]:
        line = raw.rstrip("\r")
        if not line:
            break
        if line[0] in " \t" and previous:
            headers[previous] += " " + line.strip()
            continue
        match = _HEADER_LINE.fullmatch(line)
        if match is None:
            if line.startswith(">From ") or (not headers and line.startswith("From ")):
                continue
            break
        previous = match[1].lower()
        headers.setdefault(previous, match[2])
    known = headers.keys() & _MAIL_KNOWN
    strong = known & _MAIL_STRONG
    named = name.endswith((".eml", ".mht", ".mhtml", ".emlx", ".mbox", ".mbx"))
    if len(known) < 2 or len(known) * 3 < len(headers):
        return None
    if not (strong or named) and (not {"from", "date", "subject"} <= known or name.endswith(".txt")):
        return None  # a memo has From, To and Subject as well
    content_type = headers.get("content-type", "").lower()
    if content_type.startswith("multipart/related") and (
        "snapshot-content-location" in headers
        or name.endswith((".mht", ".mhtml"))
        or ("received" not in headers and not {"to", "message-id"} & headers.keys())
    ):
        return TextKind("multipart/related", "text:mhtml")
    if not {"from", "to", "subject", "received", "message-id", "date", "return-path"} & known:
        return None
    return TextKind("application/mbox", "text:mbox") if mbox else TextKind("message/rfc822", "text:mail_headers")


def _is_json(start: str, whole: bool, tail: str) -> bool:
    if whole and len(start) <= MAX_JSON:
        try:
            json.loads(start)
        except RecursionError:
            return _DEEP_JSON.match(start) is not None  # nested too deep for the parser, not for a JSON text
        except ValueError:
            return False
        return True
    closing = tail.rstrip().endswith("}" if start[0] == "{" else "]")
    return (
        closing
        and re.match(r'[{\[]\s*(?:"(?:[^"\\]|\\.)*"\s*[:,\]}]|[{\[\]}]|-?\d|true|false|null)', start) is not None
    )


def _is_json_lines(start: str) -> bool:
    lines = [line for line in start[:200_000].split("\n")[:50] if line.strip()]
    if len(start) > 200_000:
        lines = lines[:-1]
    try:
        return len(lines) >= 2 and all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def _table(text: str, name: str) -> TextKind | None:
    if name.endswith(_TSV_NAMES):
        return TextKind("text/tab-separated-values", "name:tsv")
    if name.endswith(_CSV_NAMES):
        return TextKind("text/csv", "name:csv")
    if name.endswith(_PLAIN_NAMES):
        return None
    lines = [line for line in text[:50_000].split("\n")[:200] if line.strip()]
    if len(text) > 50_000:
        lines = lines[:-1]
    if len(lines) < 3:
        return None
    for delimiter, least_fields, least_rows in (("\t", 2, 3), (";", 3, 4), (",", 4, 6), ("|", 3, 4)):
        if delimiter not in lines[0]:
            continue
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 0
        if width < least_fields or len(rows) < least_rows:
            continue
        same = sum(len(row) == width for row in rows)
        cells = [cell for row in rows for cell in row]
        short = sum(len(cell) <= 60 for cell in cells)
        spaced = sum(cell.startswith(" ") for cell in cells)
        if same >= 0.95 * len(rows) and short >= 0.95 * len(cells) and spaced <= 0.3 * len(cells):
            tabs = delimiter == "\t"
            return TextKind("text/tab-separated-values" if tabs else "text/csv", "text:table")
    return None
