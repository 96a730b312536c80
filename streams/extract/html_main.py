"""Which part of a web page is its article, so that what stands around it can be labelled; none where none is clear.

Judged by where the prose stands, what the elements are called, and how much of their text is links. A page that is a
list, a table, a form or a thread has no article in this sense, and nothing of it is judged here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from streams.extract.html_dom import BLOCKS, DROPPED, FURNITURE_ROLES, HEADINGS, nodes
from streams.extract.html_styles import Hiding

MIN_PROSE = 200
"""Characters of prose below which a page has no article that could be told from the rest."""
MIN_DATA = 60
"""Characters of a table or list beside the article that is kept as a part of it."""
STANDFIRST = 250
"""Characters that may stand beside a headline and belong to it."""
MAX_PARTS = 200_000
"""Block elements of a page above which nothing is judged."""
DESCEND, DESCEND_HEADED, DESCEND_NAMED = 0.8, 0.6, 0.35
"""Share of an element's prose that one child must hold for the search to go on in that child; where it has the only
headline; where its name says that it is the article."""
MOST_APART = 0.4
"""Share of the page's prose above which nothing stands beside the article, whatever its name says."""
MIN_SHARE = 0.4
"""Share of a page's prose that its article has at the least, unless it has comments."""
PARAGRAPH = 70
"""Characters of a text that may be prose."""

_SENTENCE = re.compile(r"[.!?…。！？]['\"”’»)\]]*(?:\s|$)|[。！？]|,\s|[،؛؟।]")
_WORDS = re.compile(r"[a-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_APART = frozenset(
    word
    for line in (
        "ad ads adslot advert advertisement advertising advertorial adsbygoogle sponsor sponsored promo promos",
        "promotion promoted outbrain taboola teaser teasers nav navi navigation navbar breadcrumb breadcrumbs",
        "menu menus sidebar footer share sharing shares sharebar sharedaddy social socials sociallinks addthis",
        "addtoany related relateds relatedposts recommend recommended recommendation recommendations recirc",
        "recirculation trending popular mostread newsletter newsletters subscribe subscription signup paywall",
        "cookie cookies consent gdpr banner comment comments disqus respond reply replies pagination pager tag",
        "tags tagcloud taglist topics byline bylines author authors authorbox bio widget widgets toolbar tooltip",
        "modal popup overlay print printonly feedback rating ratings masthead login register copyright disclaimer",
        "toc crosslinks seealso readmore morefrom nextprev skip hidden credits syndication livefyre viafoura jp",
        "postmeta metadata entrymeta timestamp dateline breaking",
    )
    for word in line.split()
)
"""Words in names of elements that stand beside an article."""
_APART_PAIRS = (
    "read more", "see also", "more from", "most read", "most popular", "post meta", "entry meta", "article meta",
    "article footer", "post footer", "entry footer", "post nav", "up next", "next article", "also like",
    "more stories", "more news", "top stories", "latest news", "site header", "page header", "call to action",
    "about author", "sign up", "follow us", "in this", "editors picks",
)  # fmt: skip
_BODY = re.compile(
    r"articlebody|article body|article content|article text|story body|story content|story text|post content|post body"
    r"|entry content|blog content|blog post|body content|body copy|article copy|page content|main content|news content"
    r"|news text|content body|content main|article main|rich text|richtext|wysiwyg|single content|post entry|article$"
)
_ALWAYS_APART = frozenset({"cookie", "cookies", "consent", "gdpr", "modal", "popup", "overlay", "breaking"})
_EMBEDDED = frozenset({"tweet", "embed", "quote", "pullquote", "blockquote", "image", "figure"})
_CAPTIONS = frozenset({"caption", "captions", "gallery", "slideshow", "carousel", "imagecaption", "photocredit"})
_DATA = {"table": 0.25, "pre": 0.25, "dl": 0.1, "ul": 0.0, "ol": 0.0}
"""Elements of data, and the share of links up to which they are it."""
_COMMENTS = frozenset({"comment", "comments", "disqus", "respond", "livefyre", "viafoura", "replies"})


