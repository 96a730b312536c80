"""JSON (RFC 8259) read so that nothing of it changes: numbers as written, keys that come twice, in their order."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from streams.errors import DocumentError

MAX_CHARS = 64 << 20
MAX_VALUES = 2_500_000
"""Commas and brackets of one text: what they part takes some 100 bytes of memory each while it is read."""

_JSON_SPACE = " \t\n\r"


class Number(str):
    """A number, or one of NaN, Infinity and -Infinity, as it is written: no float has rounded it."""

    __slots__ = ()


class Members(msgspec.Struct):
    """An object: its members in order, those with a key that was there before among them."""

    items: list[tuple[str, Any]]

    def get(self, key: str) -> Any:
        """The value of the first member of this name, or None."""
        return next((value for name, value in self.items if name == key), None)


class Reading(msgspec.Struct):
    """What was met while reading, for the warnings."""

    duplicate_keys: int = 0
    not_a_number: int = 0


class TooDeep(Exception):
    """Nested deeper than the interpreter's stack allows; the text is whole, its structure is not worth having."""


def check_size(text: str) -> None:
    """Raises DocumentError `too_large` for a text whose values would not fit into a slot."""
    if len(text) > MAX_CHARS:
        raise DocumentError("too_large", f"Its JSON has {len(text)} characters; the limit is {MAX_CHARS}.")
    values = text.count(",") + text.count("[") + text.count("{")
    if values > MAX_VALUES:
        raise DocumentError("too_large", f"Its JSON has about {values} values; the limit is {MAX_VALUES}.")


def read(text: str, reading: Reading) -> Any:
    """The value that a JSON text holds: None, bool, str, `Number`, list, or `Members`.

    Raises:
        ValueError: (json.JSONDecodeError, with the position) it is no JSON.
        TooDeep: it is nested some thousand levels deep.
    """

    def members(pairs: list[tuple[str, Any]]) -> Members:
        if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
            reading.duplicate_keys += len(pairs) - len(dict(pairs))
        return Members(pairs)

    def constant(written: str) -> Number:
        reading.not_a_number += 1
        return Number(written)

    try:
        return json.loads(
            text, object_pairs_hook=members, parse_float=Number, parse_int=Number, parse_constant=constant, strict=False
        )
    except RecursionError as error:
        raise TooDeep from error


def cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text ends before the value does: it broke at its very end, or inside a string that never ends."""
    return error.msg.startswith("Unterminated string") or not text[error.pos :].strip(_JSON_SPACE)


def compact(value: Any) -> str:
    """A value as JSON again, without white space between its parts, numbers as they were written."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        top = stack.pop()
        match top:
            case _Text():
                out.append(top)
            case Number():
                out.append(top)
            case Members():
                parts: list[Any] = [_Text("{")]
                for number, (key, inner) in enumerate(top.items):
                    parts += [_Text(("," if number else "") + json.dumps(key, ensure_ascii=False) + ":"), inner]
                stack += reversed([*parts, _Text("}")])
            case list():
                parts = [_Text("[")]
                for number, inner in enumerate(top):
                    parts += [_Text(",")] * bool(number) + [inner]
                stack += reversed([*parts, _Text("]")])
            case _:
                out.append(json.dumps(top, ensure_ascii=False))
    return "".join(out)


class _Text(str):
    """A piece of JSON that is written already."""

    __slots__ = ()


def plain(value: Any) -> str:
    """A scalar as a reader sees it: texts without quotes, `null`, `true` and `false` by their names."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def is_scalar(value: Any) -> bool:
    """Whether a value is neither an object nor an array."""
    return not isinstance(value, Members | list)
