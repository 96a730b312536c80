"""What style sheets keep from a reader's eyes: the usual ways to put text on a page that only machines read.

Read are `style` attributes and the plain rules (element, class, id) of a page's own `style` elements: CSS 2.2, CSS
Transforms, CSS Masking. Where more would have to be known (sheets of other files, rules that a script switches,
pictures behind the text), text counts as shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from selectolax.lexbor import LexborNode

from streams.extract.html_dom import is_hidden, nodes
from streams.extract.html_sheets import Declared, Sheets, declarations

OFF_SCREEN = -999.0
"""Pixels beyond which text that is moved to the left or up is on no screen."""
NEAR = 10
"""Steps of each channel, of 255, by which letters may differ from what is behind them and not be seen."""
_PIXELS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "in": 96.0}
_LENGTH = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))([a-z]{0,4})(?![\w%.])")
_HEX = re.compile(r"#?([0-9a-f]{3,8})")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+([\d.]{1,9}%?))?\s*\)")
_COLORS = {
    "white": (255, 255, 255), "snow": (255, 250, 250), "ivory": (255, 255, 240), "ghostwhite": (248, 248, 255),
    "floralwhite": (255, 250, 240), "whitesmoke": (245, 245, 245), "black": (0, 0, 0), "red": (255, 0, 0),
    "lime": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "silver": (192, 192, 192),
    "gray": (128, 128, 128), "grey": (128, 128, 128), "navy": (0, 0, 128), "green": (0, 128, 0),
}  # fmt: skip
_NOTHING = frozenset({"", "none", "transparent", "inherit", "initial", "unset", "0"})
_NO_SIZE = re.compile(r"scale[xy3d]{0,2}\(\s*0*\.?0*\s*[,)]")
_CLIPPED = re.compile(r"(?:inset\(\s*(?:[5-9]\d|\d{3,})(?:\.\d+)?%|circle\(\s*0)")
_NO_RECT = re.compile(r"rect\(\s*([01])(?:px)?(?:[\s,]+\1(?:px)?){3}\s*\)")
_MOVING = ("transform", "transition", "animation", "will-change")

Color = tuple[int, int, int]
_WHITE: Color = (255, 255, 255)


class Hiding:
    """Says of each element of one page whether what it holds is hidden. `hides` is all there is to call."""

    def __init__(self, root: LexborNode) -> None:
        self.sheets = Sheets(root)
        self.scripted = any("json" not in (s.attributes.get("type") or "") for s in root.css("script"))
        self.by_style = True  # False: only attributes of HTML and what hides without doubt
        self._texts: dict[int, bool] = {}
        self._backgrounds: dict[int, Color | None] = {}

    def hides(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> bool:
        """Whether an element hides its text."""
        if is_hidden(tag, attributes):
            return True
        if (not attributes and tag not in self.sheets.names) or not self.by_style or tag in ("html", "body"):
            return False
        declared = self._declared(tag, attributes)
        if not declared:
            return False
        if hides_all(declared, scripted=self.scripted):
            return True
        if "font-size" not in declared and "color" not in declared:
            return False
        known = self._texts.get(node.mem_id)
        if known is None:
            known = self._texts[node.mem_id] = self._hides_text(node, declared)
        return known

    def _declared(self, tag: str, attributes: dict[str, str | None]) -> Declared:
        found = self.sheets.declared(tag, attributes)
        if style := attributes.get("style"):
            found = {**found, **declarations(style)}
        if tag == "font" and (color := attributes.get("color")):
            found = {"color": color.strip().lower(), **found}
        return found

    def _hides_text(self, node: LexborNode, declared: Declared) -> bool:
        """Whether letters have no size or the colour of what is behind them, and nothing below changes that."""
        if _length(declared.get("font-size", "")) in (0.0, 1.0) and not self._is_changed(node, "font"):
            return True
        value = declared.get("color", "")
        if not value:
            return False
        if _is_transparent(value):
            return not any("background-clip" in name for name in declared) and not self._is_changed(node, "color")
        color = _color(value)
        if color is None or self._is_changed(node, "color"):
            return False
        behind = self._background(node)
        return behind is not None and all(abs(a - b) <= NEAR for a, b in zip(color, behind, strict=True))

    def _is_changed(self, top: LexborNode, what: str) -> bool:
        """Whether an element below gives its text another size or colour, or may; or shows a picture."""
        for node, entering in nodes(top):
            if not entering or not node.is_element_node or node.mem_id == top.mem_id:
                continue
            attributes = node.attributes
            if node.tag in ("img", "font", "input") or (node.tag == "a" and what == "color" and "href" in attributes):
                return True
            if self.sheets.any and ("class" in attributes or "id" in attributes):
                return True
            if "bgcolor" in attributes or "background" in attributes:
                return True
            style = attributes.get("style") or ""
            if what in style.lower() or "background" in style.lower():
                return True
        return False

    def _background(self, start: LexborNode) -> Color | None:
        """The colour behind a text; None where it can't be told."""
        path: list[int] = []
        node: LexborNode | None = start
        found: Color | None = None if self.sheets.paint else _WHITE
        while node is not None and node.is_element_node:
            if node.mem_id in self._backgrounds:
                found = self._backgrounds[node.mem_id]
                break
            path.append(node.mem_id)
            attributes = node.attributes
            declared = self._declared(node.tag or "", attributes)
            value = declared.get("background-color") or declared.get("background") or ""
            value = value or (attributes.get("bgcolor") or "").strip().lower()
            if attributes.get("background") or "background-image" in declared:
                found = None
                break
            if value not in _NOTHING:
                found = _color(value)
                break
            node = node.parent
        self._backgrounds.update(dict.fromkeys(path, found))
        return found


