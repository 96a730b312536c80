"""Word stores no list numbers, only rules for counting: this counts as Word does (ECMA-376 part 1, 17.9)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from lxml import etree

from streams.extract.docx_symbols import is_symbol_font, symbol
from streams.extract.ooxml import attr, child, children, number, switched_on, value

LEVELS = 9
_LOWER_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_CHINESE = "〇一二三四五六七八九"


@dataclass(frozen=True)
class Level:
    """How one level of a list counts and looks."""

    start: int = 1
    number_format: str = "decimal"
    text: str = ""
    restart: int | None = None  # 0: never; n: when a level up to n was used; null: after any higher level
    legal: bool = False  # all numbers in it as decimals
    font: str | None = None
    style: str | None = None  # paragraphs of this style stand on this level
    picture: bool = False


@dataclass
class _List:
    abstract: int
    levels: dict[int, Level]
    restarts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """The numbering part with its counters; one per document, asked in the order of the paragraphs."""

    def __init__(self, root: etree._Element | None) -> None:
        self._lists: dict[int, _List] = {}
        self._counts: dict[int, list[int | None]] = {}
        self._begun: set[tuple[int, int]] = set()
        self.approximated = 0  # markers in a number format that is shown as decimal instead
        if root is not None:
            self._read(root)

    def _read(self, root: etree._Element) -> None:
        abstracts: dict[int, dict[int, Level]] = {}
        links: dict[int, str] = {}
        linked: dict[str, int] = {}
        for name, element in children(root):
            if name != "w:abstractNum":
                continue
            identifier = _number_of(attr(element, "w:abstractNumId"))
            if identifier is None:
                continue
            abstracts[identifier] = _levels(element)
            link, target = value(child(element, "w:numStyleLink")), value(child(element, "w:styleLink"))
            if link:
                links[identifier] = link
            if target:
                linked.setdefault(target, identifier)
        for name, element in children(root):
            if name != "w:num":
                continue
            identifier = _number_of(attr(element, "w:numId"))
            abstract = number(child(element, "w:abstractNumId"))
            if identifier is None or abstract is None:
                continue
            abstract = linked.get(links.get(abstract, ""), abstract)
            entry = _List(abstract, dict(abstracts.get(abstract, {})))
            for tag, override in children(element):
                ilvl = _number_of(attr(override, "w:ilvl")) if tag == "w:lvlOverride" else None
                if ilvl is None or not 0 <= ilvl < LEVELS:
                    continue
                level = child(override, "w:lvl")
                if level is not None:
                    entry.levels[ilvl] = _level(level)
                start = number(child(override, "w:startOverride"))
                if start is not None:
                    entry.restarts[ilvl] = start
                    entry.levels[ilvl] = replace(entry.levels.get(ilvl, Level()), start=start)
            self._lists[identifier] = entry

    def add(self, num_id: int, abstract: int, levels: dict[int, Level], restarts: dict[int, int]) -> None:
        """A list of a format that has no numbering part. Lists with the same `abstract` count on together."""
        self._lists[num_id] = _List(abstract, levels, restarts)

    def forget(self, abstract: int) -> None:
        """The next paragraph of these lists is their first."""
        self._counts.pop(abstract, None)

    def level_of_style(self, num_id: int, chain: tuple[str, ...]) -> int | None:
        """The level that is bound to one of these styles, nearest style first."""
        levels = self._lists[num_id].levels if num_id in self._lists else {}
        for style in chain:
            for ilvl, level in sorted(levels.items()):
                if level.style == style:
                    return ilvl
        return None

    def marker(self, num_id: int, ilvl: int) -> str | None:
        """Counts one paragraph and gives its marker as shown: `3.`, `b)`, `•`; null where none is shown."""
        entry = self._lists.get(num_id)
        if entry is None:
            return None
        ilvl = min(max(ilvl, 0), LEVELS - 1)
        level = entry.levels.get(ilvl, Level())
        counts = self._counts.setdefault(entry.abstract, [None] * LEVELS)
        if ilvl in entry.restarts and (num_id, ilvl) not in self._begun:
            counts[ilvl] = None
        self._begun.add((num_id, ilvl))
        before = counts[ilvl]
        counts[ilvl] = level.start if before is None else before + 1
        for deeper in range(ilvl + 1, LEVELS):
            restart = entry.levels.get(deeper, Level()).restart
            if restart is None or ilvl < restart:
                counts[deeper] = None
        return self._shown(entry, level, counts) or None

    def _shown(self, entry: _List, level: Level, counts: list[int | None]) -> str:
        if level.picture:
            return "•"
        if level.number_format == "bullet":
            return bullet(level.text, level.font)

        def count(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            if not 0 <= at < LEVELS:
                return ""
            other = entry.levels.get(at, Level())
            current = counts[at]
            shown, exact = formatted(
                other.start if current is None else current, "decimal" if level.legal else other.number_format
            )
            self.approximated += not exact
            return shown

        return re.sub(r"%(\d)", count, level.text).strip()


def bullet(text: str, font: str | None) -> str:
    """A bullet as shown: code points of symbol fonts become signs, unknown ones a plain bullet."""
    if not text:
        return ""
    out = [
        (symbol(font, ord(sign)) or "•") if is_symbol_font(font) or "\uf000" <= sign <= "\uf0ff" else sign
        for sign in text
    ]
    return "".join(out).strip() or "•"


def formatted(count: int, number_format: str) -> tuple[str, bool]:
    """`count` in one of the formats of ST_NumberFormat, and whether it is that format or decimal in its place."""
    plain = str(count)
    match number_format:
        case "decimal" | "decimalHalfWidth":
            return plain, True
        case "none":
            return "", True
        case "decimalZero":
            return plain.zfill(2), True
        case "lowerLetter" | "upperLetter":
            letters = _letters(count, "abcdefghijklmnopqrstuvwxyz")
            return (letters if number_format == "lowerLetter" else letters.upper()) or plain, bool(letters)
        case "russianLower" | "russianUpper":
            letters = _letters(count, _LOWER_RUSSIAN)
            return (letters if number_format == "russianLower" else letters.upper()) or plain, bool(letters)
        case "lowerRoman" | "upperRoman":
            roman = _roman(count)
            return (roman.lower() if number_format == "lowerRoman" else roman) or plain, bool(roman)
        case "ordinal":
            return plain + _ordinal_suffix(count), True
        case "numberInDash":
            return f"- {plain} -", True
        case "decimalEnclosedCircle" | "decimalEnclosedCircleChinese" if 1 <= count <= 20:
            return chr(0x2460 + count - 1), True
        case "decimalFullWidth":
            return "".join(chr(0xFF10 + int(digit)) for digit in plain if digit.isdigit()), count >= 0
        case "chineseCounting" | "chineseCountingThousand" | "japaneseCounting" | "ideographDigital" if (
            1 <= count < 100
        ):
            return _chinese(count), True
        case "chicago" if count > 0:
            return "*†‡§"[(count - 1) % 4] * min((count - 1) // 4 + 1, 20), True
        case _:
            return plain, False


def _letters(count: int, alphabet: str) -> str:
    """a, b, … z, aa, bb, …: Word repeats the letter."""
    if not 1 <= count <= 20 * len(alphabet):
        return ""
    return alphabet[(count - 1) % len(alphabet)] * ((count - 1) // len(alphabet) + 1)


def _roman(count: int) -> str:
    if not 1 <= count < 5000:
        return ""
    out = ""
    for worth, sign in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        out += sign * (count // worth)
        count %= worth
    return out


def _ordinal_suffix(count: int) -> str:
    if count % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")


def _chinese(count: int) -> str:
    tens, ones = divmod(count, 10)
    if not tens:
        return _CHINESE[ones]
    return (_CHINESE[tens] if tens > 1 else "") + "十" + (_CHINESE[ones] if ones else "")


def _levels(element: etree._Element) -> dict[int, Level]:
    found: dict[int, Level] = {}
    for name, level in children(element):
        ilvl = _number_of(attr(level, "w:ilvl")) if name == "w:lvl" else None
        if ilvl is not None and 0 <= ilvl < LEVELS:
            found[ilvl] = _level(level)
    return found


def _level(element: etree._Element) -> Level:
    fonts = child(child(element, "w:rPr"), "w:rFonts")
    start, text = number(child(element, "w:start")), child(element, "w:lvlText")
    return Level(
        start=0 if start is None else start,  # 17.9.25: absent means 0
        number_format=value(child(element, "w:numFmt")) or "decimal",
        text=(value(text) or "")[:64],
        restart=number(child(element, "w:lvlRestart")),
        legal=bool(switched_on(child(element, "w:isLgl"))),
        font=None if fonts is None else attr(fonts, "w:ascii") or attr(fonts, "w:hAnsi"),
        style=value(child(element, "w:pStyle")),
        picture=child(element, "w:lvlPicBulletId") is not None,
    )


def _number_of(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,9}", text) else None
