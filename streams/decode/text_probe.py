"""Which kind of text this is: mail, markup, JSON, source code, a table, Markdown or none of them, in this order.

The name breaks ties only: Markdown against plain text, a table against lines that happen to look like one.
"""

from __future__ import annotations

import json
import re

from streams.decode.code_probe import by_content, by_lines, by_name, is_named_plain
from streams.decode.kinds import TextKind
from streams.decode.mail_probe import mail
from streams.decode.table_probe import table
from streams.decode.xml_probe import late_html, markup

MAX_JSON = 16 << 20
"""Characters up to which JSON is parsed to be sure; above, its ends decide."""

_MARKDOWN_NAMES = (".md", ".markdown", ".mkd", ".mdown", ".mdwn")
_JSON_LINES_NAMES = (".jsonl", ".ndjson")
_LINES_CHARS = 200_000
"""Characters in which lines of JSON are looked for."""

_LONGEST_WORD = 4
"""Characters of `true`, `false` and `null` that may stand behind the place of an error when they are cut."""
_DEEP_JSON = re.compile(r'[\[{\s]+(?:"|-?\d|true\b|false\b|null\b|\]|\})')
_JSON_START = re.compile(r'[{\[]\s*(?:"(?:[^"\\]|\\.)*"\s*[:,\]}]|[{\[\]}]|-?\d|true|false|null)')


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
    if kind := mail(start, name):
        return kind
    if kind := by_content(start):
        return kind
    if start.startswith("<") and (kind := markup(start, tail, name)):
        return kind
    if start[:1] in ("{", "[") and _is_json(start, whole, tail):
        return TextKind("application/json", "text:json")
    lines_named = name.endswith(_JSON_LINES_NAMES)
    if (lines_named or start[:1] in ("{", "[")) and _is_json_lines(start, lines_named):
        return TextKind("application/x-ndjson", "text:json_lines")
    if name.endswith(".json") and whole and len(start) <= MAX_JSON and _parses(start):
        return TextKind("application/json", "name:json")  # a single string or number
    if name.endswith(_MARKDOWN_NAMES):
        return TextKind("text/markdown", "name:markdown")
    if kind := by_name(start, name):
        return kind
    if kind := late_html(start, tail, name):
        return kind
    if is_named_plain(name):
        if not name.endswith(".txt"):
            return TextKind("text/plain", "name:plain")
    elif kind := by_lines(start):
        return kind
    return table(text, name) or TextKind("text/plain", "text")


def _is_json(start: str, whole: bool, tail: str) -> bool:
    """Whether this is JSON, also such that is cut off: as plain text nobody would see that its end is missing."""
    if whole and len(start) <= MAX_JSON:
        try:
            json.loads(start)
        except RecursionError:
            return _DEEP_JSON.match(start) is not None  # nested too deep for the parser, not for a JSON text
        except json.JSONDecodeError as error:
            return _breaks_at_its_end(start, error) and _JSON_START.match(start) is not None
        return True
    first, newline, _ = start[:_LINES_CHARS].partition("\n")
    if newline and _is_object_or_array(first):
        return False  # one value ends, and another follows
    closing = tail.rstrip().endswith("}" if start[0] == "{" else "]")
    return closing and _JSON_START.match(start) is not None


def _breaks_at_its_end(text: str, error: json.JSONDecodeError) -> bool:
    return error.msg.startswith("Unterminated string") or len(text.rstrip()) <= error.pos + _LONGEST_WORD


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_json_lines(start: str, named: bool) -> bool:
    """Whether its lines are objects and arrays. A few that are not do no harm; where the name says so, many."""
    lines = [line for line in start[:_LINES_CHARS].split("\n")[:50] if line.strip()]
    if len(start) > _LINES_CHARS:
        lines = lines[:-1]
    good = sum(map(_is_object_or_array, lines))
    return good > 0 and 2 * good >= len(lines) if named else good >= 2 and 10 * (len(lines) - good) <= len(lines)


def _is_object_or_array(line: str) -> bool:
    if not line.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
