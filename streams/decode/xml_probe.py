"""Which kind of markup a text is: HTML in any state, or XML by its root element and the namespace of that.

Sources: XML 1.0 (prolog), Namespaces in XML 1.0, the WHATWG HTML standard (what may be left out), and IANA's names.
"""

from __future__ import annotations

import re

from streams.decode.kinds import TextKind, words

HTML_TAGS = words(
    "html head body title meta link script style base table tr td th thead tbody div span p br hr h1 h2 "
    "h3 h4 h5 h6 a ul ol li dl dt dd img form input center font b i em strong section article main nav "
    "header footer aside pre code blockquote iframe frameset frame noscript template u s big small sub "
    "sup tt button label select option figure figcaption caption col colgroup tfoot textarea nobr svg "
    "video audio picture source map area"
)
_SURE_TAGS = frozenset({"head", "body", "title", "script", "style", "table", "meta", "frameset", "link", "base"})
_BLOCK_TAGS = words("h1 h2 h3 h4 h5 h6 p div ul ol dl blockquote pre center form article section")
_COMMENTS_BEHIND = re.compile(r"(?:\s|<!--(?:(?!-->).){0,4000}-->)+$", re.DOTALL)
_MARKDOWN_NAMES = (".md", ".markdown", ".mkd", ".mdown", ".mdwn")
_HTML_NAMES = (".htm", ".html", ".xhtml", ".xht", ".shtml")
_LONGEST_PROLOG = 1 << 18
_LONGEST_NAME = 200

_XHTML = "http://www.w3.org/1999/xhtml"
_BY_NAMESPACE: dict[tuple[str, str], str] = {
    ("http://www.w3.org/2000/svg", "svg"): "image/svg+xml",
    (_XHTML, "html"): "application/xhtml+xml",
    ("http://www.w3.org/2005/atom", "feed"): "application/atom+xml",
    ("http://www.w3.org/2005/atom", "entry"): "application/atom+xml",
    ("http://purl.org/atom/ns#", "feed"): "application/atom+xml",
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf"): "application/rdf+xml",
    ("http://www.w3.org/1998/math/mathml", "math"): "application/mathml+xml",
    ("http://www.w3.org/1999/xsl/transform", "stylesheet"): "application/xslt+xml",
    ("http://www.w3.org/1999/xsl/transform", "transform"): "application/xslt+xml",
    ("http://www.w3.org/ns/ttml", "tt"): "application/ttml+xml",
    ("http://www.tei-c.org/ns/1.0", "tei"): "application/tei+xml",
    ("http://www.tei-c.org/ns/1.0", "teicorpus"): "application/tei+xml",
    ("http://www.gribuser.ru/xml/fictionbook/2.0", "fictionbook"): "application/x-fictionbook+xml",
    ("http://www.gribuser.ru/xml/fictionbook/2.1", "fictionbook"): "application/x-fictionbook+xml",
    ("http://schemas.microsoft.com/office/word/2003/wordml", "worddocument"): "application/vnd.ms-wordml",
    ("urn:schemas-microsoft-com:office:spreadsheet", "workbook"): "application/vnd.ms-spreadsheetml",
    ("http://ns.adobe.com/xfdf/", "xfdf"): "application/xfdf",
    ("http://ns.adobe.com/xdp/", "xdp"): "application/vnd.adobe.xdp+xml",
    ("http://www.idpf.org/2007/opf", "package"): "application/oebps-package+xml",
    ("http://www.daisy.org/z3986/2005/ncx/", "ncx"): "application/x-dtbncx+xml",
    ("http://www.loc.gov/mets/", "mets"): "application/mets+xml",
    ("http://www.loc.gov/mods/v3", "mods"): "application/mods+xml",
    ("http://www.loc.gov/marc21/slim", "collection"): "application/marcxml+xml",
    ("http://www.loc.gov/marc21/slim", "record"): "application/marcxml+xml",
    ("http://schemas.xmlsoap.org/wsdl/", "definitions"): "application/wsdl+xml",
    ("http://www.w3.org/ns/wsdl", "description"): "application/wsdl+xml",
    ("http://www.w3.org/2003/05/soap-envelope", "envelope"): "application/soap+xml",
}
_BY_ROOT: dict[str, str] = {
    "rss": "application/rss+xml",
    "svg": "image/svg+xml",
    "tei": "application/tei+xml",
    "tei.2": "application/tei+xml",
    "kml": "application/vnd.google-earth.kml+xml",
    "gpx": "application/gpx+xml",
    "fictionbook": "application/x-fictionbook+xml",
    "xliff": "application/xliff+xml",
    "smil": "application/smil+xml",
    "plist": "application/x-plist",
    "opml": "text/x-opml",
    "ncx": "application/x-dtbncx+xml",
    "jnlp": "application/x-java-jnlp-file",
}
"""For formats that are written without a namespace as well; the names are such that nothing else has them."""
_DOCBOOK_ROOTS = words("article book chapter set refentry part section appendix bookinfo para sect1")
_DITA_ROOTS = frozenset(["topic", "concept", "task", "reference", "map", "bookmap", "dita"])

