"""The plain rules of a page's own style sheets: what they declare of an element by its name, its classes and its id.

No CSS engine: rules that depend on where an element stands, on the size of the screen or on the mouse are not applied.
But where such a rule may show what a plain one hides, the plain one is not believed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from selectolax.lexbor import LexborNode

MAX_SHEETS = 4 << 20
"""Characters of style sheets of a page that are read."""
MAX_RULES = 20_000
MAX_STYLE = 4000
"""Characters of the declarations of one element or rule."""
MAX_LATER = 50
"""Rules that are looked at for each name, whether they show what another hides."""
MAX_KNOWN = 20_000
"""Kinds of elements of a page whose rules are looked up once only."""

Declared = dict[str, str]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACES = re.compile(r"([{}])")
_PLAIN = re.compile(r"(?:[a-z][a-z0-9-]*)?(?:[.#][\w-]+)*")
_NAMES = re.compile(r"[.#]?[\w-]+")
_PROPERTIES = frozenset(
    [
        "display",
        "visibility",
        "opacity",
        "filter",
        "position",
        "left",
        "right",
        "top",
        "bottom",
        "text-indent",
        "margin-left",
        "margin-top",
        "overflow",
        "height",
        "max-height",
        "width",
        "max-width",
        "clip",
        "clip-path",
        "transform",
        "transition",
        "animation",
        "will-change",
        "font-size",
        "color",
        "background",
        "background-color",
        "background-image",
        "background-clip",
        "-webkit-background-clip",
        "padding",
        "padding-top",
        "padding-bottom",
    ]
)


@lru_cache(maxsize=1000)
def declarations(style: str) -> Declared:
    """Declarations that say whether a text is seen, names and values in lower case; the last of a name holds."""
    found: Declared = {}
    for part in style[:MAX_STYLE].split(";"):
        name, _, value = part.partition(":")
        name = name.strip().lower()
        if name in _PROPERTIES:
            found[name] = value.partition("!")[0].strip().lower()
    return found


class Sheets:
    """The `style` elements of a page. `any`: the page has sheets; `paint`: one may colour a background."""

    def __init__(self, root: LexborNode) -> None:
        text = "\n".join(node.text(deep=True) or "" for node in root.css("style"))[:MAX_SHEETS]
        linked = any("stylesheet" in (link.attributes.get("rel") or "").lower() for link in root.css("link"))
        self.any = linked or bool(text)
        self.paint = linked or "background" in text
        self._plain: dict[frozenset[str], Declared] = {}
        self._known: dict[tuple[str, str, str], Declared] = {}
        self._later: dict[str, list[Declared]] = {}
        if text:
            self._read(_COMMENT.sub("", text))
        self._by_name: dict[str, list[frozenset[str]]] = {}
        for key in sorted(self._plain, key=len):
            for name in key:
                self._by_name.setdefault(name, []).append(key)
        self.names = frozenset(self._by_name)

    def declared(self, tag: str, attributes: dict[str, str | None]) -> Declared:
        """What the plain rules declare of an element, those for more of its names last."""
        if not self.names:
            return {}
        asked = tag, attributes.get("class") or "", attributes.get("id") or ""
        found = self._known.get(asked)
        if found is None:
            found = self._matched(*asked)
            if len(self._known) < MAX_KNOWN:
                self._known[asked] = found
        return found

    def _matched(self, tag: str, classes: str, own_id: str) -> Declared:
        own = {tag, *(f".{name}" for name in classes.split()[:50])}
        own.add(f"#{own_id.strip()}")
        keys = {key for name in own & self.names for key in self._by_name[name][:MAX_LATER] if key <= own}
        if not keys:
            return {}
        found: Declared = {}
        for key in sorted(keys, key=lambda key: (sum(n[0] == "#" for n in key), len(key), sorted(key))):
            found.update(self._plain[key])
        for name in sorted(own & self._later.keys()):
            for later in self._later[name]:
                found = {key: value for key, value in found.items() if later.get(key, value) == value}
        return found

    def _read(self, text: str) -> None:
        """Rules in their order; those inside of others (`@media`) count as depending on something."""
        depth = rules = 0
        selectors = ""
        for part in _BRACES.split(text):
            if part == "{":
                depth += 1
            elif part == "}":
                depth = max(0, depth - 1)
                selectors = ""
            elif depth and selectors and not selectors.startswith("@"):
                found = declarations(part)
                rules += 1
                if found and rules <= MAX_RULES:
                    self._add(selectors, found, plain=depth == 1)
                selectors = part.strip()  # of a rule in a rule
            else:
                selectors = part.rpartition(";")[2].strip()

    def _add(self, selectors: str, found: Declared, *, plain: bool) -> None:
        for raw in selectors[:MAX_STYLE].split(","):
            selector = raw.strip()
            if plain and selector and _PLAIN.fullmatch(selector):
                key = frozenset(_NAMES.findall(selector))
                self._plain[key] = {**self._plain.get(key, {}), **found}
                continue
            for name in _NAMES.findall(selector.split()[-1] if selector.split() else ""):
                later = self._later.setdefault(name, [])
                if len(later) < MAX_LATER:
                    later.append(found)
