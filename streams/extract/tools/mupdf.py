"""MuPDF behind plain records: what extraction asks of pymupdf; all of its exceptions become ours here."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import pymupdf

from streams.errors import DocumentError
from streams.extract.boxes import Box
from streams.extract.tools import mupdf_covered, mupdf_layout, mupdf_trees, mupdf_vertical
from streams.extract.tools.mupdf_faults import FAULTS
from streams.extract.tools.mupdf_marks import Marks, take_marks

VERSION: str = str(pymupdf.VersionBind)

# Unknown glyphs stay U+FFFD: with TEXT_CID_FOR_UNKNOWN_UNICODE a broken font gives letters that look like text.
_TEXT = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_COLLECT_VECTORS
_SHOWN = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_CLIP | pymupdf.TEXT_PRESERVE_IMAGES
_MORE_THAN_TEXT = re.compile(rb"(?<![^\s\])>}])(?:W\*?|Do|BI|sh)(?![^\s/\[(<%])")  # operators of ISO 32000-1, annex A
_MOST_CHARACTERS = 500_000  # of one page: records of 3 million took 2.6 GB
_LONG_CONTENT = 4 * 1024 * 1024
_EOF_WINDOW = 2048  # Acrobat looks for %%EOF in the last 1,024 bytes (ISO 32000-1, implementation note 18); be generous
_ITALIC, _MONO, _BOLD = 1 << 1, 1 << 3, 1 << 4
_SUPERSCRIPT = 1 << 0
_BOLD_FONT, _ITALIC_FONT = (".B", ".BI"), (".I", ".BI")  # names that some publishers' programs give to subsets
_SYMBOLS = re.compile("symbol|dingbat|wingding|webding|marlett|icon|awesome", re.IGNORECASE)

T = TypeVar("T")


class PageError(Exception):
    """One page can't be read; the others may be."""


class Span(NamedTuple):
    """A run of one style. `visible` is false for render mode 3 and for full transparency."""

    text: str
    size: float
    font: str
    bold: bool
    italic: bool
    mono: bool
    superscript: bool
    visible: bool
    color: int  # 0xRRGGBB
    box: Box
    origin: tuple[float, float]


class RawLine(NamedTuple):
    """A line as MuPDF found it; `direction` is that of reading, as displayed (y grows downwards)."""

    spans: list[Span]
    box: Box
    direction: tuple[float, float]
    vertical: bool  # writing mode of the font


class Vector(NamedTuple):
    """A painted rectangle, or the box of a painted line."""

    box: Box
    color: int
    stroked: bool


class Word(NamedTuple):
    """A word with its position in the page's lines."""

    box: Box
    text: str


class PageRead(msgspec.Struct, frozen=True, kw_only=True):
    """All that one page holds."""

    width: float
    height: float
    rotation: int
    lines: list[RawLine]
    vectors: list[Vector]
    images: list[Box]
    shades: list[Box]  # colour gradients
    clipped: int  # characters that a clipping path hides
    covered: int = 0  # characters under a box that is painted later
    marks: Marks


