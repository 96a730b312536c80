"""What survives of a feature in what a converter says: all, the words without the structure, nothing, or wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """From best to worst; what is said wrongly is worse than what is left out."""

    KEPT = "kept"
    PARTLY = "partly"
    LOST = "lost"
    WRONG = "wrong"


@dataclass(frozen=True)
class Said:
    """What a converter says of one file: `main` is its usual answer, `more` what else it knows."""

    main: str
    more: str = ""

    @property
    def all(self) -> str:
        return self.main + "\n" + self.more

    def lines(self) -> list[str]:
        """Lines and, of tables in HTML, rows."""
        return re.split(r"\n|(?=<tr)|<br>", self.all)


Check = Callable[[Said], Verdict]


def _graded(kept: object, partly: object) -> Verdict:
    return Verdict.KEPT if kept else Verdict.PARTLY if partly else Verdict.LOST


def levels(upper: str, lower: str) -> Check:
    """Two headings, the second one level below the first; at which level a converter starts is its own affair."""

    def found(text: str, words: str) -> int:
        match = re.search(rf"^[ >*]*(#+) .*{re.escape(words)}", text, re.MULTILINE)
        match = match or re.search(rf"<h([1-6])[^>]*>[^<]*{re.escape(words)}", text)
        return 0 if match is None else int(match[1]) if match[1].isdigit() else len(match[1])

    def check(said: Said) -> Verdict:
        pairs = [(found(text, upper), found(text, lower)) for text in (said.main, said.more)]
        kept = any(first and second == first + 1 for first, second in pairs)
        return _graded(kept, upper in said.all and lower in said.all)

    return check


def heading(words: str) -> Check:
    """A heading of any level."""
    return lambda said: _graded(
        re.search(rf"^#+ .*{re.escape(words)}|<h[1-6][^>]*>[^<]*{re.escape(words)}", said.all, re.MULTILINE),
        words in said.all,
    )


def numbered(words: str, number: str) -> Check:
    """A list item with its number as the document shows it; another number is wrong."""

    def check(said: Said) -> Verdict:
        found = re.search(rf"(?<!\w)(\w+)\\?[.)]\s+{re.escape(words)}", said.main)
        if found and found[1] != number:
            return Verdict.WRONG
        return _graded(found or re.search(rf"(?<!\w){number}[.)]\s+{re.escape(words)}", said.more), words in said.all)

    return check


def item(words: str) -> Check:
    """A list item."""
    return lambda said: _graded(
        re.search(rf"^\s*([-*•+]|\d+[.)])\s+{re.escape(words)}|<li>{re.escape(words)}", said.all, re.MULTILINE),
        words in said.all,
    )


def row(*cells: str) -> Check:
    """Cells in one row of a table, in their order."""

    def check(said: Said) -> Verdict:
        for line in said.lines():
            found = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) or line.split("|")
            rest = iter([re.sub(r"<[^>]+>|[*\\\\]", "", one).strip() for one in found])
            if len(found) > 1 and all(cell in rest for cell in cells):
                return Verdict.KEPT
        return _graded(False, all(cell in said.all for cell in cells))

    return check


def header_row(words: str) -> Check:
    """The first row of a table is told as its header."""
    return lambda said: _graded(
        re.search(rf"<th[^>]*>\s*(<p>)?{re.escape(words)}|\|[^\n]*{re.escape(words)}[^\n]*\|\n\|[ :|-]+\|", said.all),
        words in said.all,
    )


def span(words: str) -> Check:
    """A merged cell says how far it reaches."""
    return lambda said: _graded(
        re.search(rf'<t[dh][^>]*(?:col|row)span="?\d+"?[^>]*>\s*(<p>)?{re.escape(words)}', said.all), words in said.all
    )


def once(words: str) -> Check:
    """Said once; more often is wrong, unless a structured answer has it as a merged cell."""

    def check(said: Said) -> Verdict:
        count = said.main.count(words)
        if count > 1:
            return Verdict.KEPT if span(words)(said) is Verdict.KEPT else Verdict.WRONG
        return _graded(count, words in said.more)

    return check


def bound(claim: str, note: str) -> Check:
    """A note that says which words it belongs to, by a marker at both or by a reference."""

    def check(said: Said) -> Verdict:
        marker = re.search(rf"{re.escape(claim)}[*_]*\s?<?(?:sup>)?\\?\[?\^?\[?(\w+)\\?\]?", said.main)
        tied = marker and re.search(rf"\[\^?{marker[1]}\]:?[^\n]*{re.escape(note)}", said.all)
        linked = marker and re.search(
            rf"^(?:\d+|{marker[1]})[.)]?\s[^\n]*{re.escape(note)}[^\n]*#", said.all, re.MULTILINE
        )
        referred = re.search(rf"{re.escape(note)}[^\n]*\[of: [^\n]*{re.escape(claim)}", said.more)
        return _graded(tied or linked or referred, note in said.all)

    return check


def labelled(words: str, *labels: str) -> Check:
    """On a line that says what it is, by one of these labels; or in a comment of HTML; or under such a heading."""
    label = "|".join(labels)
    return lambda said: _graded(
        any(re.search(rf"(?i)(\[|<!--|\*)[^\]]*({label}).*{re.escape(words)}", line) for line in said.lines())
        or re.search(rf"(?is)\[(?:{label})[^\]]*\](?:(?!\n\[).)*{re.escape(words)}", said.more)
        or re.search(rf"(?i)^#+[^\n]*({label})[^\n]*\n+[^\n#]*{re.escape(words)}", said.main, re.MULTILINE),
        words in said.all,
    )


def hidden(words: str) -> Check:
    """There, and said to be hidden."""
    return lambda said: _graded(
        any(re.search(rf"(?i)(hidden|invisible|vanish).*{re.escape(words)}", line) for line in said.lines())
        or re.search(rf"(?is)\[hidden\] (?:(?!\n\[).)*{re.escape(words)}", said.more),
        words in said.all,
    )


def furniture(words: str) -> Check:
    """A running header or footer: labelled, and not in the main text."""

    def check(said: Said) -> Verdict:
        if labelled(words, "header", "footer", "furniture", "page_number")(said) is Verdict.KEPT:
            return Verdict.KEPT if words not in said.main else Verdict.PARTLY
        return _graded(False, words in said.all)

    return check


def quoted(words: str) -> Check:
    """Told apart from what the author says."""
    return lambda said: _graded(
        re.search(
            rf"(?i)^\s*>.*{re.escape(words)}|\[[^\]]*quot[^\]]*\][^\n]*{re.escape(words)}", said.all, re.MULTILINE
        )
        or re.search(rf"(?is)\[quote[^\]]*\](?:(?!\n\[).)*{re.escape(words)}", said.more),
        words in said.all,
    )


def revised(inserted: str, deleted: str) -> Check:
    """What was inserted is there, what was deleted is not (or is labelled so)."""

    def check(said: Said) -> Verdict:
        if deleted in said.main:
            return labelled(deleted, "del", "~~")(said) if inserted in said.main else Verdict.WRONG
        return Verdict.KEPT if inserted in said.main else Verdict.LOST

    return check


def shown(words: str, *wrong: str) -> Check:
    """As its reader sees it; one of the others is wrong."""

    def check(said: Said) -> Verdict:
        if words in said.all.replace("\\", ""):
            return Verdict.KEPT
        return Verdict.WRONG if any(re.search(one, said.all) for one in wrong) else Verdict.LOST

    return check


def link(words: str, target: str) -> Check:
    """A link with its target."""
    return lambda said: _graded(target in said.all, words in said.all)


def order(*words: str) -> Check:
    """In this order."""

    def check(said: Said) -> Verdict:
        places = [said.main.find(one) for one in words]
        if -1 in places:
            return Verdict.LOST
        return Verdict.KEPT if places == sorted(places) else Verdict.WRONG

    return check


def left_out(words: str) -> Check:
    """Not in the main text."""
    return lambda said: Verdict.WRONG if words in said.main else Verdict.KEPT


def joined(words: str, *torn: str) -> Check:
    """A word or line that the page divides is whole again; left divided it is there in part only."""
    return lambda said: _graded(words in said.all, any(re.search(one, said.all) for one in torn))
