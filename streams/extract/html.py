"""HTML as browsers read it: blocks in source order, navigation labelled, and a warning where a page is no document."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.extract.html_edges import mark_edges
from streams.extract.html_hidden import with_hidden
from streams.extract.html_main import main_content
from streams.extract.html_meta import PageMeta, page_meta
from streams.extract.html_styles import Hiding
from streams.extract.html_walk import Walk, Walker
from streams.extract.outcome import Draft, Request
from streams.extract.text import source_text
from streams.records import BlockKind, Dropped

MAX_DEPTH = 500
"""Open elements below which more are read as if their tags were not there; browsers stop at 512, too. The parser's time
grows with the square of the depth."""
SHELL_CHARS = 300
GATE_CHARS = 1500
"""Characters of body text below which a page may be a shell without content, or a gate before it."""

_IMPLIED = frozenset(
    word
    for words in (
        "a p li dt dd tr td th thead tbody tfoot colgroup caption option optgroup",
        "rt rp html head body button nobr",
    )
    for word in words.split()
)
"""Elements that close themselves when the next one opens, or can't stand in each other: they make no depth alone."""
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_RAW = frozenset(["script", "style", "textarea", "title", "xmp", "iframe", "noframes"])
_TAG = re.compile(r"<(?:(!--)|(/?)([A-Za-z][A-Za-z0-9:_-]*))")
_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)

