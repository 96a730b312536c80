"""Lines of calendars and cards: names, parameters and values, unfolded (RFC 5545 3.1, RFC 6350 3.2)."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator

import msgspec

from streams.decode.labels import codec_of, resolve

MAX_DEPTH = 20
"""Components inside one another; deeper ones stand beside each other."""
_FOLD = re.compile(r"\n[ \t]")
_NAME = re.compile(r"(?:([A-Za-z0-9-]+)\.)?([A-Za-z0-9-]+)(?=[;:])")
_PARAMETER = re.compile(r';([A-Za-z0-9-]+)(?:=((?:"[^"]*"|[^";:,])*(?:,(?:"[^"]*"|[^";:,])*)*))?')
_ESCAPED = re.compile(r"\\([\\;,:nN])")


class Property(msgspec.Struct):
    """One content line; names in lower case, the value as it is written."""

    name: str
    parameters: dict[str, str]
    value: str

    def text(self) -> str:
        """The value with its escapes resolved; parts of a structured value joined with commas."""
        parts = (
            [part for part in re.split(r"(?<!\\);", self.value) if part.strip()] if self.is_structured else [self.value]
        )
        return ", ".join(_ESCAPED.sub(_unescaped, part).strip() for part in parts)

    @property
    def is_structured(self) -> bool:
        """Whether semicolons part the value."""
        return self.name in ("n", "adr", "org", "request-status", "geo")

    @property
    def is_binary(self) -> bool:
        """Whether the value is data in Base64, inline or as a data URL."""
        coded = self.parameters.get("encoding", "").lower() in ("b", "base64") or "base64" in self.parameters
        return coded or self.value[:5].lower() == "data:"


class Component(msgspec.Struct):
    """What stands between BEGIN and END."""

    kind: str
    properties: list[Property] = []
    parts: list[Component] = []
    closed: bool = False

    def first(self, name: str) -> Property | None:
        """The first property of this name."""
        return next((one for one in self.properties if one.name == name), None)


class Lines(msgspec.Struct):
    """The components of a text, and the lines that are none of their properties."""

    components: list[Component] = []
    stray: list[str] = []


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] in "nN" else match[1]


def read_lines(text: str) -> Lines:
    """The components of a calendar or of cards. What has no name is kept in `stray`."""
    found = Lines()
    stack: list[Component] = []
    for line in _unfolded(text):
        one = _property(line)
        if one is None:
            found.stray.append(line)
        elif one.name == "begin":
            component = Component(kind=one.value.strip().lower())
            (stack[-1].parts if stack else found.components).append(component)
            if len(stack) < MAX_DEPTH:
                stack.append(component)
        elif one.name == "end":
            kind = one.value.strip().lower()
            if any(open_.kind == kind for open_ in stack):
                while stack[-1].kind != kind:
                    stack.pop()
                stack.pop().closed = True
        elif stack:
            stack[-1].properties.append(one)
        else:
            found.stray.append(line)
    return found


def _unfolded(text: str) -> Iterator[str]:
    """Lines with their continuations; in quoted-printable, as vCard 2.1 has it, a `=` at the end continues, too."""
    waiting = ""
    for line in _FOLD.sub("", text).split("\n"):
        whole = waiting + line
        soft = line.endswith("=") and "QUOTED-PRINTABLE" in whole[:200].upper()
        waiting = whole[:-1] if soft else ""
        if not soft and whole.strip():
            yield whole
    if waiting.strip():
        yield waiting


def _property(line: str) -> Property | None:
    match = _NAME.match(line)
    if match is None:
        return None
    at = match.end()
    parameters: dict[str, str] = {}
    while (parameter := _PARAMETER.match(line, at)) is not None:
        name, value = parameter[1].lower(), (parameter[2] or "").replace('"', "")
        parameters[name] = f"{parameters[name]},{value}" if name in parameters else value
        at = parameter.end()
    if line[at : at + 1] != ":":
        return None
    value = line[at + 1 :]
    if parameters.get("encoding", "").upper() == "QUOTED-PRINTABLE" or "quoted-printable" in parameters:
        value = _from_quoted_printable(value, parameters.get("charset"))
    return Property(name=match[2].lower(), parameters=parameters, value=value)


def _from_quoted_printable(value: str, charset: str | None) -> str:
    data = quopri.decodestring(value.encode("utf-8"))
    named = resolve(charset) if charset else None
    for encoding in (named, "utf-8"):
        if encoding:
            try:
                return data.decode(codec_of(encoding)).replace("\r\n", "\n")
            except UnicodeDecodeError:
                continue
    return data.decode(codec_of(named or "windows-1252"), "replace")
