r"""LaTeX as text: headings, paragraphs, lists, code and formulas; its commands are resolved where a reader sees text.

No macro is run: what the document defines for itself stays as it is written.
"""

from __future__ import annotations

import re
import unicodedata

from streams.extract.outcome import Draft, Request
from streams.extract.text import source_text
from streams.records import Block, BlockKind, BlockSource

MAX_ARGUMENT = 5000
"""Characters of an argument in braces; a longer one is not looked for."""
MAX_UNCLOSED = 100
"""Headings without a closing brace, until none is looked for any more."""

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*(?:\n[ \t]*)?")
_LEVELS = {
    "part": 1,
    "chapter": 1,
    "section": 1,
    "subsection": 2,
    "subsubsection": 3,
    "paragraph": 4,
    "subparagraph": 5,
}
_CODE = frozenset({"verbatim", "lstlisting", "minted", "Verbatim", "alltt"})
_FORMULAS = frozenset({"equation", "align", "eqnarray", "gather", "multline", "displaymath", "math"})
_PIECES = re.compile(
    rf"\\(?P<heading>{'|'.join(_LEVELS)})\*?\s*(?:\[[^\]]{{0,300}}\])?(?=\{{)"
    r"|\\(?P<caption>caption)\*?\s*(?:\[[^\]]{0,300}\])?(?=\{)"
    r"|\\(?P<item>item)(?![A-Za-z])\s*(?:\[(?P<term>[^\]]{0,300})\])?"
    r"|\\(?P<edge>begin|end)\{(?P<name>[^{}\n]{1,60})\}"
    r"|(?P<open>\\\[|\$\$)"
    r"|(?P<gap>\n[ \t]*\n\s*)"
)
_BRACE = re.compile(r"(?<!\\)[{}]")
_ACCENT = re.compile(
    r"""\\(?:(['`^"~=.])\s{0,9}\{?\s?\\?([A-Za-z])\}?|([uvHckr])(?:\{\\?([A-Za-z])\}|\s{1,9}([A-Za-z])(?![A-Za-z])))"""
)
_MARKS = dict(
    zip("'`^\"~=.uvHckr", "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a", strict=True)
)
_SYMBOLS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł",
    "i": "ı", "dots": "…", "ldots": "…", "textellipsis": "…", "textendash": "–", "textemdash": "—", "LaTeX": "LaTeX",
    "TeX": "TeX", "S": "§", "P": "¶", "pounds": "£", "euro": "€", "copyright": "©", "textbackslash": "\\", "quad": " ",
    "qquad": " ", "newline": "\n", "textquoteright": "’", "textquoteleft": "‘", "guillemotleft": "«",
    "guillemotright": "»", "par": "\n", "maketitle": "", "tableofcontents": "", "centering": "", "noindent": "",
    "newpage": "", "clearpage": "", "hline": "", "appendix": "", "bigskip": "", "medskip": "", "smallskip": "",
}  # fmt: skip
_SYMBOL = re.compile(r"\\([A-Za-z]+)(?![A-Za-z])[ \t]?(?:\{\})?")
_NO_TEXT = re.compile(
    r"\\(?:label|index|vspace|hspace|bibliographystyle|bibliography|pagestyle|thispagestyle|usepackage|input|include|"
    r"includegraphics|setlength|setcounter|addtocounter|hyphenation|newcommand|renewcommand|graphicspath)\*?"
    r"(?:\[[^\]\n]{0,500}\])?(?:\{[^{}\n]{0,500}\}){1,2}"
)
_REFERENCE = re.compile(
    r"\\(?:cite[a-z]*|ref|eqref|pageref|autoref|cref)\*?(?:\[[^\]\n]{0,200}\]){0,2}\{([^{}\n]{1,500})\}"
)
_HREF = re.compile(r"\\href\{([^{}\n]{1,1000})\}")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\]\n]{0,300}\])?[ \t]?(?=\{)")
_PLAIN_SPECIAL = re.compile(r"\\([%&_#${}])")
_META = re.compile(r"\\(title|author|date)\s*(?:\[[^\]]{0,300}\])?(?=\{)")


def extract(request: Request) -> Draft:
    """The blocks of a LaTeX source; what stands above `\\begin{document}` is one block of code.

    Errors: none of its own. Comments are no text of the document and are left out.
    """
    text, warnings, metadata = source_text(request, "utf-8")
    start = text.find("\\begin{document}")
    preamble, body = (text[:start], text[start + 16 :]) if start >= 0 else ("", text)
    end = body.find("\\end{document}")
    body = body if end < 0 else body[:end]
    said = _said(_COMMENT.sub(r"\1", preamble), {}) if preamble else {}
    reader = _Reader()
    if preamble.strip():
        reader.block(BlockKind.CODE, preamble.strip())
    said = _said(body, said)
    if said.get("title"):
        reader.block(BlockKind.TITLE, said["title"])
    reader.read(body)
    authors = [name.strip() for name in re.split(r"\\and\b|\n|,(?= )", said.get("author", "")) if name.strip()]
    return Draft(blocks=reader.blocks, title=said.get("title"), authors=authors, warnings=warnings, metadata=metadata)


def _said(text: str, known: dict[str, str]) -> dict[str, str]:
    """Title and authors by their commands; the first of each counts."""
    found = dict(known)
    for match in _META.finditer(text):
        if match[1] not in found and (inside := _braces(text, match.end())) is not None:
            found[match[1]] = plain(inside[0].replace("\\and", "\n").replace("\\\\", "\n")).strip()
    return found


def _braces(text: str, at: int) -> tuple[str, int] | None:
    """What stands in the braces that open at `at`, and where they end."""
    depth = 0
    for brace in _BRACE.finditer(text, at, at + MAX_ARGUMENT):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[at + 1 : brace.start()], brace.end()
    return None


class _Reader:
    """Goes once over the source, from piece to piece."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._lists: list[list[int]] = []  # of each open list its kind (1: numbered) and its count
        self._marker: str | None = None
        self._missing: set[str] = set()
        self._unclosed = 0

    def block(self, kind: BlockKind, text: str, level: int | None = None, marker: str | None = None) -> None:
        if text.strip():
            self.blocks.append(Block(kind=kind, text=text, level=level, marker=marker, source=BlockSource.MARKUP))

    def read(self, text: str) -> None:
        at = 0
        while (match := _PIECES.search(text, at)) is not None:
            self._text(text[at : match.start()])
            at = match.end()
            if match["heading"] or match["caption"]:
                inside = _braces(text, at) if self._unclosed < MAX_UNCLOSED else None
                self._unclosed += inside is None
                if inside is not None:
                    at = inside[1]
                    what = BlockKind.HEADING if match["heading"] else BlockKind.CAPTION
                    self.block(what, plain(_COMMENT.sub(r"\1", inside[0])), _LEVELS.get(match["heading"] or ""))
            elif match["item"]:
                self._item(match["term"])
            elif match["open"]:
                at = self._raw(BlockKind.FORMULA, text, at, "$$" if match["open"] == "$$" else "\\]")
            elif match["edge"] == "begin" and match["name"] in _CODE:
                at = self._raw(BlockKind.CODE, text, at, f"\\end{{{match['name']}}}")
            elif match["edge"] == "begin" and match["name"].rstrip("*") in _FORMULAS:
                at = self._raw(BlockKind.FORMULA, text, at, f"\\end{{{match['name']}}}")
            elif match["edge"]:
                self._edge(match["edge"], match["name"])
            else:
                self._marker = None
        self._text(text[at:])

    def _raw(self, kind: BlockKind, text: str, at: int, end: str) -> int:
        """What stands before `end`, as it is; where reading goes on. An end that is missing is looked for once."""
        found = -1 if end in self._missing else text.find(end, at)
        if found < 0:
            self._missing.add(end)
            return at
        self.block(kind, text[at:found].strip("\n") if kind is BlockKind.CODE else text[at:found].strip())
        return found + len(end)

    def _item(self, term: str | None) -> None:
        if self._lists:
            self._lists[-1][1] += 1
        numbered = bool(self._lists) and self._lists[-1][0] == 1
        self._marker = plain(term) if term else f"{self._lists[-1][1]}." if numbered else "•"

    def _edge(self, edge: str, name: str) -> None:
        if name in ("itemize", "enumerate", "description"):
            if edge == "begin":
                self._lists.append([int(name == "enumerate"), 0])
            elif self._lists:
                self._lists.pop()
            self._marker = None

    def _text(self, source: str) -> None:
        text = plain(_META.sub("", _COMMENT.sub(r"\1", source)) if "%" in source or "\\" in source else source).strip()
        if not text:
            return
        if self._marker is not None:
            self.block(BlockKind.LIST_ITEM, text, max(1, len(self._lists)), self._marker)
            self._marker = None
        else:
            self.block(BlockKind.PARAGRAPH, text)


def plain(text: str) -> str:
    """A piece of source as a reader sees it; inline formulas stay as they are written."""
    parts = re.split(r"(?<!\\)(\$[^$\n]{1,1000}\$)", text)
    return "".join(part if number % 2 else _resolved(part) for number, part in enumerate(parts))


def _accented(match: re.Match[str]) -> str:
    mark, letter = match[1] or match[3], match[2] or match[4] or match[5]
    return unicodedata.normalize("NFC", letter + _MARKS[mark])


def _resolved(text: str) -> str:
    text = _NO_TEXT.sub("", text)
    text = _REFERENCE.sub(r"[\1]", text)
    text = _HREF.sub(r"\1 ", text)
    text = _ACCENT.sub(_accented, text)
    text = _SYMBOL.sub(lambda m: _SYMBOLS.get(m[1], m[0]), text)
    text = _COMMAND.sub("", text)
    text = text.replace("\\\\", "\n").replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”")
    text = re.sub(r"(?<!\\)[{}]", "", text.replace("~", "\u00a0"))
    text = _PLAIN_SPECIAL.sub(r"\1", text)
    return re.sub(r"[ \t]*\n[ \t]*", "\n", text)
