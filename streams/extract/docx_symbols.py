"""Symbol fonts keep letters where others have signs: their code points as Unicode."""

from __future__ import annotations

import re

_SYMBOL_ROWS = {
    0x20: " !∀#∃%&∋()∗+,−./0123456789:;<=>?",
    0x40: "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_",
    0x60: "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    0xA0: "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵",
    0xC0: "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓",
    0xE0: "◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪",
    0xF1: "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
}

SYMBOL = {start + at: sign for start, row in _SYMBOL_ROWS.items() for at, sign in enumerate(row)}
"""Adobe Symbol encoding."""

WINGDINGS = {
    0x20: " ",
    0x21: "✏",
    0x22: "✂",
    0x28: "☎",
    0x2A: "✉",
    0x36: "⌛",
    0x3F: "✍",
    0x45: "☜",
    0x46: "☞",
    0x47: "☝",
    0x48: "☟",
    0x4A: "☺",
    0x4C: "☹",
    0x6C: "●",
    0x6E: "■",
    0x6F: "□",
    0x71: "❑",
    0x74: "⧫",
    0x75: "◆",
    0x76: "❖",
    0x77: "⬥",
    0x80: "⓪",
    **{0x81 + at: chr(0x2460 + at) for at in range(10)},
    **{0x8C + at: chr(0x2776 + at) for at in range(10)},
    0x9E: "·",
    0x9F: "•",
    0xA1: "○",
    0xA7: "▪",
    0xA8: "◻",
    0xAA: "✦",
    0xAB: "★",
    0xD8: "➢",
    0xDF: "←",
    0xE0: "→",
    0xE1: "↑",
    0xE2: "↓",
    0xE8: "➔",
    0xEF: "⇦",
    0xF0: "⇨",
    0xFB: "✗",
    0xFC: "✓",
    0xFD: "☒",
    0xFE: "☑",
}

WINGDINGS2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x97: "•", 0xA3: "☐"}

_PRIVATE = re.compile("[\uf020-\uf0ff]")
_FONTS = {"symbol": SYMBOL, "wingdings": WINGDINGS, "wingdings 2": WINGDINGS2}


def is_symbol_font(font: str | None) -> bool:
    """Whether the letters of this font are not what their code points say."""
    return (font or "").strip().lower() in _FONTS


def symbol(font: str | None, code: int) -> str | None:
    """The sign that `font` shows at `code` (0x20..0xFF, or the same at U+F000 as Word stores it); null if unknown."""
    table = _FONTS.get((font or "").strip().lower())
    if 0xF000 <= code <= 0xF0FF:
        return table.get(code - 0xF000) if table else None
    if table and code <= 0xFF:
        return table.get(code)
    if 0x20 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
        return chr(code)
    return None


def readable(text: str, font: str | None) -> tuple[str, int]:
    """`text` with its private code points U+F020..F0FF mapped by `font`, and how many had no sign and are left out."""
    if _PRIVATE.search(text) is None:
        return text, 0
    out: list[str] = []
    lost = 0
    for sign in text:
        if "\uf020" <= sign <= "\uf0ff":
            mapped = symbol(font, ord(sign))
            lost += mapped is None
            out.append(mapped or "")
        else:
            out.append(sign)
    return "".join(out), lost
