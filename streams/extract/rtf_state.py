"""What a group of RTF inherits from the one around it, and what ends with it (RTF 1.9.1, "Formal Syntax")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams.extract.raised import Place
from streams.extract.rtf_story import ParagraphRules


@dataclass(slots=True)
class State:
    """State of one group."""

    font: int | None = None
    fallback: int = 1  # \uc: bytes that stand for one \u
    codec: str | None = None  # where a destination has its own
    hidden: bool = False
    deleted: bool = False
    inserted: bool = False
    bold: bool = False
    formula: bool = False
    place: Place = Place.LINE
    rtf_only: bool = False  # \htmlrtf: not part of the encapsulated HTML
    mute: bool = False  # text is not shown, but groups inside may be
    skip: bool = False  # neither this group nor those inside are looked at
    holds: bool = False  # skipped but for a group that starts with \*\ud
    waits_for: bytes | None = None
    counted: bool = False  # as a revision
    capture: list[str] | None = None
    paragraph: ParagraphRules = field(default_factory=ParagraphRules)
    on_close: list[Callable[[], None]] = field(default_factory=list)

    def child(self) -> State:
        """The state of a group that opens inside."""
        rules = self.paragraph
        return State(
            self.font,
            self.fallback,
            self.codec,
            self.hidden,
            self.deleted,
            self.inserted,
            self.bold,
            self.formula,
            self.place,
            self.rtf_only,
            self.mute,
            self.holds,
            False,
            b"ud" if self.holds else None,
            False,
            self.capture,
            ParagraphRules(rules.style, rules.outline, rules.in_table, rules.depth, rules.list_id, rules.list_level),
        )

    def plain(self) -> None:
        """`\\plain`: character formatting as in the beginning; revisions are none."""
        self.font = None
        self.hidden = self.bold = False
        self.place = Place.LINE