def silence() -> None:
    """Keep MuPDF's warnings off stderr. Once per process is enough; more often is harmless."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    pymupdf.TOOLS.reset_mupdf_warnings()


def _call(what: Callable[[], T], problem: str, message: str) -> T:
    try:
        return what()
    except FAULTS as error:
        if "malloc" in str(error) or "out of memory" in str(error):
            raise MemoryError(str(error)) from error
        raise DocumentError(problem, f"{message}: {str(error).strip() or type(error).__name__}.") from error


class Pdf:
    """An open PDF. Pages are numbered from 1."""

    def __init__(self, document: Any, path: Path, *, anew: bool = False) -> None:
        self._document = document
        self._path = path
        self.anew = anew  # qpdf has written the file anew, for MuPDF could not read it
        self.repaired = bool(document.is_repaired)
        # the page that was read: number, page, text page of what is seen if there is one, has it vertical writing
        self._last: tuple[int, Any, Any, bool] | None = None
        self._asked = 0  # pieces of the pages whose tables the layout model was asked for
        self._other_words: tuple[int, list[Word]] | None = None
        self._numbers: dict[int, int] | None = None
        self.page_count = self._count()

    def close(self) -> None:
        """Let go of the file and of what MuPDF keeps of it."""
        self._last = None
        self._document.close()
        pymupdf.TOOLS.store_shrink(100)

    def _count(self) -> int:
        count = 0
        try:
            count = int(self._document.page_count)
            if count:
                self._document.load_page(0)
        except FAULTS:
            count = 0
        if count == 0:
            try:
                self.repaired |= mupdf_trees.rebuild(self._document, self._entry)
                count = int(self._document.page_count)
            except FAULTS:
                count = 0  # told as damage by whoever opens it
        return count

    def _entry(self, xref: int, key: str) -> tuple[str, str]:
        """Kind and value of an object's entry; null where it can't be read."""
        try:
            kind, value = self._document.xref_get_key(xref, key)
        except FAULTS:
            return "null", "null"
        return str(kind), str(value)

    @property
    def cut_off(self) -> bool:
        """No end-of-file mark or no pointer to the cross-reference where a whole file has them."""
        with self._path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _EOF_WINDOW))
            tail = file.read()
        return b"%%EOF" not in tail and b"startxref" not in tail

    def metadata(self) -> dict[str, str]:
        """The document information dictionary: title, author, subject, keywords, creator, producer, dates as stored."""
        found: dict[str, Any] = _call(lambda: self._document.metadata, "corrupt", "The information can't be read") or {}
        return {str(key): str(value) for key, value in sorted(found.items()) if value}

    def language(self) -> str | None:
        """`/Lang` of the catalog, as stored."""
        try:
            catalog = int(self._document.pdf_catalog())
        except FAULTS:
            return None
        kind, value = self._entry(catalog, "Lang")
        return value if kind == "string" else None

    def has_xfa(self) -> bool:
        """Whether it holds a form of Adobe's XML (ISO 32000-1, 12.7.8), which only few readers show."""
        try:
            catalog = int(self._document.pdf_catalog())
        except FAULTS:
            return False
        return self._entry(catalog, "AcroForm/XFA")[0] != "null"

    def outline(self) -> list[tuple[int, str, int]]:
        """(level, title, page) of each bookmark; empty when there is none or it can't be read."""
        try:
            return [(int(level), str(title), int(page)) for level, title, page, *_ in self._document.get_toc()]
        except FAULTS:
            return []

    def embedded_files(self) -> int:
        """Number of files attached to the document itself."""
        try:
            return int(self._document.embfile_count())
        except FAULTS:
            return 0

    def read(self, number: int) -> PageRead:
        """Text, vectors and images of page `number`. Raises PageError when it can't be read."""
        try:
            return self._read(number)
        except FAULTS as error:
            if "malloc" in str(error) or "out of memory" in str(error):
                raise MemoryError(str(error)) from error
            raise PageError(f"page {number}: {str(error).strip() or type(error).__name__}") from error

    def _read(self, number: int) -> PageRead:
        stored = self._stored(number)
        marks = take_marks(stored, _shown_place(stored), self._page_number)
        page = self._document.load_page(number - 1)
        rotation = int(page.rotation) % 360
        place = _Placement(page.rotation_matrix if rotation else None)
        everywhere = pymupdf.INFINITE_RECT()
        textpage = page.get_textpage(clip=everywhere, flags=_TEXT)
        if len(textpage.extractTEXT()) > _MOST_CHARACTERS:
            raise ValueError(f"more than {_MOST_CHARACTERS} characters")
        blocks = textpage.extractDICT()["blocks"]
        lines = list(_lines(blocks, place))
        painted: list[tuple[int, Box]] = []
        clipped = 0
        shown = textpage if all(block["type"] == 0 for block in blocks) else None  # a vector may part a word
        if _has_more_than_text(page):
            shown = page.get_textpage(clip=everywhere, flags=_SHOWN)
            painted = [(int(image["size"]), place.box(image["bbox"])) for image in shown.extractIMGINFO()]
            clipped = sum(len(span.text) for line in lines for span in line.spans) - _length(shown)
            if clipped > 0:  # the common page has nothing clipped and is not converted twice
                clear = _shown_textpage(page) if painted else shown  # dictionaries of pictures hold their bytes
                lines = list(_lines(clear.extractDICT()["blocks"], place))
        vertical = any(line.vertical for line in lines)
        covered = Counter() if vertical else mupdf_covered.covered(page, textpage, blocks)
        if covered:
            left, words = mupdf_covered.without(_shown_textpage(page), covered)
            lines = list(_lines(left if clipped > 0 else mupdf_covered.without(textpage, covered)[0], place))
            self.replace_words(number, [Word(place.box(word.box), word.text) for word in words])
        self._last = number, page, None if vertical else shown, vertical
        vectors = [
            Vector(place.box(block["bbox"]), int(block["color"]) & 0xFFFFFF, bool(block["stroked"]))
            for block in blocks
            if block["type"] == 3 and block.get("alpha", 255)
        ]
        return PageRead(
            width=float(page.rect.width),
            height=float(page.rect.height),
            rotation=rotation,
            lines=lines,
            vectors=vectors,
            images=[box for size, box in painted if size > 0],
            shades=[box for size, box in painted if size == 0],
            clipped=max(0, clipped),
            covered=sum(count for (char, _, _), count in covered.items() if char.strip()),
            marks=marks,
        )

    def words(self, number: int) -> list[Word]:
        """Visible words of page `number`, in the order of its lines."""
        if self._other_words is not None and self._other_words[0] == number:
            return self._other_words[1]
        try:
            page, shown, vertical = self._shown(number)
            place = _Placement(page.rotation_matrix if int(page.rotation) % 360 else None)
            moves = mupdf_vertical.vertical_lines(shown) if vertical else {}
            words = []
            for *box, text, block, line, _ in shown.extractWORDS():
                move = moves.get((block, line))
                words.append(Word(place.box(mupdf_vertical.moved(box, move) if move else box), text))
            return words
        except FAULTS as error:
            raise PageError(f"page {number}: {error}") from error

    def replace_words(self, number: int, words: list[Word]) -> None:
        """From now on until another page's are replaced, these are the words of page `number`."""
        self._other_words = number, words

    def page_alone(self, number: int) -> bytes:
        """A PDF of page `number` alone, without protection and marks, for other readers.

        Raises PageError when there is none, or when its streams inflate to more than a page of text may need.
        """
        try:
            return mupdf_trees.page_alone(self._document, number)
        except FAULTS as error:
            raise PageError(f"page {number}: {str(error).strip() or type(error).__name__}") from error

    def shown_place(self, number: int) -> Callable[[Box], Box]:
        """From user space to page `number` as displayed."""
        try:
            return _shown_place(self._stored(number))
        except FAULTS as error:
            raise PageError(f"page {number}: {error}") from error

    def unmapped_fonts(self, number: int) -> frozenset[str]:
        """Names of the fonts of page `number` whose codes nothing in the file explains, without subset prefixes.

        They are TrueType fonts with symbols of their own (ISO 32000-1, 9.6.6.4) that have neither an encoding nor a
        ToUnicode map. Codes of such a font are often letters all the same, and often not.
        """
        try:
            fonts = self._document.get_page_fonts(number - 1)
        except FAULTS:
            return frozenset()
        found = set()
        for xref, file_type, kind, name, _, encoding, *_ in fonts:
            if kind != "TrueType" or encoding or file_type == "n/a" or self._entry(xref, "ToUnicode")[0] != "null":
                continue
            flags = self._entry(xref, "FontDescriptor/Flags")[1]
            if flags.isdigit() and int(flags) & 4 and not _SYMBOLS.search(name):
                found.add(str(name).partition("+")[2] or str(name))
        return frozenset(found)

    def _stored(self, number: int) -> Any:
        """The object of a page."""
        mupdf = pymupdf.mupdf
        return mupdf.pdf_lookup_page_obj(mupdf.pdf_document_from_fz_document(self._document.this), number - 1)

    def _shown(self, number: int) -> tuple[Any, Any, bool]:
        """Page `number`, the text page of what is seen of it, and whether it may have vertical writing."""
        last = self._last if self._last and self._last[0] == number else None
        page, shown, vertical = last[1:] if last else (self._document.load_page(number - 1), None, True)
        return page, shown or _shown_textpage(page), vertical

    def _page_number(self, xref: int) -> int | None:
        """The number of the page that this object is."""
        if self._numbers is None:
            self._numbers = {int(self._document.page_xref(index)): index + 1 for index in range(self.page_count)}
        return self._numbers.get(xref)

    def laid_tables(self, number: int, turn: int, pieces: int) -> list[mupdf_layout.LaidTable]:
        """Tables of page `number` as the layout model sees them, with the page turned back by `turn` degrees.

        `pieces` is how many lines and vectors the page has: the answer's time and memory grow with them, so a page and
        a document may have no more than `streams.extract.tools.mupdf_layout` says. The count decides and no clock, for
        the same bytes must give the same canon.

        Raises LayoutMissing or LayoutFailed (the same module).
        """
        if pieces > mupdf_layout.MOST_OF_A_PAGE or self._asked + pieces > mupdf_layout.MOST_OF_A_DOCUMENT:
            raise mupdf_layout.LayoutFailed(f"page {number}: too much to ask the layout model")
        self._asked += pieces
        return mupdf_layout.find_tables(self._document, number, turn)