_MAX_PROLOG_ITEMS = 200
_SPACES = re.compile(r"[ \t\r\n\f\ufeff]*")
_NAME = re.compile(r"[A-Za-z_À-￿][\w:.À-￿-]*")
_ATTRIBUTE = re.compile(r"""([\w:.-]{1,100})\s*=\s*(?:"([^"<]{0,2000})"|'([^'<]{0,2000})')""")
_ANY_HTML = re.compile(r"<(/?)([a-z][a-z0-9]*)\b[^<>]{0,2000}>", re.IGNORECASE)
_LATE_HTML = re.compile(r"(?:^|[\r\n>])[ \t]*(?:<!doctype\s+html\b|<html[\s>])", re.IGNORECASE)


def markup(start: str, tail: str, name: str) -> TextKind | None:
    """What a text is that begins with `<`; None when that is no markup.

    Args:
        start: the decoded beginning, without white space in front.
        tail: its last characters.
        name: the file's name in lower case; only Markdown, which may begin with HTML, goes by it.
    """
    declared = start.startswith("<?xml")
    doctype, at = _prolog(start)
    root = _NAME.match(start, at + 1) if start[at : at + 1] == "<" else None
    first = root[0] if root and len(root[0]) <= _LONGEST_NAME else ""
    prefix, _, local = first.rpartition(":")
    local = local.lower()
    if doctype is not None and (doctype.split() or [""])[0].lower() == "html":
        strict = declared and ("xhtml" in doctype.lower() or _XHTML in start[at : at + 2000])
        return TextKind("application/xhtml+xml", "text:xhtml_root") if strict else TextKind("text/html", "text:html")
    attributes = _attributes(start, root.end()) if root and first else {}
    namespace = attributes.get(f"xmlns:{prefix}" if prefix else "xmlns", "")
    if local == "html":
        strict = declared and (namespace == _XHTML or (not namespace and doctype is not None))
        return TextKind("application/xhtml+xml", "text:xhtml_root") if strict else TextKind("text/html", "text:html")
    if first and (found := _by_root(local, namespace, doctype or "", attributes, start[: at + 4000], declared)):
        return TextKind(found, "text:xml_root")
    bare = local in HTML_TAGS and not prefix and not namespace
    if bare and (local in _SURE_TAGS - {"table", "title"} or doctype is not None) and is_html_fragment(start):
        return TextKind("text/html", "text:html_fragment")
    if declared:
        return TextKind("application/xml", "text:xml_declaration")
    if doctype is not None:
        return TextKind("application/xml", "text:doctype")
    if name.endswith(_MARKDOWN_NAMES):
        return None
    if not first:
        # A comment or a conditional before the first tag, or no markup at all
        return TextKind("text/html", "text:html_fragment") if is_html_fragment(start) else None
    end = _COMMENTS_BEHIND.sub("", tail[-4000:]).rstrip()
    if bare:
        sure = local in _SURE_TAGS or (local in _BLOCK_TAGS and end.endswith(f"</{first}>"))
        return TextKind("text/html", "text:html_fragment") if sure or is_html_fragment(start) else None
    if not prefix and not namespace and name.endswith(_HTML_NAMES):
        return TextKind("text/html", "name:html")  # elements of a template's own among those of HTML
    if re.search(rf"</{re.escape(first)}\s*>", end[-2000:]) or start[: start.find(">", at) + 1].endswith("/>"):
        return TextKind("application/xml", "text:xml_root")
    if namespace or (f"</{first}>" in start and end.endswith(">")):
        return TextKind("application/xml", "text:xml_root")
    return TextKind("text/html", "text:html_fragment") if is_html_fragment(start) else None


