"""Ruling lines of tables, taken away before the engine sees them: it takes grids and cells for pictures.

A rule is a run of ink that is much longer than letters are high and thin over its whole length. Rules count where they
cross and make a grid: a line below a word, a dash or the strokes of big type stay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from PIL import Image

_SHARE = 24  # a rule has this part of the image's longer side at least: half an inch of a page, above any letter
_SHORTEST = 48  # pixels
_STEP = 8  # pixels: a long run shows in every eighth column, which is where it is looked for first
_SLENDER = 12  # times as long as thick; the strokes of type are at most eight times
_THICKEST = 24  # pixels: two millimetres at 300 dpi
_GRID = 3  # times the shortest rule: the longest rule of a grid
_MOST_RUNS = 20_000  # of one direction; more is a pattern
_MOST_RULES = 1000
_ROWS = 256  # looked at together
_EDGE = 4  # rows around a rule that are looked at for its paper and its edges
_NEAR = 3  # pixels between rules that touch


_Run = tuple[int, int, int]
"""Ink of one row: the row, its first pixel, and the one after its last."""


class _Rule(NamedTuple):
    """A horizontal rule; a vertical one has its sides changed over."""

    top: int
    bottom: int  # one more than the last row
    left: int
    right: int
    thick: int
    runs: list[_Run]


def without_rules(image: Image.Image) -> Image.Image:
    """A grey upright page, dark on light, with the rules of its grids in the colour around them; else the same image.

    A page without long lines costs some milliseconds, one with grids a few hundredths of its recognition.
    """
    grey = np.asarray(image)
    length = max(_SHORTEST, max(image.size) // _SHARE)
    if min(image.size) < length:
        return image
    level = _level(grey)
    rows, columns = _candidates(grey, level, length), _candidates(grey.T, level, length)
    if not len(rows) or not len(columns):
        return image
    across = _rules(grey, level, length, rows)
    down = _rules(grey.T, level, length, columns) if across else []
    across, down = _in_grids(across, down, length)
    if not across:
        return image
    cleared = grey.copy()
    _paint(cleared, grey, level, across)
    _paint(cleared.T, grey.T, level, down)
    return Image.fromarray(cleared)


def _level(grey: Any) -> float:
    """Half way between the paper and its darkest hundredth."""
    paper, dark = np.percentile(grey[::4, ::4], (75, 1))
    return float((paper + dark) / 2)


def _candidates(grey: Any, level: float, length: int) -> Any:
    """Rows in which enough neighbours among every eighth column are ink."""
    sample = np.ascontiguousarray(grey[:, ::_STEP]) < level
    wanted, have = length // _STEP, 1
    while have < wanted and sample.shape[1]:
        step = min(have, wanted - have)
        sample = sample[:, step:] & sample[:, :-step]
        have += step
    return np.flatnonzero(sample.any(axis=1))


def _rules(grey: Any, level: float, length: int, rows: Any) -> list[_Rule]:
    """The horizontal rules among these rows: runs that lie upon each other, thin, with paper on both sides."""
    runs: list[_Run] = []
    for at in range(0, len(rows), _ROWS):
        part = rows[at : at + _ROWS]
        edges = np.diff((grey[part] < level).view(np.int8), axis=1, prepend=np.int8(0), append=np.int8(0))
        row, first = np.nonzero(edges == 1)
        end = np.nonzero(edges == -1)[1]
        long = end - first >= length
        runs += zip(part[row[long]].tolist(), first[long].tolist(), end[long].tolist(), strict=True)
        if len(runs) > _MOST_RUNS:
            return []
    found = [
        rule
        for rule in map(_rule, _grouped(runs))
        if rule.thick <= min(_THICKEST, (rule.right - rule.left) // _SLENDER) and _stands_free(grey, level, rule)
    ]
    return found if len(found) <= _MOST_RULES else []


def _grouped(runs: list[_Run]) -> list[list[_Run]]:
    """Runs that lie upon each other; those of a rule that slopes a little overlap only from row to row."""
    opened: list[list[_Run]] = []
    done: list[list[_Run]] = []
    for run in runs:
        row, first, end = run
        done += [group for group in opened if row - group[-1][0] > 2]
        opened = [group for group in opened if row - group[-1][0] <= 2]
        for group in opened:
            if any(first < other[2] + _NEAR and other[1] < end + _NEAR for other in group[-4:]):
                group.append(run)
                break
        else:
            opened.append([run])
    return done + opened


def _rule(runs: list[_Run]) -> _Rule:
    left, right = min(run[1] for run in runs), max(run[2] for run in runs)
    area = sum(run[2] - run[1] for run in runs)
    return _Rule(runs[0][0], runs[-1][0] + 1, left, right, max(1, round(area / (right - left))), runs)


def _stands_free(grey: Any, level: float, rule: _Rule) -> bool:
    """Whether there is paper above and below: the edge of a filled bar is no rule."""
    reach = max(_NEAR, rule.thick)
    above = grey[max(0, rule.top - reach) : rule.top, rule.left : rule.right]
    below = grey[rule.bottom : rule.bottom + reach, rule.left : rule.right]
    return all(not side.size or (side < level).mean(axis=1).min() < 0.5 for side in (above, below))


def _in_grids(across: list[_Rule], down: list[_Rule], length: int) -> tuple[list[_Rule], list[_Rule]]:
    """Those rules that are connected with two of their own direction and two of the other, one of them long."""
    count = len(across)
    if count < 2 or len(down) < 2:
        return [], []
    h = np.array([rule[:5] for rule in across])
    v = np.array([rule[:5] for rule in down])  # sides changed over: top and bottom are x, left and right are y
    near = _NEAR + h[:, None, 4] + v[None, :, 4]
    touch = (
        (v[None, :, 1] >= h[:, None, 2] - near)
        & (v[None, :, 0] <= h[:, None, 3] + near)
        & (h[:, None, 1] >= v[None, :, 2] - near)
        & (h[:, None, 0] <= v[None, :, 3] + near)
    )
    labels = np.arange(count)
    while True:
        # every vertical rule hands on the smallest label of the horizontal ones that it touches
        handed = np.where(touch, labels[:, None], count).min(axis=0)
        spread = np.minimum(labels, np.where(touch, handed[None, :], count).min(axis=1))
        if (spread == labels).all():
            break
        labels = spread
    grids = set()
    for label in np.unique(labels).tolist():
        h_in, v_in = h[labels == label], v[handed == label]
        if len(h_in) >= 2 and len(v_in) >= 2:
            longest = max((h_in[:, 3] - h_in[:, 2]).max(), (v_in[:, 3] - v_in[:, 2]).max())
            if longest >= _GRID * length:
                grids.add(label)
    return (
        [rule for rule, label in zip(across, labels.tolist(), strict=True) if label in grids],
        [rule for rule, label in zip(down, handed.tolist(), strict=True) if label in grids],
    )


def _paint(cleared: Any, grey: Any, level: float, rules: list[_Rule]) -> None:
    """Paints horizontal rules with the paper around them, and their rough or blurred edges with them."""
    for rule in rules:
        top, bottom = max(0, rule.top - _EDGE), min(len(grey), rule.bottom + _EDGE)
        around = grey[top:bottom, rule.left : rule.right]
        ink = around < level
        mask = np.zeros(around.shape, dtype=bool)
        for row, first, end in rule.runs:
            mask[row - top, first - rule.left : end - rule.left] = True
        # the next pixel is the edge, unless ink goes on behind it: a letter that touches the rule
        edge = np.zeros_like(mask)
        edge[1:-1] |= mask[2:] & ~(ink[1:-1] & ink[:-2])
        edge[1:-1] |= mask[:-2] & ~(ink[1:-1] & ink[2:])
        edge[:-2] |= mask[2:] & ~ink[:-2]
        edge[2:] |= mask[:-2] & ~ink[2:]
        paper = np.median(around[~ink]) if not ink.all() else 255
        cleared[top:bottom, rule.left : rule.right][mask | edge] = paper
