"""XML read without ever looking outside of it: no DTD, no entity and no file but the text itself.

expat does the reading: it needs no stack for depth, and stops what entities would blow up. What is not well-formed is
read by libxml2, which mends, and must then give back nearly all of the text.
"""

from __future__ import annotations

import contextlib
import html.entities
import re
from collections.abc import Iterator
from xml.parsers import expat

import msgspec
from lxml import etree

from streams.errors import DocumentError

MAX_CHARS = 64 << 20
MAX_TAGS = 1_000_000
"""Start tags of one document; each costs some 500 bytes of memory while it is read."""
MAX_EXPANSION = 4 << 20
"""Characters that entities may add to a document."""
MEND_LOSS = 0.02
"""Share of the letters that may be lost when a text that is not well-formed is mended."""
MEND_CHARS = 32 << 20
"""Characters up to which libxml2 is asked to mend."""
CHUNK = 1 << 20

_DECLARATION = re.compile(r"\A\s*<\?xml\s[^>]{0,1000}\?>")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LONE_AMPERSAND = re.compile(r"&(?!#?\w{1,40};)")
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([^\W\d]\w{0,40});")
_OPEN_TAG = re.compile(r"<[^\W\d]")
_TAGS = re.compile(r"<!--.*?-->|<!\[CDATA\[|\]\]>|<[^<>]*>|&#?\w+;", re.DOTALL)
_LETTERS = re.compile(r"[^\W_]")
_CUT_CODES = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)
_AMPLIFIED = 43
"""XML_ERROR_AMPLIFICATION_LIMIT_BREACH of expat 2.4, which Python has no name for."""


class Element(msgspec.Struct, eq=False):
    """An element: its name without the prefix, its attributes likewise, and what it holds in order."""

    name: str
    attributes: dict[str, str]
    content: list[Element | str] = []

    def elements(self) -> list[Element]:
        """The elements directly inside."""
        return [one for one in self.content if isinstance(one, Element)]

    def walk(self) -> Iterator[Element | str]:
        """Everything inside, in document order."""
        stack: list[Element | str] = list(reversed(self.content))
        while stack:
            one = stack.pop()
            yield one
            if isinstance(one, Element):
                stack += reversed(one.content)

    def text(self) -> str:
        """All text inside."""
        return "".join(one for one in self.walk() if isinstance(one, str))


class Parsed(msgspec.Struct):
    """The root, and what was met on the way."""

    root: Element
    mended: bool = False
    external: int = 0  # references to what stands outside
    undefined: int = 0  # references to entities that nothing declares
    control_characters: int = 0


def parse(text: str) -> Parsed:
    """The tree of an XML text.

    Raises:
        DocumentError: `truncated` when it ends before its root does, `parser_error` (with line and column) when it is
            not well-formed and can't be mended without loss, `bomb` when its entities expand beyond all measure,
            `too_large` by its length or tags.
    """
    if len(text) > MAX_CHARS:
        raise DocumentError("too_large", f"Its XML has {len(text)} characters; the limit is {MAX_CHARS}.")
    tags = sum(1 for _ in _OPEN_TAG.finditer(text))
    if tags > MAX_TAGS:
        raise DocumentError("too_large", f"Its XML has {tags} elements; the limit is {MAX_TAGS}.")
    start = _DECLARATION.match(text)
    text, controls = _NOT_XML.subn("", text[start.end() :] if start else text)
    text = text.strip()
    builder = _Builder(len(text))
    try:
        parsed = builder.parse(text)
    except expat.ExpatError as error:
        _raise_if_sure(text, error, builder)
        parsed = _mended(text, error)
    parsed.control_characters = controls
    return parsed