def late_html(text: str, tail: str, name: str) -> TextKind | None:
    """HTML behind other text, such as headers of HTTP or warnings of a server, and fragments by their tags."""
    if name.endswith(_MARKDOWN_NAMES):
        return None
    found = _LATE_HTML.search(text[:8192])
    end = tail.rstrip()[-300:].lower()
    if found and ("</html" in end or "</body" in end or name.endswith(_HTML_NAMES)):
        return TextKind("text/html", "text:html_after_junk")
    if name.endswith(_HTML_NAMES) and is_html_fragment(text, least=1, share=0.3):
        return TextKind("text/html", "text:html_fragment")
    return None


def is_html_fragment(start: str, *, least: int = 3, share: float = 0.8) -> bool:
    """At least `least` tags that HTML knows, one of them closing, which are `share` of all tags."""
    tags = [(m[1], m[2].lower()) for m in _ANY_HTML.finditer(start[:20_000])]
    known = sum(1 for _, tag in tags if tag in HTML_TAGS)
    return known >= least and known >= share * len(tags) and any(closing for closing, _ in tags)


def _prolog(text: str) -> tuple[str | None, int]:
    """The inside of the DOCTYPE, if there is one, and where the root element begins."""
    doctype: str | None = None
    at = 0
    for _ in range(_MAX_PROLOG_ITEMS):
        at = _SPACES.match(text, at).end()  # type: ignore[union-attr] # it matches nothing, too
        if text.startswith("<?", at):
            at = _after(text, "?>", at, ">")
        elif text.startswith("<!--", at):
            at = _after(text, "-->", at, ">")
        elif text[at : at + 9].lower() == "<!doctype":
            close = _doctype_end(text, at)
            doctype = text[at + 9 : close]
            at = close + 1
        else:
            break
    return doctype, at


def _after(text: str, end: str, at: int, otherwise: str) -> int:
    found = text.find(end, at, at + _LONGEST_PROLOG)
    if found >= 0:
        return found + len(end)
    found = text.find(otherwise, at, at + 2000)
    return found + 1 if found >= 0 else len(text)


def _doctype_end(text: str, at: int) -> int:
    """Where `<!DOCTYPE …>` ends, whose internal subset in brackets has `>` of its own."""
    bracket, close = text.find("[", at, at + 2000), text.find(">", at)
    if close < 0:
        return min(len(text), at + 2000)
    if 0 <= bracket < close:
        inner = re.compile(r"\]\s*>").search(text, bracket)
        return inner.end() - 1 if inner else len(text)
    return close


def _attributes(text: str, at: int) -> dict[str, str]:
    inside = text[at : at + 20_000]
    found: dict[str, str] = {}
    position = 0
    while match := _ATTRIBUTE.search(inside, position):
        if ">" in inside[position : match.start()]:
            break
        found[match[1]] = match[2] or match[3] or ""
        position = match.end()
    return found


def _by_root(
    local: str, namespace: str, doctype: str, attributes: dict[str, str], begin: str, declared: bool
) -> str | None:
    space = namespace.lower()
    if found := _BY_NAMESPACE.get((space, local)):
        if found == "application/rdf+xml" and "http://purl.org/rss/1.0/" in begin:
            return "application/rss+xml"
        return found
    if space.startswith("urn:oasis:names:tc:opendocument:xmlns:office:") and local == "document":
        kind = attributes.get("office:mimetype", "")
        return f"{kind}-flat-xml" if re.fullmatch(r"application/vnd\.oasis\.opendocument\.[a-z-]+", kind) else None
    if space == "http://schemas.microsoft.com/office/2006/xmlpackage" and local == "package":
        return _flat_package(begin)
    if space == "http://docbook.org/ns/docbook" or (local in _DOCBOOK_ROOTS and "docbook" in doctype.lower()):
        return "application/docbook+xml"
    if local in _DITA_ROOTS and ("//dtd dita" in doctype.lower() or "ditaarch:DITAArchVersion" in attributes):
        return "application/dita+xml"
    if local == "svg" and doctype.split()[:1] == ["svg"]:
        return "image/svg+xml"
    if local == "svg" and not space and not declared and "http://www.w3.org/2000/svg" not in begin:
        return "image/svg+xml" if "viewBox" in attributes or "<path" in begin else None
    return _BY_ROOT.get(local) if not space or local in space or local in ("kml", "gpx", "rss", "xliff") else None


def _flat_package(begin: str) -> str | None:
    """An OOXML package as one XML file, by the program that its first instruction names."""
    if "Word.Document" in begin or "wordprocessingml" in begin:
        return "application/vnd.ms-word2006ml"
    return None
