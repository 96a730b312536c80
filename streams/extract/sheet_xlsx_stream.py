"""XML of a workbook's big parts as it comes by: no object is made for each of a million cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, Protocol
from xml.parsers import expat

MAX_DEPTH = 256
MAX_TOKEN = 10_000_000
"""Elements inside each other, and bytes of a tag, a text or a comment: the limits of libxml2, which reads the rest."""
CHUNK = 1 << 16

FAULTS = (expat.ExpatError, ValueError, LookupError)
"""What `parse` raises for a part that is no XML, is hostile, or is in an unknown encoding."""


class Source(Protocol):
    """What gives the bytes of a part."""

    def read(self, size: int) -> bytes:
        """The next bytes, empty at the end."""
        ...


def parse(
    source: Source,
    text: list[str],
    opened: Mapping[str, Callable[[dict[str, str]], None]],
    closed: Mapping[str, Callable[[], None]],
) -> None:
    """Reads all of `source`.

    Args:
        text: what stands since the last tag that opened an element, in pieces, whenever a function is called.
        opened: called with the attributes where an element of this name opens, `NAMESPACE}name`, or `name` where there
            is no namespace; names of attributes are written alike.
        closed: called where it ends.

    Errors: one of `FAULTS`, after all calls for what stands before the fault; those of `source`. Declarations of
    entities are a fault, so nothing outside is loaded and nothing small becomes large.
    """
    depth = 0
    clear, opens, closes = text.clear, opened.get, closed.get

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("elements are nested too deep")
        clear()
        if call := opens(name):
            call(attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if call := closes(name):
            call()

    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.buffer_size = CHUNK
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = _refused
    given = 0
    while data := source.read(CHUNK):
        parser.Parse(data, False)
        given += len(data)
        if given - parser.CurrentByteIndex > MAX_TOKEN or sum(map(len, text)) > MAX_TOKEN:
            raise ValueError("a tag or a text is too long")
    parser.Parse(b"", True)


def _refused(*_: object) -> NoReturn:
    raise ValueError("entities are declared")
