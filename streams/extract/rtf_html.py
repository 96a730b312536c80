"""HTML that a mail program wrapped into RTF, as it was before ([MS-OXRTFEX] 2.1.3, de-encapsulation)."""

from __future__ import annotations

import html

from streams.extract.rtf_story import ParagraphRules
from streams.extract.rtf_tables import RowRule

_SIGNS = {"\u00a0": "&nbsp;", "\u00ad": "&shy;"}


class HtmlStory:
    """Takes the place of the body: text goes into HTML, tags come from `\\htmltag` groups as they are."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self, text: str) -> None:
        """Text between tags."""
        text = html.escape(text, quote=False)
        for sign, entity in _SIGNS.items():
            text = text.replace(sign, entity)
        self.parts.append(text)

    def begin_row(self) -> None:
        """Tables are tags here."""

    def end_paragraph(self, rules: ParagraphRules) -> None:
        """`\\par` is a line end of the source."""
        del rules
        self.parts.append("\n")

    def end_cell(self, rules: ParagraphRules, *, nested: bool) -> None:
        """Tables are tags here."""

    def end_row(self, rule: RowRule, *, nested: bool) -> None:
        """Tables are tags here."""

    def close(self, rules: ParagraphRules) -> None:
        """Nothing is open."""

    def source(self) -> str:
        """The HTML."""
        return "".join(self.parts)