class _Builder:
    """Takes expat's events and makes the tree."""

    def __init__(self, source: int) -> None:
        self.parsed = Parsed(root=Element(name="", attributes={}))
        self.open: list[Element] = [self.parsed.root]
        self.left = source + MAX_EXPANSION
        self.names: dict[str, str] = {}
        self._parser = expat.ParserCreate("utf-8")

    def parse(self, text: str) -> Parsed:
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.SkippedEntityHandler = self._skipped
        parser.ExternalEntityRefHandler = self._external
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
        parser.UseForeignDTD(True)  # so that a name that nothing declares is reported, and no error
        for at in range(0, len(text), CHUNK):
            parser.Parse(text[at : at + CHUNK].encode(), False)
        parser.Parse(b"", True)
        return self.done()

    def done(self) -> Parsed:
        self.parsed.root = self.parsed.root.elements()[0]
        return self.parsed

    def _local(self, name: str) -> str:
        found = self.names.get(name)
        if found is None:
            found = self.names[name] = name.rpartition("}")[2].rpartition(":")[2]
        return found

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(attributes) > 1:
            named: dict[str, str] = {}
            for key, value in attributes.items():
                if not key.startswith("xmlns"):
                    named.setdefault(self._local(key), value)
            attributes = named
        elif attributes:
            attributes = {self._local(key): value for key, value in attributes.items() if not key.startswith("xmlns")}
        self._spend(sum(map(len, attributes.values())))
        element = Element(name=self._local(name), attributes=attributes)
        self.open[-1].content.append(element)
        self.open.append(element)
        self._spend(1)

    def end(self, name: str) -> None:
        self.open.pop()

    def text(self, text: str) -> None:
        self._spend(len(text))
        self.open[-1].content.append(text)

    def _spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            raise DocumentError("bomb", f"Its entities expand by more than {MAX_EXPANSION} characters.")

    def _skipped(self, name: str, parameter: bool) -> None:
        if parameter:
            return
        known = html.entities.html5.get(f"{name};")
        self.parsed.undefined += known is None
        self.text(known if known is not None else f"&{name};")

    def _external(self, context: str | None, base: str | None, system: str | None, public: str | None) -> int:
        """Called for what stands outside; it is counted, and stays there.

        A DTD or parameter entity is taken for empty: else expat would pass over the declarations behind it. The
        foreign DTD, which we asked for, has no address.
        """
        self.parsed.external += system is not None
        if context is None:
            self._parser.ExternalEntityParserCreate(context).Parse(b"", True)
        return 1


def _raise_if_sure(text: str, error: expat.ExpatError, builder: _Builder) -> None:
    """Raises DocumentError for a bomb, and for a text that is cut off: no mending helps there."""
    if error.code in (_AMPLIFIED, expat.errors.codes[expat.errors.XML_ERROR_RECURSIVE_ENTITY_REF]):
        raise DocumentError("bomb", f"Its entities expand beyond all measure: {_where(error)}.") from error
    name = builder.open[-1].name
    if error.code in _CUT_CODES and not (name and text.endswith(f"</{name}>")):
        seen = len(builder.parsed.root.text())
        inside = f"inside <{name}>, after {seen} characters of text" if name else "before its first element"
        raise DocumentError("truncated", f"It ends {inside}: {_where(error)}.") from error


def _where(error: expat.ExpatError) -> str:
    return f"{expat.ErrorString(error.code)} at line {error.lineno}, column {error.offset + 1}"


def _mended(text: str, error: expat.ExpatError) -> Parsed:
    """The tree of a text that is not well-formed: lone ampersands escaped, or as libxml2 mends it.

    Raises: DocumentError `parser_error` when that loses more than some characters.
    """
    spelled, count = _LONE_AMPERSAND.subn("&amp;", text)
    if count:
        with contextlib.suppress(expat.ExpatError):
            parsed = _Builder(len(spelled)).parse(spelled)
            parsed.mended = True
            return parsed
    found = _recovered(spelled) if len(spelled) <= MEND_CHARS and "<!DOCTYPE" not in spelled else None
    if found is None:
        raise DocumentError("parser_error", f"It is not well-formed XML: {_where(error)}.") from error
    return found


def _spelled(match: re.Match[str]) -> str:
    """A named reference as its character, or as the text that it is when nobody knows the name."""
    return html.entities.html5.get(f"{match[1]};", f"&amp;{match[1]};")


def _recovered(text: str) -> Parsed | None:
    """The tree as libxml2 mends it; None when more of the text is lost than `MEND_LOSS`."""
    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    text = _NAMED.sub(_spelled, text)  # else entities are nodes, which nothing resolves
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError:
        return None
    if root is None:
        return None
    builder = _Builder(len(text))
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if not isinstance(node.tag, str):
            builder.text(node.tail or "")
        elif event == "start":
            builder.start(node.tag.rpartition("}")[2], {str(key): str(value) for key, value in node.attrib.items()})
            builder.text(node.text or "")
        else:
            builder.end(node.tag)
            builder.text(node.tail or "")
    parsed = builder.done()
    parsed.mended = True
    before, after = (len(_LETTERS.findall(one)) for one in (_TAGS.sub(" ", text), parsed.root.text()))
    return parsed if after >= (1 - MEND_LOSS) * before else None
