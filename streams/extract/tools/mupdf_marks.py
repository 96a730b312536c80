"""What is laid over a PDF's page: annotations with text, form fields with their values, links.

Read from the objects themselves: MuPDF draws each annotation when it is asked for it, at 10 ms each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from pymupdf import mupdf

from streams.extract.boxes import Box

MOST = 10_000
"""Annotations of one page that are read; what comes after is left out, and said."""

_HIDDEN = 1 << 1 | 1 << 5  # annotation flags Hidden and NoView, ISO 32000-1, table 165
_PUSH_BUTTON, _PASSWORD = 1 << 16, 1 << 13  # field flags, tables 226 and 228
_MOST_PARENTS = 20  # a field's parents may be a circle


class Note(NamedTuple):
    """An annotation with text."""

    kind: str
    text: str
    author: str
    box: Box


class Field(NamedTuple):
    """A form field with a value."""

    name: str
    value: str
    box: Box


class LinkArea(NamedTuple):
    """A rectangle that leads somewhere: an address, a file, or `#page=3` or `#name` inside the document."""

    target: str
    box: Box


class Marks(msgspec.Struct, kw_only=True):
    """All that is laid over one page."""

    notes: list[Note] = []
    fields: list[Field] = []
    links: list[LinkArea] = []
    attachments: int = 0
    hidden: int = 0  # annotations and fields that no reader is shown
    more: int = 0  # annotations beyond MOST


def take_marks(page: Any, box: Callable[[Box], Box], page_number: Callable[[int], int | None]) -> Marks:
    """The marks of a page, which loses those whose text is taken: MuPDF draws them, and would tell it once more.

    What is drawn and says nothing itself, such as a stamp, stays. Nothing is changed in the file.

    Args:
        page: the object of the page (mupdf.PdfObj).
        box: gives the place of a box of user space (ISO 32000-1, 8.3.2.3) on the displayed page.
        page_number: number of the page whose object has this number, from 1.

    Raises:
        What pymupdf raises.
    """
    marks = Marks()
    annotations = mupdf.pdf_dict_gets(page, "Annots")
    count = int(mupdf.pdf_array_len(annotations))
    if not count:
        return marks
    marks.more = max(0, count - MOST)
    left = []
    for index in range(min(count, MOST)):
        annotation = mupdf.pdf_array_get(annotations, index)
        if not mupdf.pdf_is_dict(annotation):
            continue
        if not _is_taken(annotation, marks, box, page_number):
            left.append(annotation)
    kept = mupdf.pdf_new_array(mupdf.pdf_get_bound_document(page), max(1, len(left)))
    for annotation in left:
        mupdf.pdf_array_push(kept, annotation)
    mupdf.pdf_dict_puts(page, "Annots", kept)
    return marks


def _is_taken(
    annotation: Any, marks: Marks, box: Callable[[Box], Box], page_number: Callable[[int], int | None]
) -> bool:
    """Add what an annotation says to the marks; whether it said all that is drawn of it."""
    kind = _name(annotation, "Subtype")
    hidden = bool(_integer(annotation, "F") & _HIDDEN)
    if kind == "FileAttachment":
        marks.attachments += 1
    if kind == "Link":
        target = _target(annotation, page_number)
        if target:
            marks.links.append(LinkArea(target, box(_rectangle(annotation))))
        return True
    if kind == "Widget":
        field = _field(annotation)
        password = _is_password(annotation)
        if field is None:
            return password
        hidden = hidden or password
        if not hidden:
            marks.fields.append(Field(*field, box(_rectangle(annotation))))
    else:
        text = "" if kind == "Popup" else _text(annotation, "Contents")
        if not text:
            return kind == "Popup"
        if not hidden:
            marks.notes.append(Note(kind, text, _text(annotation, "T"), box(_rectangle(annotation))))
    marks.hidden += hidden
    return True


# --- fields: ISO 32000-1, 12.7 ---------------------------------------------------------------------------------------


def _field(widget: Any) -> tuple[str, str] | None:
    """Name and value of a field; None where it has no value or is a button."""
    kind = mupdf.pdf_to_name(_inherited(widget, "FT"))
    flags = int(mupdf.pdf_to_int(_inherited(widget, "Ff")))
    value = _inherited(widget, "V")
    shown = ""
    if kind == "Tx":
        shown = _said(value)
    elif kind == "Ch":
        options = _options(widget)
        chosen = _strings(value) if mupdf.pdf_is_array(value) else [_said(value)]
        shown = "\n".join(options.get(choice, choice) for choice in chosen if choice)
    elif kind == "Btn" and not flags & _PUSH_BUTTON:
        state = _name(widget, "AS")
        if state and state != "Off":
            shown = _options(widget).get(state, state)
    elif kind == "Sig" and mupdf.pdf_is_dict(value):
        shown = _text(value, "Name")
    if not shown.strip():
        return None
    # the label is what a reader is told; of a name like "form.page[0].city[0]" the last part says most
    label = _said(_inherited(widget, "TU"))
    return label or _said(_inherited(widget, "T")).split(".")[-1].split("[")[0].strip(), shown.strip()


def _is_password(widget: Any) -> bool:
    """Whether a reader is shown signs in place of what is typed, even if the file draws it (table 228)."""
    is_text = mupdf.pdf_to_name(_inherited(widget, "FT")) == "Tx"
    return is_text and bool(int(mupdf.pdf_to_int(_inherited(widget, "Ff"))) & _PASSWORD)


def _options(widget: Any) -> dict[str, str]:
    """What a reader is shown for each value (12.7.4.4); for buttons, values are positions in the list (12.7.4.2.3)."""
    found: dict[str, str] = {}
    options = _inherited(widget, "Opt")
    for index in range(min(int(mupdf.pdf_array_len(options)), MOST)):
        option = mupdf.pdf_array_get(options, index)
        if mupdf.pdf_is_array(option):
            pair = _strings(option)
            if len(pair) == 2:
                found.setdefault(pair[0], pair[1])
        else:
            found.setdefault(str(index), _said(option))
            found.setdefault(_said(option), _said(option))
    return found


def _strings(array: Any) -> list[str]:
    count = min(int(mupdf.pdf_array_len(array)), MOST)
    return [_said(mupdf.pdf_array_get(array, index)) for index in range(count)]


def _inherited(entry: Any, key: str) -> Any:
    """The value of a key of a field or of the nearest parent that has it."""
    for _ in range(_MOST_PARENTS):
        value = mupdf.pdf_dict_gets(entry, key)
        if not mupdf.pdf_is_null(value):
            return value
        entry = mupdf.pdf_dict_gets(entry, "Parent")
    return value


# --- links: ISO 32000-1, 12.3.2, 12.6.4 ------------------------------------------------------------------------------


def _target(link: Any, page_number: Callable[[int], int | None]) -> str:
    """Where a link leads; empty where that is no place: scripts, sounds, commands of the reader."""
    destination = mupdf.pdf_dict_gets(link, "Dest")
    action = mupdf.pdf_dict_gets(link, "A")
    kind = _name(action, "S")
    if kind == "URI":
        return _text(action, "URI")
    if kind in ("GoToR", "Launch"):
        file = mupdf.pdf_dict_gets(action, "F")
        return _text(file, "UF") or _text(file, "F") if mupdf.pdf_is_dict(file) else _said(file)
    if kind == "GoTo":
        destination = mupdf.pdf_dict_gets(action, "D")
    if mupdf.pdf_is_array(destination):
        number = page_number(int(mupdf.pdf_to_num(mupdf.pdf_array_get(destination, 0))))
        return f"#page={number}" if number else ""
    if mupdf.pdf_is_name(destination):
        return f"#{mupdf.pdf_to_name(destination)}"
    name = _said(destination)
    return f"#{name}" if name else ""


# --- values ----------------------------------------------------------------------------------------------------------


def _said(value: Any) -> str:
    """A string as text; of a stream, a name or a number what it holds; empty for everything else."""
    if mupdf.pdf_is_string(value):
        return str(mupdf.pdf_to_text_string(value)).strip()
    if mupdf.pdf_is_name(value):
        return str(mupdf.pdf_to_name(value))
    if mupdf.pdf_is_number(value):
        return f"{mupdf.pdf_to_real(value):g}"
    return ""


def _text(entry: Any, key: str) -> str:
    return _said(mupdf.pdf_dict_gets(entry, key))


def _name(entry: Any, key: str) -> str:
    return str(mupdf.pdf_to_name(mupdf.pdf_dict_gets(entry, key)))


def _integer(entry: Any, key: str) -> int:
    return int(mupdf.pdf_to_int(mupdf.pdf_dict_gets(entry, key)))


def _rectangle(entry: Any) -> Box:
    rect = mupdf.pdf_to_rect(mupdf.pdf_dict_gets(entry, "Rect"))
    return float(rect.x0), float(rect.y0), float(rect.x1), float(rect.y1)
