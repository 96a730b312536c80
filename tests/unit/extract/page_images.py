"""Pictures of pages, set in a font that MuPDF brings along, so that every machine makes the same pixels."""

from __future__ import annotations

from pathlib import Path

import pymupdf
from PIL import Image

LETTER = (
    "Dear members of the harbour board, the divers have looked at the wall below the old crane. There is a crack of "
    "two metres below the water line, and three of the large stones beside it are loose. We advise to close the quay "
    "for lorries until the stones are fixed, and to measure the crack again in the spring."
)
REPLY = (
    "The board met on Tuesday and agrees with the advice. The quay is closed for lorries from Monday, and fishermen "
    "may use the northern stairs as before. The cost will be paid from the reserve of the harbour."
)
GERMAN = (
    "Sehr geehrte Damen und Herren, für die Überprüfung der Brücke benötigen wir die Pläne aus dem Jahr der Erbauung. "
    "Wir bitten Sie, uns diese möglichst bald zu schicken, damit die Arbeiten vor dem Winter beginnen können. "
    "Die Straße muss während der Prüfung für größere Fahrzeuge gesperrt werden."
)


def page(text: str = LETTER, *, title: str = "", size: float = 12, second: str = "") -> pymupdf.Document:
    """A PDF of one A4 page with a title and one or two columns of text."""
    document = pymupdf.open()
    sheet = document.new_page(width=595, height=842)
    if title:
        sheet.insert_text((72, 90), title, fontsize=size * 2, fontname="tibo")
    right = 285 if second else 520
    sheet.insert_textbox((72, 120, right, 700), text, fontsize=size, fontname="tiro")
    if second:
        sheet.insert_textbox((320, 120, 533, 700), second, fontsize=size, fontname="tiro")
    return document


def picture(document: pymupdf.Document, dpi: int = 300) -> Image.Image:
    """The first page of a PDF as a grey picture."""
    pixels = document[0].get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)
    return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)


def scan(path: Path, *images: Image.Image, texts: dict[int, str] | None = None, points: float = 72 / 300) -> Path:
    """A PDF whose pages are pictures; `texts` (page -> text) are pages with a text layer, put before the next one."""
    document = pymupdf.open()
    left = list(images)
    for number in range(1, len(images) + len(texts or {}) + 1):
        if texts and number in texts:
            document.new_page(width=595, height=842).insert_textbox((72, 72, 523, 770), texts[number], fontsize=12)
            continue
        image = left.pop(0)
        sheet = document.new_page(width=image.width * points, height=image.height * points)
        pixels = pymupdf.Pixmap(pymupdf.csGRAY, image.width, image.height, image.convert("L").tobytes(), False)
        sheet.insert_image(sheet.rect, pixmap=pixels)
    document.save(path)
    return path
