"""Calendars (iCalendar, RFC 5545) and cards (vCard 2.1 to 4.0): each event and person a section of fields."""

from __future__ import annotations

import re
from collections import Counter

from streams.errors import DocumentError
from streams.extract.content_lines import Component, Property, read_lines
from streams.extract.outcome import Draft, Request
from streams.extract.text import source_text
from streams.records import Block, BlockKind, BlockSource, Dropped

PROSE_WORDS = 6
"""Words from which a value is prose, which the screen judges as such."""
MAX_DATED = 100
"""Events whose times are in the metadata, too."""

_SILENT = frozenset({"version", "prodid", "calscale", "method", "rev", "uid", "dtstamp", "sequence", "transp"})
_TYPES = frozenset({"home", "work", "cell", "voice", "fax", "pref", "internet", "msg", "pager", "video", "dom", "intl"})
_UTC = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_ENTRIES = frozenset({"vevent", "vtodo", "vjournal", "vfreebusy", "vcard"})


def extract(request: Request) -> Draft:
    """The entries of a calendar or of a file of cards.

    Dates stand as they are written. Those in UTC, and days, are in the metadata as ISO 8601, too: `event_1_start`.
    Pictures and other data are dropped and counted, and so are definitions of time zones.

    Errors: DocumentError `parser_error` when there is no component in it. Lines without a name are kept as code
    (warning `bad_lines`); a component without its end is `truncated`, which is a warning, for all of it was read.
    """
    text, warnings, metadata = source_text(request, "utf-8")
    found = read_lines(text)
    if not found.components:
        raise DocumentError("parser_error", "It has neither a calendar nor a card in it.")
    reader = _Reader()
    for component in found.components:
        reader.add(component, 1)
    if found.stray:
        warnings.append("bad_lines")
        reader.blocks.append(Block(kind=BlockKind.CODE, text="\n".join(found.stray), source=BlockSource.MARKUP))
    warnings += ["truncated"] * (not found.components[-1].closed)
    created, modified = reader.dates(found.components)
    return Draft(
        blocks=reader.blocks,
        title=reader.title,
        created=created,
        modified=modified,
        warnings=warnings,
        metadata=metadata | reader.metadata,
        dropped=[Dropped(what=what, count=count) for what, count in sorted(reader.dropped.items())],
    )


class _Reader:
    """Makes blocks of components, in their order."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.title: str | None = None
        self.metadata: dict[str, str] = {}
        self.dropped: Counter[str] = Counter()
        self._events = 0

    def add(self, component: Component, level: int) -> None:
        """One component and what is in it. Depth is bounded by `content_lines.MAX_DEPTH`."""
        if component.kind == "vtimezone":
            self.dropped["time_zone_definition"] += 1
            return
        named = next((one for name in ("summary", "fn", "n") if (one := component.first(name)) is not None), None)
        below = level
        if component.kind in _ENTRIES:
            self._times(component)
            heading = named.text().replace("\n", " ") if named is not None else component.kind[1:]
            self.blocks.append(Block(kind=BlockKind.HEADING, level=level, text=heading, source=BlockSource.MARKUP))
            below = level + 1
        elif component.kind == "vcalendar":
            name = component.first("x-wr-calname") or component.first("name")
            self.title = self.title or (name.text() if name else None)
        for one in component.properties:
            if one.is_binary:
                self.dropped["binary_data"] += 1
            elif one is not named and one.name not in _SILENT:
                self._field(one, component.kind)
        for part in component.parts:
            self.add(part, below)

    def _field(self, one: Property, kind: str) -> None:
        text = one.text()
        if text.lower().startswith("mailto:"):
            address = text[7:]
            text = f"{one.parameters['cn']} <{address}>" if one.parameters.get("cn") else address
        if not text:
            return
        name = one.name if kind != "valarm" else f"alarm {one.name}"
        said = [one.parameters[key] for key in ("tzid", "type") if one.parameters.get(key)]
        said += [key for key, value in one.parameters.items() if not value and key in _TYPES]
        label = f"{name} ({', '.join(said).replace(',', ', ').replace('  ', ' ').lower()})" if said else name
        if one.parameters.get("tzid"):
            label = f"{name} ({one.parameters['tzid']})"
        prose = len(text.split()) >= PROSE_WORDS or "\n" in text
        self.blocks.append(
            Block(
                kind=BlockKind.PARAGRAPH if prose else BlockKind.FORM_FIELD,
                text=f"{label}: {text}",
                source=BlockSource.MARKUP,
            )
        )

    def _times(self, component: Component) -> None:
        self._events += component.kind != "vcard"
        for name, said in (("dtstart", "start"), ("dtend", "end"), ("due", "due")):
            one = component.first(name)
            if one is not None and self._events <= MAX_DATED and (certain := _iso(one.value)):
                self.metadata[f"event_{self._events}_{said}"] = certain

    def dates(self, components: list[Component]) -> tuple[str | None, str | None]:
        """When the only entry was made and changed; of several, nothing can be said."""
        entries = [one for top in components for one in (top, *top.parts) if one.kind in _ENTRIES]
        if len(entries) != 1:
            return None, None
        made, changed = (entries[0].first(name) for name in ("created", "last-modified"))
        changed = changed or entries[0].first("rev")
        return (_iso(made.value) if made else None), (_iso(changed.value) or changed.value if changed else None)


def _iso(written: str) -> str | None:
    """A date-time in UTC, or a day, as ISO 8601; None for what depends on a time zone."""
    if match := _UTC.fullmatch(written.strip()):
        return "{}-{}-{}T{}:{}:{}Z".format(*match.groups())
    if match := _DAY.fullmatch(written.strip()):
        return "-".join(match.groups())
    return None
