"""What a PDF says about itself: title, authors, dates, language. What can't be is null, never invented."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_DATE = re.compile(
    r"(?:D:)?(?P<year>\d{4})(?P<month>\d{2})?(?P<day>\d{2})?(?P<hour>\d{2})?(?P<minute>\d{2})?(?P<second>\d{2})?"
    r"(?:(?P<zone>[Zz+\-])(?:(?P<zone_hour>\d{2})'?(?P<zone_minute>\d{2})?'?)?)?'?"
)
_NO_TITLE = re.compile(
    r"untitled.*|unbenannt.*|sans titre.*|document\d*|microsoft (word|powerpoint|excel) - .*"
    r"|.*\.(docx?|docm|pdf|indd|tex|dvi|qxd|fm|rtf|xlsx?|pptx?|ppsx|od[tpsg]|cdr|e?ps|key|pages|wp[ds]?|pub|vsdx?|dwg"
    r"|ai|html?|txt|p65|pmd|exe|tiff?|jpe?g|png)|[\W\d_]*|slide \d+|powerpoint.*|(paper|document) title.*|no title"
    r"|title|scan(ned)?[\W\d_]*|print|presentation\d*|präsentation\d*|présentation\d*|layout \d+|book\d*",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_EARLIEST = 1900  # nothing on paper was dated by a computer before


def parse_date(text: str) -> str | None:
    """A PDF date (ISO 32000-1, 7.9.4) as ISO 8601 in UTC, null when no such moment exists.

    Parts that are left out count as 01 or 00, and a missing time zone as UTC: the standard calls it unknown.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None or int(match["year"]) < _EARLIEST:
        return None
    offset = timedelta(hours=int(match["zone_hour"] or 0), minutes=int(match["zone_minute"] or 0))
    try:
        zone = timezone(-offset if match["zone"] == "-" else offset)
        moment = datetime(
            int(match["year"]),
            int(match["month"] or 1),
            int(match["day"] or 1),
            int(match["hour"] or 0),
            int(match["minute"] or 0),
            int(match["second"] or 0),
            tzinfo=zone,
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_authors(text: str) -> list[str]:
    """Names of an /Author entry: divided by semicolons, or by commas where each part is a whole name."""
    parts = [part.strip() for part in re.split(r"[;\n]", text)]
    if len(parts) == 1 and "," in text:
        names = [part.strip() for part in re.split(r",|\s(?:and|und|et|y|e|&)\s", text)]
        if all(" " in name for name in names if name):
            parts = names
    return [part for part in parts if part]


def parse_title(text: str) -> str | None:
    """A /Title entry, null where it is only a file name or what a program writes for want of one."""
    title = " ".join(text.split())
    return None if not title or _NO_TITLE.fullmatch(title) else title


def choose_title(told: str | None, shown: str | None, first_texts: str) -> tuple[str | None, bool]:
    """The title of a document, and whether what its information tells is left out for what stands on its first page.

    Args:
        told: the title of its information or XMP, `parse_title` of it.
        shown: the title that the layout of its first page shows.
        first_texts: the text of its first two pages.
    """
    if told is None or shown is None:
        return told or shown, False
    page = set(_WORD.findall(first_texts.casefold()))
    words = _WORD.findall(told.casefold())
    if words and sum(word in page for word in words) * 2 < len(words):  # of another document, or of its template
        return shown, True
    return told, False


def parse_language(text: str | None) -> str | None:
    """ISO 639-1 of a /Lang entry (BCP 47)."""
    match = re.match(r"([A-Za-z]{2})(?:[-_]|$)", text or "")
    return match.group(1).lower() if match else None
