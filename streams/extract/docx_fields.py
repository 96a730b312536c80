"""Fields of Word documents: their codes, and what of them is text (ECMA-376 part 1, 17.16)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from streams.extract.ooxml import child, switched_on
from streams.extract.raised import Place


@dataclass(frozen=True)
class RunSetting:
    """How a run is set."""

    hidden: bool = False
    bold: bool = False
    font: str | None = None
    place: Place = Place.LINE


@dataclass
class Field:
    """One open field."""

    code: list[str] = field(default_factory=list)
    in_result: bool = False
    start: int = 0  # index into the parts of the paragraph where its result begins
    checkbox: str | None = None
    held: list[tuple[str, RunSetting]] = field(default_factory=list)  # text in its code, shown if the code never ends

    def name(self) -> str:
        """The first word of its code."""
        words = "".join(self.code).split(None, 1)
        return words[0].upper() if words else ""


def hyperlink_target(code: str) -> str:
    """Where a HYPERLINK leads: an address, a place in it (`\\l`), or both; empty for Word's own marks."""
    match = re.match(r'\s*HYPERLINK\s+(?:\\[a-z]\s+)*(?:"([^"]*)"|([^\s\\]+))', code, re.IGNORECASE)
    local = re.search(r'\\l\s+"?([^"\s]+)"?', code)
    if match is None or (local is not None and match.start(1) == local.start(1)):
        target = ""
    else:
        target = match[1] if match[1] is not None else match[2]
    if local is not None and not local[1].startswith("_Toc"):
        return f"#{local[1]}" if target == local[1] else f"{target}#{local[1]}"
    return "" if local is not None and target == local[1] else target


def checkbox(element: etree._Element) -> str | None:
    """The state of the check box that the beginning of a field describes; null for other fields."""
    box = child(child(element, "w:ffData"), "w:checkBox")
    if box is None:
        return None
    state = switched_on(child(box, "w:checked"))
    if state is None:
        state = bool(switched_on(child(box, "w:default")))
    return "☒" if state else "☐"
