"""SmartArt: its texts are the nodes of a tree that stands in a part of its own (ECMA-376 part 1, 21.4)."""

from __future__ import annotations

from collections import deque

from lxml import etree

from streams.extract.ooxml import child, children, descendants

_NODES = frozenset({"node", "asst"})


def diagram_texts(root: etree._Element) -> list[tuple[int, str]]:
    """Level from 1 and text of each node of a `dgm:dataModel`, a parent before its children.

    Nodes that no connection reaches come last; a circle of connections is gone round once.
    """
    texts: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for element in descendants(root, "dgm:pt"):
        name = element.get("modelId") or ""
        kinds[name] = element.get("type") or "node"
        body = child(element, "dgm:t")
        lines = [] if body is None else [_line(one) for tag, one in children(body) if tag == "a:p"]
        texts[name] = "\n".join(line for line in lines if line)
    below: dict[str, list[tuple[int, str]]] = {}
    for element in descendants(root, "dgm:cxn"):
        if (element.get("type") or "parOf") == "parOf":
            place = element.get("srcOrd") or ""
            order = int(place) if place.isascii() and place.isdigit() and len(place) <= 9 else 0
            below.setdefault(element.get("srcId") or "", []).append((order, element.get("destId") or ""))
    found: list[tuple[int, str]] = []
    seen: set[str] = set()
    stack = [(0, name) for name in reversed(kinds) if kinds[name] == "doc"]
    rest = deque((1, name) for name in kinds if kinds[name] in _NODES)
    while stack or rest:
        level, name = stack.pop() if stack else rest.popleft()
        if name in seen or name not in kinds:
            continue
        seen.add(name)
        if kinds[name] in _NODES and texts[name]:
            found.append((max(level, 1), texts[name]))
        stack.extend((level + 1, one) for _, one in sorted(below.get(name, []), reverse=True))
    return found


def _line(paragraph: etree._Element) -> str:
    return " ".join("".join(run.text or "" for run in descendants(paragraph, "a:t")).split())