@dataclass(slots=True)
class Part:
    """One block element, as it was measured."""

    node: int
    tag: str
    parent: int
    names: str = ""
    own: int = 0  # characters of text that stand in this element and in no block below it
    own_linked: int = 0
    sentences: int = 0
    text: int = 0  # with everything below
    linked: int = 0
    prose: int = 0
    paragraphs: int = 0
    headlines: int = 0  # h1
    apart: bool = False
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MainContent:
    """`inside`: nodes whose text is the article's; below them `apart`, none of it, and `captions` of images."""

    inside: frozenset[int]
    apart: frozenset[int]
    captions: frozenset[int]


def main_content(root: LexborNode, hiding: Hiding) -> MainContent | None:
    """Where the article of a page stands; None where the page has no clear one."""
    parts = _measured(root, hiding)
    if len(parts) > MAX_PARTS:
        return None
    _sum_up(parts)
    whole, commented = parts[0].prose, _has_body(parts)
    _set_apart(parts, commented)
    top = _top(parts)
    if not _is_article(parts[top], 0 if commented else whole):
        return None
    return MainContent(
        inside=frozenset([parts[top].node, *_kept_outside(parts, top)]),
        apart=frozenset(_apart_inside(parts, top)),
        captions=frozenset(p.node for p in _below(parts, top)[1:] if _is_caption(p)),
    )


def _measured(root: LexborNode, hiding: Hiding) -> list[Part]:
    parts = [Part(root.mem_id, root.tag or "", -1)]
    open_parts = [0]
    anchors = 0
    walk = nodes(root)
    for node, entering in walk:
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            length = len(text.strip())
            if length:
                part = parts[open_parts[-1]]
                part.own += length
                if anchors:
                    part.own_linked += length
                elif length > 20:
                    part.sentences += len(_SENTENCE.findall(text))
                else:
                    part.sentences += text.rstrip().endswith((".", "!", "?"))
            continue
        if not node.is_element_node or node.mem_id == parts[0].node:
            continue
        if entering:
            if tag in DROPPED:
                walk.send(True)
            elif tag == "a":
                anchors += 1
            elif tag in BLOCKS or "-" in tag:
                attributes = node.attributes
                if hiding.hides(node, tag, attributes):
                    walk.send(True)
                    continue
                index = len(parts)
                if index > MAX_PARTS:
                    return parts
                parts.append(Part(node.mem_id, tag, open_parts[-1], _names(attributes)))
                parts[open_parts[-1]].children.append(index)
                open_parts.append(index)
        elif tag == "a":
            anchors -= 1
        elif parts[open_parts[-1]].node == node.mem_id:
            open_parts.pop()
    return parts


def _names(attributes: dict[str, str | None]) -> str:
    """The words of an element's class, id, role and the like, in lower case."""
    if not attributes:
        return ""
    given = f"{attributes.get('class') or ''} {attributes.get('id') or ''} {attributes.get('role') or ''}"
    given = f"{given} {attributes.get('itemprop') or ''}"
    return " ".join(_WORDS.findall(_CAMEL.sub(" ", given[:500]).lower()))


def _is_prose(part: Part) -> bool:
    return (
        part.own - part.own_linked >= PARAGRAPH
        and part.own_linked < part.own * 0.5
        and part.sentences > 0
        and part.tag not in HEADINGS
    )


def _sum_up(parts: list[Part]) -> None:
    """Text, links and prose with everything below."""
    for part in reversed(parts):
        part.text += part.own
        part.linked += part.own_linked
        if _is_prose(part):
            part.prose += part.own
            part.paragraphs += 1
        part.headlines += part.tag == "h1"
        if part.parent >= 0:
            above = parts[part.parent]
            above.text += part.text
            above.linked += part.linked
            above.prose += part.prose
            above.paragraphs += part.paragraphs
            above.headlines += part.headlines


def _set_apart(parts: list[Part], commented: bool) -> None:
    """Marks what stands beside the article, and takes its prose from what it stands in."""
    most = parts[0].prose * MOST_APART
    todo = [0]
    while todo:
        at = todo.pop()
        part = parts[at]
        if at and _is_apart(part, most, commented):
            part.apart = True
            above = part.parent
            while above >= 0:
                parts[above].prose -= part.prose
                parts[above].paragraphs -= part.paragraphs
                above = parts[above].parent
            continue
        todo += part.children


