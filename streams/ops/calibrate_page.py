"""The distributions as one HTML page that needs nothing else: no script, no network, and what documents say escaped."""

from __future__ import annotations

from html import escape

from streams.ops.calibrate import QUANTILES, Calibration, Distribution

_WIDTH, _HEIGHT = 480, 90
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child,td.l{text-align:left}svg{display:block;margin:.4rem 0}.why{color:#555}
rect{fill:#6b8fb5}.now{stroke:#b3261e;stroke-width:2}.then{stroke:#1a7f37;stroke-width:2;stroke-dasharray:4 3}
section{margin:2.2rem 0}"""
_MOST_GROUPS = 12


def page(found: Calibration) -> str:
    """The whole page."""
    sections = "".join(map(_section, found.distributions))
    rows = "".join(
        f"<tr><td>{escape(d.path)}<td class=l>{escape(', '.join(d.problems))}<td class=l dir=auto>{escape(d.words)}"
        for d in found.to_read
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Scores of {found.documents} documents</title><style>{_STYLE}</style>"
        f"<h1>Scores of {found.documents} documents</h1><p>{found.held} are held under the policy "
        f"<code>{escape(found.policy)}</code>. Red: the limit of now. Green: the suggested one. “Beyond” counts "
        "documents past a limit; a limit that needs more words than a document has does not hold it.</p>"
        f"{sections}<section><h2>Held documents to read</h2><table><tr><th>path<th>why<th>first words{rows}</table>"
        "</section></html>\n"
    )


def _section(each: Distribution) -> str:
    heads = "".join(f"<th>{share:.0%}" for share in QUANTILES)
    cells = "".join(f"<td>{value:.4g}" for value in each.quantiles)
    side = "above" if each.above else "below"
    line = f"{each.beyond} of {each.documents} lie {side} {each.limit:g} (<code>{each.limit_name}</code>, {each.code})."
    if each.suggested is not None:
        line += f" <b>Suggested: {each.suggested:g}</b>, beyond which {each.beyond_suggested} lie."
    shown: list[str] = []
    for by in ("format", "source", "language"):
        groups = [group for group in each.groups if group.by == by]
        shown += [
            f"<tr><td>{by}: {escape(g.name)}<td>{g.documents}<td>{g.median:.4g}<td>{g.tail:.4g}<td>{g.beyond}"
            for g in groups[:_MOST_GROUPS]
        ]
        if len(groups) > _MOST_GROUPS:
            shown.append(f"<tr><td>{by}: {len(groups) - _MOST_GROUPS} more")
    tail = "99 %" if each.above else "1 %"
    return (
        f"<section><h2>{escape(each.score)}</h2>{_plot(each)}<p>{line}</p><p class=why>{escape(each.why)}</p>"
        f"<table><tr><th>quantile{heads}<tr><td>value{cells}</table>"
        f"<details><summary>By format, source and language</summary><table><tr><th>group<th>documents<th>median"
        f"<th>{tail}<th>beyond{''.join(shown)}</table></details></section>"
    )


def _plot(each: Distribution) -> str:
    """A histogram; heights by square root, so that a tail of one in a thousand is seen."""
    marks = [each.limit, *([each.suggested] if each.suggested is not None else [])]
    low, high = each.quantiles[0], each.quantiles[-1]
    first, last = min(low, *marks), max(high, *marks)
    scale = _WIDTH / (last - first or 1.0)
    most = max(each.bins) ** 0.5 or 1.0
    width = (high - low) / len(each.bins)
    bars = "".join(
        f'<rect x="{(low + number * width - first) * scale:.1f}" y="{_HEIGHT * (1 - count**0.5 / most):.1f}" '
        f'width="{max(width * scale - 1, 1.5):.1f}" height="{_HEIGHT * count**0.5 / most:.1f}"><title>{count}</title>'
        "</rect>"
        for number, count in enumerate(each.bins)
        if count
    )
    lines = "".join(
        f'<line class="{kind}" x1="{(at - first) * scale:.1f}" x2="{(at - first) * scale:.1f}" y1="0" y2="{_HEIGHT}"/>'
        for kind, at in zip(("now", "then"), marks, strict=False)
    )
    return (
        f'<svg width="{_WIDTH + 10}" height="{_HEIGHT + 4}" viewBox="-4 -2 {_WIDTH + 10} {_HEIGHT + 4}" role="img" '
        f'aria-label="histogram from {low:.4g} to {high:.4g}">{bars}{lines}</svg>'
    )
