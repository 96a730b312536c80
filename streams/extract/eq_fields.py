"""EQ fields of Word: formulas, lists and readings beside characters, which stand in the field's code and nowhere else.

Written as one line, in the form that `docx_math` has. Source: Word's documentation of the field EQ and its switches.
"""

from __future__ import annotations

import re

from streams.extract.docx_math import grouped
from streams.extract.raised import lowered, raised

MAX_LENGTH = 20_000
MAX_DEPTH = 20
_FORMAT = re.compile(r'\\\*\s*(?:"[^"]*"|\S+)')
_OPTION = re.compile(r"\s*\\([a-z]{1,2})\s*(-?\d+|\\.)?(?=\s*[\\(])", re.IGNORECASE)
_SWITCH = re.compile(r"\\([abdfilorsx])", re.IGNORECASE)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def eq_text(code: str) -> str:
    """What a field shows by its code, which begins with EQ: `1/2` for `EQ \\f(1,2)`; empty where it is no such code."""
    reader = _Reader(_FORMAT.sub("", code.strip()[2:MAX_LENGTH]))
    return " ".join(reader.text("", 0).split(" ")).strip()


class _Reader:
    """Reads a code from left to right."""

    def __init__(self, code: str) -> None:
        self._code, self._at = code, 0
        # where a comma separates decimals, programs write semicolons between the arguments
        self._separators = ";" if ";" in code else ","

    def text(self, ends: str, depth: int) -> str:
        """Text and switches until one of these signs, which is left to the caller."""
        parts: list[str] = []
        open_brackets = 0
        while self._at < len(self._code):
            sign = self._code[self._at]
            if sign in ends and (sign != ")" or not open_brackets):
                break
            switch = _SWITCH.match(self._code, self._at)
            if sign == "\\" and switch is not None and depth < MAX_DEPTH and (read := self._switch(switch, depth)):
                parts.append(read[0])
                continue
            if sign == "\\" and self._at + 1 < len(self._code):  # a sign that would mean something
                self._at += 1
                sign = self._code[self._at]
            elif ends:
                open_brackets += (sign == "(") - (sign == ")")
            parts.append(sign)
            self._at += 1
        return "".join(parts)

    def _switch(self, match: re.Match[str], depth: int) -> tuple[str] | None:
        """A switch with its options and arguments; null where no arguments follow."""
        start, self._at = self._at, match.end()
        options: dict[str, str] = {}
        while (option := _OPTION.match(self._code, self._at)) is not None:
            options[option[1].lower()] = option[2] or ""
            self._at = option.end()
        while self._code[self._at : self._at + 1] == " ":
            self._at += 1
        if self._code[self._at : self._at + 1] != "(":
            self._at = start
            return None
        arguments: list[tuple[str, bool]] = []
        while self._at < len(self._code) and self._code[self._at] != ")":
            self._at += 1
            is_raised = re.match(r"\s*\\s\s*\\up", self._code[self._at : self._at + 20], re.IGNORECASE) is not None
            arguments.append((self.text(self._separators + ")", depth + 1).strip(), is_raised))
        self._at += 1
        return (_shown(match[1].lower(), options, arguments),)


def _shown(switch: str, options: dict[str, str], arguments: list[tuple[str, bool]]) -> str:
    texts = [text for text, _ in arguments]
    first, second = (*texts, "", "")[:2]
    match switch:
        case "f":
            return f"{grouped(first)}/{grouped(second)}"
        case "r":
            return f"{first}√({second})" if len(texts) > 1 else f"√({first})"
        case "s":
            return raised(first) if "up" in options else lowered(first) if "do" in options else " ".join(texts)
        case "i":
            sign = "∑" if "su" in options else "∏" if "pr" in options else options.get("fc", "\\∫")[1:] or "∫"
            limits = (f"_{grouped(first)}" if first else "") + (f"^{grouped(second)}" if second else "")
            return f"{sign}{limits} {' '.join(texts[2:])}".rstrip()
        case "b":
            left = options.get("lc", options.get("bc", "\\("))[1:] or "("
            right = options.get("rc", "")[1:] or _CLOSING.get(left, left if "bc" in options else "")
            return f"{left if 'rc' not in options or 'lc' in options else ''}{', '.join(texts)}{right}"
        case "a":
            columns = int(options["co"]) if options.get("co", "").isdigit() else 1
            rows = [texts[at : at + max(1, columns)] for at in range(0, len(texts), max(1, columns))]
            return "; ".join(" & ".join(row) for row in rows)
        case "o":  # a reading stands above its characters, which stay
            return "".join(text for text, is_raised in arguments if not is_raised) or "".join(texts)
        case "d":
            return ""
        case _:
            return ", ".join(texts)
