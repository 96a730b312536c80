"""Formulas in MathML 3, as OpenDocument keeps them, as one line that a person can read: (a+b)/2, x_1^2, √(y)."""

from __future__ import annotations

from lxml import etree

from streams.extract.docx_math import grouped
from streams.extract.odf import children, name_of

BUILT = frozenset(
    {
        "mfrac", "msub", "munder", "msup", "mover", "msubsup", "munderover", "msqrt", "mroot", "mtable", "mtr",
        "mfenced",
    }
)  # fmt: skip
"""Elements that say how their parts stand to each other."""
_SKIPPED = frozenset({"annotation", "annotation-xml", "mphantom"})


def linear(element: etree._Element) -> str:
    """Linear text of `math:math`, after UnicodeMath (UTN 28). Depth: the parser's 256."""
    return " ".join(_text(element).split())


def _text(element: etree._Element) -> str:
    local = name_of(element).partition(":")[2]
    if local in _SKIPPED:
        return ""
    parts = [_text(found) for _, found in children(element)]
    if not parts:
        return " " if local == "mspace" else (element.text or "").strip()
    return combined(local, parts, element.get("open") or "(", element.get("close") or ")")


def combined(local: str, parts: list[str], opening: str = "(", closing: str = ")") -> str:
    """The text of an element from those of its children; `opening` and `closing` are what `mfenced` says."""
    if local == "mfrac" and len(parts) == 2:
        return f"{grouped(parts[0])}/{grouped(parts[1])}"
    if local in ("msub", "munder") and len(parts) == 2:
        return f"{parts[0]}_{grouped(parts[1])}"
    if local in ("msup", "mover") and len(parts) == 2:
        return f"{parts[0]}^{grouped(parts[1])}"
    if local in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{grouped(parts[1])}^{grouped(parts[2])}"
    if local == "msqrt":
        return f"√({''.join(parts)})"
    if local == "mroot" and len(parts) == 2:
        return f"{parts[1]}√({parts[0]})"
    if local == "mtable":
        return "[" + "; ".join(parts) + "]"
    if local == "mtr":
        return " & ".join(parts)
    if local == "mfenced":
        return opening + ", ".join(parts) + closing
    return "".join(parts)
