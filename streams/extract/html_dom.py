"""What HTML elements mean for a reader: which are blocks, which are left out, which are furniture, which are hidden."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Protocol

from selectolax.lexbor import LexborNode

from streams.extract.html_tables import TableFacts

HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
BLOCKS = frozenset(HEADINGS) | frozenset(
    word
    for words in (
        "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset",
        "figcaption figure footer form header hgroup hr html legend li main menu nav ol optgroup option p pre",
        "section summary table tbody td tfoot th thead tr ul xmp listing plaintext search",
    )
    for word in words.split()
)
DROPPED = {
    "script": "script",
    "style": "style",
    "template": "template",
    "noscript": "noscript",
    "iframe": "embedded",
    "object": "embedded",
    "embed": "embedded",
    "applet": "embedded",
    "audio": "embedded",
    "video": "embedded",
    "canvas": "embedded",
    "svg": "drawing",
    "head": "",
    "title": "",
    "button": "form_control",
    "select": "form_control",
    "datalist": "form_control",
    "annotation": "annotation",
    "annotation-xml": "annotation",
    "rp": "",
}
"""Elements that are left out, and the name they are counted under."""
FURNITURE_TAGS = frozenset({"nav", "aside", "footer", "header"})
FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "toolbar", "alertdialog"}
)
FURNITURE_NAMES = frozenset(
    {
        "navbar", "breadcrumb", "breadcrumbs", "cookie-banner", "cookie-consent", "cookie-notice", "skip-link",
        "skip-nav", "site-nav", "main-nav", "site-footer", "site-header", "mw-jump-link", "navbox", "catlinks",
    }
)  # fmt: skip
MAX_H1 = 1000
"""Headings that are asked for where they stand; each costs as many steps as it stands deep."""
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE)


class Open(Protocol):
    """An open element."""

    tag: str


def nodes(root: LexborNode) -> Generator[tuple[LexborNode, bool], bool | None, None]:
    """All nodes below and with `root`, each on entering (True) and, for elements, on leaving (False).

    The consumer may send True to skip what is below the node just entered.
    """
    top = root.mem_id
    node: LexborNode | None = root
    while node is not None:
        skip = yield node, True
        below = None if skip else node.child
        if below is not None:
            node = below
            continue
        while node is not None:
            if node.is_element_node:
                yield node, False
            if node.mem_id == top:
                return
            after = node.next
            if after is not None:
                node = after
                break
            node = node.parent


def is_hidden(tag: str, attributes: dict[str, str | None]) -> bool:
    if tag in ("html", "body"):
        return False
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    if tag == "dialog" and "open" not in attributes:
        return True
    style = attributes.get("style")
    return bool(style and _HIDDEN_STYLE.search(style))


def table_facts(root: LexborNode) -> tuple[dict[int, TableFacts], bool]:
    """Facts of every table below `root`, by node; and whether an h1 stands outside of header, nav, aside and footer."""
    found: dict[int, TableFacts] = {}
    for table in root.css("table"):
        if table.mem_id not in found:  # else it stands in one that was looked at
            _look(table, found)
    headed = any(not _stands_in(heading, FURNITURE_TAGS) for heading in root.css("h1")[:MAX_H1])
    return found, headed


def _stands_in(node: LexborNode, tags: frozenset[str]) -> bool:
    above = node.parent
    while above is not None:
        if above.tag in tags:
            return True
        above = above.parent
    return False


def _look(root: LexborNode, found: dict[int, TableFacts]) -> None:
    """Adds the facts of a table and of all tables in it."""
    stack: list[TableFacts] = []
    for node, entering in nodes(root):
        tag = node.tag
        if tag == "-text":
            stack[-1].characters += len((node.text_content or "").strip())
        elif tag == "table":
            if entering:
                for outer in stack[-1:]:
                    outer.nested = True
                facts = TableFacts(role=(node.attributes.get("role") or "").strip().lower())
                found[node.mem_id] = facts
                stack.append(facts)
            else:
                stack.pop()
        elif entering:
            _count(stack[-1], tag)


def _count(facts: TableFacts, tag: str | None) -> None:
    if tag == "tr":
        facts.rows += 1
    elif tag in ("td", "th"):
        facts.cells += 1
        facts.headers += tag == "th"
    elif tag in ("caption", "thead"):
        facts.captioned = True
    elif tag in HEADINGS or tag in ("article", "section", "form", "nav", "main", "hr", "pre", "iframe"):
        facts.blocks += 1


def is_furniture(tag: str, attributes: dict[str, str | None], frames: Sequence[Open]) -> bool:
    """Navigation and the like, by element, role, or a class name that says nothing else.

    The header and footer of an article are the article's.
    """
    if not attributes and tag not in FURNITURE_TAGS:
        return False
    role = (attributes.get("role") or "").strip().lower()
    if role in FURNITURE_ROLES:
        return True
    if tag in ("nav", "aside"):
        return True
    if tag in ("header", "footer"):
        return role not in ("presentation", "none") and not any(f.tag in ("article", "main") for f in frames)
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower().split()
    return bool(FURNITURE_NAMES.intersection(names))


def integer(value: str | None, default: int) -> int:
    match = re.match(r"\s*([+-]?\d{1,9})", value or "")
    return int(match[1]) if match else default


def numeral(number: int, numbering: str) -> str:
    """A number as an ordered list of this type shows it (a, A, i, I, 1)."""
    if numbering in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(ord(numbering) + rest) + letters
        return letters
    if numbering in ("i", "I") and 0 < number < 4000:
        roman = ""
        for value, sign in (
            *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
            *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
        ):
            times, number = divmod(number, value)
            roman += sign * times
        return roman.upper() if numbering == "I" else roman
    return str(number)
