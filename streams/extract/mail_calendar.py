"""What stands in a mail for programs, as a person reads it: an invitation, the report about a delivery.

Sources: RFC 5545 3.1 and 3.3 (lines, escapes, times), RFC 5546 (methods), RFC 3464 2.1 (fields of a report).
"""

from __future__ import annotations

import re

from streams.decode.unpack.mail_headers import decode_words

MAX_EVENTS = 1000
MAX_LINES = 200_000
_SHOWN = {
    "SUMMARY": "",
    "DTSTART": "Start",
    "DTEND": "End",
    "DUE": "Due",
    "DURATION": "Duration",
    "RRULE": "Repeats",
    "LOCATION": "Location",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "Attendees",
    "STATUS": "Status",
    "COMMENT": "Comment",
    "DESCRIPTION": "Description",
    "URL": "URL",
}
_LINE = re.compile(r"([A-Za-z0-9-]+)((?:;[^:\"]*(?:\"[^\"]*\")?)*):(.*)", re.DOTALL)
_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^;:]*))", re.IGNORECASE)
_ZONE = re.compile(r";TZID=(?:\"([^\"]*)\"|([^;:]*))", re.IGNORECASE)
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PARTS = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY"})


def calendar_lines(text: str) -> list[str]:
    """One paragraph for each event of an iCalendar text: its method, what, when, where, and who."""
    lines = re.sub(r"\n[ \t]", "", text).split("\n")[:MAX_LINES]
    found: list[str] = []
    method = ""
    event: dict[str, list[str]] | None = None
    inner = 0  # alarms and the like inside an event
    for line in lines:
        match = _LINE.match(line[:100_000])
        if match is None:
            continue
        name, parameters, value = match[1].upper(), match[2], match[3].strip()
        if name == "METHOD":
            method = value.lower()
        elif name == "BEGIN":
            if value.upper() in _PARTS and event is None:
                event = {}
            elif event is not None:
                inner += 1
        elif name == "END":
            if inner:
                inner -= 1
            elif event is not None:
                found.append(_event(event, method))
                event = None
        elif event is not None and not inner and name in _SHOWN:
            event.setdefault(name, []).append(_value(name, parameters, value))
        if len(found) >= MAX_EVENTS:
            break
    if event:
        found.append(_event(event, method))
    return [each for each in found if each]


def _event(event: dict[str, list[str]], method: str) -> str:
    lines = [f"Calendar: {method}"] if method and method != "publish" else []
    for name, label in _SHOWN.items():
        values = [value for value in event.get(name, []) if value]
        if values:
            joined = ", ".join(values) if name == "ATTENDEE" else "\n".join(values)
            lines.append(f"{label}: {joined}" if label else joined)
    return "\n".join(lines)


def _value(name: str, parameters: str, value: str) -> str:
    if name in ("DTSTART", "DTEND", "DUE") and (match := _TIME.fullmatch(value)):
        year, month, day, hour, minute, second, utc = match.groups()
        zone = _ZONE.search(parameters)
        moment = f"{year}-{month}-{day}"
        if hour is None:
            return moment
        moment += f" {hour}:{minute}" + (f":{second}" if second not in (None, "00") else "")
        place = (zone[1] or zone[2]) if zone else ""
        return f"{moment} UTC" if utc else f"{moment} {place}".rstrip()
    if name in ("ORGANIZER", "ATTENDEE"):
        address = value[7:] if value.lower().startswith("mailto:") else value
        named = _NAME.search(parameters)
        shown = (named[1] or named[2] or "").strip() if named else ""
        return f"{shown} <{address}>" if shown and shown.lower() != address.lower() else address
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def report_lines(text: str) -> list[str]:
    """The groups of fields of a report, one paragraph each, folded fields in one line."""
    unfolded = re.sub(r"\n[ \t]+", " ", text)
    groups = re.split(r"\n[ \t]*\n+", unfolded)
    return [decode_words(group.strip()) for group in groups if group.strip()]