def hides_all(declared: Declared, *, scripted: bool) -> bool:
    """Whether declarations take an element with all that is below it from sight.

    Args:
        scripted: scripts run on the page: what is transparent and moves is faded in by them.
    """
    get = declared.get
    if get("display") == "none" or get("visibility") in ("hidden", "collapse"):
        return True
    fades = scripted and any(name.startswith(_MOVING) for name in declared)
    if (_is_zero(get("opacity", "")) or "opacity(0)" in get("filter", "")) and not fades:
        return True
    placed = get("position") in ("absolute", "fixed")
    sides = ("left", "right", "top", "bottom") if placed else ()
    for name in chain(("text-indent", "margin-left", "margin-top"), sides):
        if name in declared and (_length(declared[name]) or 0.0) <= OFF_SCREEN:
            return True
    if get("overflow", "").startswith(("hidden", "clip")) and not any(
        name.startswith("padding") and not _is_zero(value) for name, value in declared.items()
    ):
        for name in ("height", "max-height", "width", "max-width"):
            if name in declared and _length(declared[name]) in (0.0, 1.0):
                return True
    if placed and _NO_RECT.match(get("clip", "")):
        return True
    return bool(_CLIPPED.match(get("clip-path", "")) or (not fades and _NO_SIZE.search(get("transform", ""))))


@lru_cache(maxsize=1000)
def _length(value: str) -> float | None:
    """Pixels of a length; None for what is none."""
    match = _LENGTH.match(value)
    if match is None or match[2] not in _PIXELS:
        return 0.0 if value in ("0%", "-0%") else None
    return float(match[1]) * _PIXELS[match[2]]


def _is_zero(value: str) -> bool:
    number = value.split("!")[0].strip().rstrip("%")
    return bool(
        re.fullmatch(r"[+-]?(?:0{1,9}(?:\.(?:0{1,9}|00\d{0,9}))?|\.(?:0{1,9}|00\d{0,9}))(?:px|em|rem|pt)?", number)
    )


def _is_transparent(value: str) -> bool:
    match = _RGB.fullmatch(value)
    return value == "transparent" or (match is not None and match[4] is not None and _is_zero(match[4]))


@lru_cache(maxsize=1000)
def _color(value: str) -> Color | None:
    """An opaque colour; None for others and for all that is more than a colour."""
    word = value.split("!")[0].strip()
    if word in _COLORS:
        return _COLORS[word]
    if (match := _RGB.fullmatch(word)) and match[4] in (None, "1", "1.0", "100%"):
        return int(match[1]), int(match[2]), int(match[3])
    match = _HEX.fullmatch(word)
    if match is None or len(match[1]) not in (3, 6):
        return None
    digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