def _has_body(parts: list[Part]) -> bool:
    """Whether something that is called an article has prose: comments below it are not what the page is about."""
    for part in parts:
        named = part.tag == "article" or _BODY.search(part.names)
        if named and part.prose >= MIN_PROSE and not _COMMENTS & set(part.names.split()):
            return True
    return False


def _is_apart(part: Part, most: float, commented: bool) -> bool:
    if part.tag in ("html", "body", "main", "article") or part.tag in HEADINGS:
        return False
    words = set(part.names.split())
    if commented and words & _COMMENTS and part.tag != "a":
        return True
    if part.prose > most and not (words & _ALWAYS_APART and part.prose < 2 * most and part.paragraphs):
        return False
    if words & _EMBEDDED:
        return False
    if part.tag in ("nav", "aside", "footer", "form", "dialog", "menu"):
        return True
    if not words:
        return False
    return bool(words & FURNITURE_ROLES or words & _APART) or any(pair in part.names for pair in _APART_PAIRS)


def _top(parts: list[Part]) -> int:
    """The smallest element that holds most of the prose."""
    at = 0
    while (below := _next(parts, at)) is not None:
        at = below
    return at


def _next(parts: list[Part], at: int) -> int | None:
    """The child in which the search for the article goes on."""
    children = [c for c in parts[at].children if not parts[c].apart and parts[c].prose and not _is_prose(parts[c])]
    whole = sum(_weight(parts[c]) for c in parts[at].children if not parts[c].apart)
    named = [c for c in children if parts[c].tag in ("article", "main") or _BODY.search(parts[c].names)]
    if len(named) == 1 and _weight(parts[named[0]]) >= DESCEND_NAMED * whole:
        return named[0]
    best = max(children, key=lambda c: _weight(parts[c]), default=None)
    if best is None:
        return None
    headed = parts[best].headlines == 1 and parts[0].headlines == 1
    return best if _weight(parts[best]) >= (DESCEND_HEADED if headed else DESCEND) * whole else None


def _weight(part: Part) -> float:
    """Prose, the less the more of the text is links."""
    return part.prose * (1 - part.linked / max(1, part.text)) ** 2


def _is_caption(part: Part) -> bool:
    """Text below a picture, or the parts of a gallery."""
    return bool(_CAPTIONS & set(part.names.split())) and part.paragraphs <= 8 and part.tag not in HEADINGS


def _is_article(part: Part, whole: int) -> bool:
    """Whether an element is the article of a page with `whole` characters of prose."""
    return part.prose >= max(MIN_PROSE, MIN_SHARE * whole) and part.linked < part.text * 0.6


def _kept_outside(parts: list[Part], top: int) -> list[int]:
    """Beside the way from the page down to the article: its headline, paragraphs of prose, tables, lists and code."""
    kept: list[int] = []
    at = top
    while (above := parts[at].parent) >= 0:
        before: Part | None = None
        for child in parts[above].children:
            part = parts[child]
            if child != at and not part.apart and (_is_prose(part) or _is_data(parts, child)):
                if before is not None and before.tag in HEADINGS:
                    kept.append(before.node)
                kept.append(part.node)
            before = part
        at = above
    if not any(p.tag == "h1" for p in _below(parts, top)):
        heads = [p for p in parts[:top] if p.tag == "h1" and p.text]
        for head in heads[-1:]:
            around = parts[head.parent]
            alone = around.linked == head.linked and around.text <= head.text + STANDFIRST
            kept.append(around.node if alone else head.node)
    return kept


def _is_data(parts: list[Part], index: int) -> bool:
    """Whether an element has a table, a list or code that says something beside its links."""
    part = parts[index]
    if part.text < MIN_DATA or part.linked > part.text * 0.25 or part.tag in ("header", "footer"):
        return False
    below = _below(parts, index)
    return any(
        each.tag in _DATA and each.text >= MIN_DATA and each.linked <= each.text * _DATA[each.tag] for each in below
    )


def _below(parts: list[Part], top: int) -> list[Part]:
    end = top + 1
    while end < len(parts) and parts[end].parent >= top:
        end += 1
    return parts[top:end]


def _apart_inside(parts: list[Part], top: int) -> list[int]:
    found: list[int] = []
    todo = list(parts[top].children)
    while todo:
        part = parts[todo.pop()]
        if part.apart:
            found.append(part.node)
        else:
            todo += part.children
    return found