class _Placement:
    """From the page as stored to the page as displayed. pymupdf gives text as stored, before rotation."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = None if matrix is None else tuple(float(value) for value in matrix)

    def point(self, x: float, y: float) -> tuple[float, float]:
        if self._matrix is None:
            return x, y
        a, b, c, d, e, f = self._matrix
        return a * x + c * y + e, b * x + d * y + f

    def direction(self, dx: float, dy: float) -> tuple[float, float]:
        if self._matrix is None:
            return dx, dy
        a, b, c, d, _, _ = self._matrix
        return a * dx + c * dy, b * dx + d * dy

    def box(self, box: Any) -> Box:
        x0, y0, x1, y1 = box
        if self._matrix is None:
            return x0, y0, x1, y1
        (ax, ay), (bx, by) = self.point(x0, y0), self.point(x1, y1)
        return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def _lines(blocks: list[Any], place: _Placement) -> Iterator[RawLine]:
    for block in blocks:
        if block["type"] != 0:
            continue
        for line in block["lines"]:
            move = mupdf_vertical.to_glyphs(line) if line["wmode"] else None
            spans = [
                Span(
                    span["text"],
                    span["size"],
                    span["font"],
                    bool(span["flags"] & _BOLD)
                    or bool(span.get("char_flags", 0) & 8)
                    or span["font"].endswith(_BOLD_FONT),
                    bool(span["flags"] & _ITALIC) or span["font"].endswith(_ITALIC_FONT),
                    bool(span["flags"] & _MONO),
                    bool(span["flags"] & _SUPERSCRIPT),
                    span.get("alpha", 255) > 0,
                    span["color"] & 0xFFFFFF,
                    place.box(mupdf_vertical.moved(span["bbox"], move) if move else span["bbox"]),
                    place.point(*span["origin"]),
                )
                for span in line["spans"]
            ]
            yield RawLine(
                spans,
                place.box(mupdf_vertical.moved(line["bbox"], move) if move else line["bbox"]),
                place.direction(*line["dir"]),
                bool(line["wmode"]),
            )


def _has_more_than_text(page: Any) -> bool:
    """Whether the content may clip, or paint a picture or a gradient; a look at the operators is cheaper than a run.

    The content is inflated here, up to a limit: MuPDF would give all of it, and a stream of 40 KB may hold a gigabyte.
    """
    content = b""
    for xref in page.get_contents():
        coding = page.parent.xref_get_key(xref, "Filter")[1]
        if coding not in ("null", "/FlateDecode") or page.parent.xref_get_key(xref, "DecodeParms")[0] != "null":
            return True
        raw = page.parent.xref_stream_raw(xref)
        if coding != "null":
            try:
                raw = zlib.decompressobj().decompress(raw, _LONG_CONTENT)
            except zlib.error:
                return True
        content += b"\n" + raw
        if len(content) > _LONG_CONTENT:
            return True
    return _MORE_THAN_TEXT.search(content) is not None


def _shown_textpage(page: Any) -> Any:
    """The text that clipping paths leave."""
    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_CLIP
    return page.get_textpage(clip=pymupdf.INFINITE_RECT(), flags=flags)


def _length(textpage: Any) -> int:
    """Characters of a text page without the line ends that extractTEXT adds."""
    return len(textpage.extractTEXT().replace("\n", ""))


def _shown_place(stored: Any) -> Callable[[Box], Box]:
    """From user space (ISO 32000-1, 8.3.2.3) to the page as displayed, of the object of a page."""
    mupdf = pymupdf.mupdf
    matrix = mupdf.FzMatrix()
    mupdf.pdf_page_obj_transform(stored, mupdf.FzRect(mupdf.FzRect.Fixed_UNIT), matrix)

    def place(box: Box) -> Box:
        shown = mupdf.fz_transform_rect(mupdf.FzRect(*box), matrix)
        return float(shown.x0), float(shown.y0), float(shown.x1), float(shown.y1)

    return place


@contextmanager
def open_pdf(path: Path, *, anew: bool = False) -> Iterator[Pdf]:
    """Open the PDF at `path`; one in which MuPDF finds no page is written anew by qpdf first (`Pdf.anew`).

    Args:
        anew: have it written anew in any case.

    Raises:
        DocumentError: `encrypted` when it needs a password, `truncated` when it is cut off before anything that can be
            read, `corrupt` when it is no PDF or damaged beyond reading.
    """
    silence()
    if path.stat().st_size == 0:
        raise DocumentError("truncated", "The file has no bytes.")
    try:
        pdf = _opened(path, _written_anew(path) if anew else None)
    except DocumentError as error:
        if anew or error.problem == "encrypted":
            raise
        try:
            pdf = _opened(path, _written_anew(path))
        except DocumentError as other:
            raise (other if other.problem == "encrypted" else _damage(path, error)) from error
    try:
        yield pdf
    finally:
        pdf.close()


def _opened(path: Path, written: bytes | None) -> Pdf:
    document = _call(
        lambda: pymupdf.open(path, filetype="pdf") if written is None else pymupdf.open("pdf", written),
        "corrupt",
        "It can't be opened as a PDF",
    )
    try:
        if not document.is_pdf:  # MuPDF opens what the bytes are, whatever it is told
            raise DocumentError("corrupt", "It is no PDF.")
        if _call(lambda: bool(document.needs_pass), "corrupt", "Its protection can't be read"):
            raise DocumentError("encrypted", "It opens only with a password.")
        pdf = Pdf(document, path, anew=written is not None)
        if pdf.page_count == 0:
            raise DocumentError("corrupt", "It has no page that can be read.")
        return pdf
    except DocumentError:
        document.close()
        raise


def _written_anew(path: Path) -> bytes:
    from streams.extract.tools import pikepdf

    try:
        return pikepdf.repaired(path)
    except pikepdf.NotRepaired as error:
        raise DocumentError("corrupt", str(error)) from error


def _damage(path: Path, error: DocumentError) -> DocumentError:
    """The same error as `truncated` where the file has lost its end: no %%EOF and no startxref near it."""
    with path.open("rb") as file:
        head = file.read(_EOF_WINDOW)
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _EOF_WINDOW))
        tail = file.read()
    if b"%PDF-" in head and b"%%EOF" not in tail and b"startxref" not in tail:
        return DocumentError("truncated", "It is cut off before any page that can be read.")
    return error
