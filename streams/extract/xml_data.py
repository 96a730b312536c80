"""XML that is data: elements as the members of JSON values, so that records become tables and settings fields."""

from __future__ import annotations

from typing import Any

from streams.extract.json_tree import OWN
from streams.extract.json_values import Members, Number
from streams.extract.xml_parse import Element

MAX_DEPTH = 200
"""Levels of elements; what is deeper is its text alone."""


def value_of(element: Element, depth: int = 0) -> Any:
    """The value of an element: its text, or its attributes and elements as members, neighbours of one name a list.

    Where text stands between elements, they are marks in it, and it is one text.
    """
    inner = element.elements()
    if (not inner and not element.attributes) or depth >= MAX_DEPTH:
        return _clean(element.text())
    mixed = any(isinstance(one, str) and one.strip() for one in element.content)
    items: list[tuple[str, Any]] = [(key, value) for key, value in element.attributes.items() if value.strip()]
    if mixed:
        text = _clean(element.text())
        return Members([*items, (OWN, text)]) if items else text
    run: list[Any] = []
    name = ""
    for one in inner:
        if one.name != name:
            _close(items, name, run)
            name, run = one.name, []
        run.append(value_of(one, depth + 1))
    _close(items, name, run)
    return Members(items) if items else ""


def _close(items: list[tuple[str, Any]], name: str, run: list[Any]) -> None:
    if len(run) > 1 and any(isinstance(one, Members) for one in run):
        run = [one if isinstance(one, Members) else Members([(OWN, one)]) for one in run]  # alike, but for attributes
    if run:
        items.append((name, run[0] if len(run) == 1 else run))


def _clean(text: str) -> str:
    """A text as it stands when it has lines, else without the blanks around it."""
    return text.strip("\n").rstrip() if "\n" in text.strip() else text.strip()


def property_list(element: Element, depth: int = 0) -> Any:
    """The value of an Apple property list (plist(5)): dict, array, and its scalars."""
    inner = element.elements()
    if depth >= MAX_DEPTH:
        return _clean(element.text())
    match element.name:
        case "plist":
            return property_list(inner[0], depth + 1) if inner else ""
        case "dict":
            names, values = [one.text() for one in inner if one.name == "key"], []
            values = [property_list(one, depth + 1) for one in inner if one.name != "key"]
            return Members(list(zip(names, values, strict=False)))
        case "array":
            return [property_list(one, depth + 1) for one in inner]
        case "integer" | "real":
            return Number(element.text().strip())
        case "true" | "false":
            return element.name == "true"
        case _:
            return element.text().strip()