_GATES = re.compile(
    r"""^\W*(?:
    (?:please\s)?(?:sign|log)[\s-]?in\b | login\b | anmelden\b | anmeldung\b | einloggen\b | se\sconnecter | connexion\b
    | iniciar\ssesión | acceso\b | accedi\b | zaloguj | přihlášení
    | access\s(?:is\s)?denied | zugriff\sverweigert | forbidden\b | unauthorized | session\s(?:has\s)?expired
    | (?:error\s)?40[0-9]\b | (?:error\s)?50[0-4]\b | (?:page\s)?not\sfound\b | seite\snicht\sgefunden
    | just\sa\smoment | attention\srequired | verify(?:ing)?\s(?:that\s)?you | are\syou\s(?:a\s)?(?:human|robot)
    | checking\syour\sbrowser | security\scheck | service\sunavailable | bad\sgateway | site\smaintenance
    | (?:we\suse|this\s(?:web)?site\suses)\scookies | your\sprivacy\b | before\syou\scontinue
    | cookie\s(?:consent|settings)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NEEDS_SCRIPT = re.compile(
    r"(?:enable|turn\son|activate|requires?|needs?)\s[\w\s]{0,30}java\s?script|java\s?script\s(?:is\s)?(?:required|disabled)"
    r"|javascript\saktivieren",
    re.IGNORECASE,
)


def extract(request: Request) -> Draft:
    """The blocks, tables and metadata of a page of the web. Errors: none of its own; every text parses as HTML."""
    return read(request, whole_page=True)


def read(request: Request, *, whole_page: bool) -> Draft:
    """The same of any HTML.

    Args:
        whole_page: it is a page of the web, with furniture around its article; else a part of a document.
    """
    text, warnings, done = source_text(request, "windows-1252")
    if request.detection.media_type == "application/xhtml+xml":
        text = as_html(text)
    walk, meta, flattened = parse(text, whole_page=whole_page)
    if flattened:
        warnings.append("deep_nesting")
        walk.dropped["nesting"] += flattened
    warnings += sorted(walk.warnings)
    warnings += no_content(walk, meta)
    blocks, refs = walk.blocks, walk.refs
    if walk.hidden:
        blocks, refs = with_hidden(blocks, refs, walk.hidden)
        walk.dropped["hidden_element"] -= len(walk.hidden)
        warnings.append("hidden_text")
        done["hidden_characters"] = str(sum(len(text) for _, text in walk.hidden))
    return Draft(
        blocks=blocks,
        tables=walk.tables,
        refs=refs,
        title=meta.title,
        authors=meta.authors,
        created=meta.created,
        modified=meta.modified,
        language=meta.language,
        metadata=meta.metadata | done,
        warnings=list(dict.fromkeys(warnings)),
        dropped=[Dropped(what=what, count=count) for what, count in sorted(walk.dropped.items()) if count],
    )


def parse(text: str, *, whole_page: bool = False) -> tuple[Walk, PageMeta, int]:
    """What stands on a page, what it says of itself, and how many tags were too deep to be followed.

    Args:
        whole_page: as for `read`.
    """
    text, flattened = flatten(text)
    tree = LexborHTMLParser(text)
    root = tree.root
    if root is None:
        return Walk(), PageMeta(), flattened
    hiding = Hiding(root)
    walk = _walked(root, hiding, whole_page=whole_page)
    if hiding.scripted and walk.hidden and _shown(walk) < min(SHELL_CHARS, sum(len(text) for _, text in walk.hidden)):
        hiding.by_style = False  # a page that hides all that it says until its scripts run
        walk = _walked(root, hiding, whole_page=whole_page)
    return walk, page_meta(tree), flattened


def _walked(root: LexborNode, hiding: Hiding, *, whole_page: bool) -> Walk:
    main = main_content(root, hiding) if whole_page else None
    walk = Walker(main, hiding).run(root)
    if main is not None:
        walk.blocks = mark_edges(walk.blocks)
        walk.evidence.add("article")
    return walk


def _shown(walk: Walk) -> int:
    """Characters of what is no furniture."""
    text = sum(len(b.text) for b in walk.blocks if b.kind is not BlockKind.BOILERPLATE)
    return text + sum(len(c.text) for t in walk.tables for c in t.cells)


def flatten(text: str, most: int = MAX_DEPTH) -> tuple[str, int]:
    """The source without the tags that open more than `most` elements inside each other, and how many those are.

    A count of tags, no parser: end tags that are left out against the rules make it count too much.
    """
    if text.count("<") <= most:
        return text, 0
    kept: list[str] = []
    last = depth = removed = suppressed = 0
    position = 0
    while (match := _TAG.search(text, position)) is not None:
        position = match.end()
        if match[1]:
            position = _after(text, "-->", position)
            continue
        name = match[3].lower()
        if match[2]:
            if name in _IMPLIED or name in _VOID:
                continue
            if suppressed:
                suppressed -= 1
                end = _after(text, ">", position)
                kept.append(text[last : match.start()])
                last = position = end
            else:
                depth = max(0, depth - 1)
            continue
        if name in _VOID or name in _IMPLIED:
            continue
        if name in _RAW:
            position = _after(text, f"</{match[3]}", position)
            continue
        if depth < most:
            depth += 1
            continue
        suppressed += 1
        removed += 1
        end = _after(text, ">", position)
        kept.append(text[last : match.start()])
        last = position = end
    if not removed:
        return text, 0
    kept.append(text[last:])
    return "".join(kept), removed


def _after(text: str, what: str, position: int) -> int:
    found = text.find(what, position)
    return len(text) if found < 0 else found + len(what)


def as_html(text: str) -> str:
    """XHTML in the syntax of HTML: `<script/>` would swallow the rest of the page, CDATA would be a comment."""
    text = _CDATA.sub(lambda m: m[1].replace("&", "&amp;").replace("<", "&lt;"), text)
    return _SELF_CLOSED.sub(lambda m: m[0] if m[1].lower() in _VOID else f"<{m[1]}{m[2]}></{m[1]}>", text)


def no_content(walk: Walk, meta: PageMeta) -> list[str]:
    """`not_content` and what it is: a gate (login, consent, error, captcha) or the shell of an application.

    Short pages are documents; only what asks for something instead of saying something is none. A form to sign in
    beside an article makes no gate of it.
    """
    shown = [b for b in walk.blocks if b.kind is not BlockKind.BOILERPLATE]
    length = _shown(walk)
    if length > GATE_CHARS:
        return []
    heads = [meta.title or "", *(b.text for b in shown[:2])]
    named = any(_GATES.match(head) for head in heads)
    if (walk.passwords or "captcha" in walk.evidence) and (named or "article" not in walk.evidence):
        return ["not_content", "login_page" if walk.passwords else "captcha_page"]
    if named and length < GATE_CHARS / 2:
        return ["not_content", "gate_page"]
    scripts = walk.dropped["script"]
    text = " ".join(b.text for b in walk.blocks) + " " + meta.noscript
    if (
        length < SHELL_CHARS
        and (scripts or meta.noscript)
        and ("app_root" in walk.evidence or _NEEDS_SCRIPT.search(text))
    ):
        return ["not_content", "script_shell"]
    if length == 0 and scripts:
        return ["not_content", "script_shell"]
    return []
