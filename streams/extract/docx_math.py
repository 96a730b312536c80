"""Equations as one line that a person can read: (a+b)/2, x_1^2, √(y)."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree

from streams.extract.ooxml import attr, child, children

Rule = Callable[[etree._Element], str]


def linear(element: etree._Element) -> str:
    """Linear text of `m:oMath` or `m:oMathPara`, after UnicodeMath (UTN 28). Depth: the parser's 256."""
    return " ".join(_inner(element).split())


def _inner(element: etree._Element | None) -> str:
    if element is None:
        return ""
    out: list[str] = []
    for name, found in children(element):
        rule = _RULES.get(name)
        if rule is not None:
            out.append(rule(found))
        elif not name.endswith("Pr"):
            out.append(_inner(found))
    return "".join(out)


def _part(element: etree._Element, name: str) -> str:
    return _inner(child(element, name))


def grouped(text: str) -> str:
    """In brackets, unless it is one sign, one word, or has them."""
    return text if len(text) <= 1 or text.isalnum() or (text[0] + text[-1] == "()") else f"({text})"


def _fraction(element: etree._Element) -> str:
    return f"{grouped(_part(element, 'm:num'))}/{grouped(_part(element, 'm:den'))}"


def _scripts(element: etree._Element) -> str:
    sub, sup = _part(element, "m:sub"), _part(element, "m:sup")
    return _part(element, "m:e") + (f"_{grouped(sub)}" if sub else "") + (f"^{grouped(sup)}" if sup else "")


def _radical(element: etree._Element) -> str:
    degree = _part(element, "m:deg")
    return f"{degree}√({_part(element, 'm:e')})"


def _nary(element: etree._Element) -> str:
    sign = child(child(element, "m:naryPr"), "m:chr")
    shown = "∫" if sign is None else attr(sign, "m:val") or ""
    sub, sup = _part(element, "m:sub"), _part(element, "m:sup")
    limits = (f"_{grouped(sub)}" if sub else "") + (f"^{grouped(sup)}" if sup else "")
    return f"{shown}{limits} {_part(element, 'm:e')}"


def _delimiters(element: etree._Element) -> str:
    properties = child(element, "m:dPr")

    def sign(name: str, default: str) -> str:
        found = child(properties, name)
        return default if found is None else attr(found, "m:val") or ""

    parts = [_inner(found) for name, found in children(element) if name == "m:e"]
    return sign("m:begChr", "(") + sign("m:sepChr", "|").join(parts) + sign("m:endChr", ")")


def _matrix(element: etree._Element) -> str:
    rows = [
        " & ".join(_inner(cell) for tag, cell in children(row) if tag == "m:e")
        for name, row in children(element)
        if name == "m:mr"
    ]
    return "[" + "; ".join(rows) + "]"


def _array(element: etree._Element) -> str:
    return "; ".join(_inner(found) for name, found in children(element) if name == "m:e")


def _function(element: etree._Element) -> str:
    return f"{_part(element, 'm:fName')} {_part(element, 'm:e')}"


def _limit(mark: str) -> Rule:
    return lambda element: f"{_part(element, 'm:e')}{mark}{grouped(_part(element, 'm:lim'))}"


def _text(element: etree._Element) -> str:
    return element.text or ""


def _nothing(_: etree._Element) -> str:
    return ""


_RULES: dict[str, Rule] = {
    "m:t": _text,
    "w:t": _text,
    "m:f": _fraction,
    "m:sSub": _scripts,
    "m:sSup": _scripts,
    "m:sSubSup": _scripts,
    "m:sPre": _scripts,
    "m:rad": _radical,
    "m:nary": _nary,
    "m:d": _delimiters,
    "m:m": _matrix,
    "m:eqArr": _array,
    "m:func": _function,
    "m:limLow": _limit("_"),
    "m:limUpp": _limit("^"),
    "w:del": _nothing,
    "w:moveFrom": _nothing,
    "w:instrText": _nothing,
    "w:delText": _nothing,
}
