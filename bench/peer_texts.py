"""Web pages, mail, books, data and plain text with known features, made by code."""

from __future__ import annotations

import base64
import json
import tempfile
from email.message import EmailMessage
from pathlib import Path

import pymupdf

from tests.unit.decode.unpack import compounds
from tests.unit.extract import epub_files

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний."
JAPANESE = "いろはにほへと ちりぬるを。わかよたれそ つねならむ。うゐのおくやま けふこえて。日本語の文章です。"
PROSE = (
    "The committee met on a wet morning and heard how the bridge had been mended, what it had cost, and why the second "
    "estimate was lower than the first. Nobody asked for a third one, and the chairman thanked all who had come. "
)


def html() -> bytes:
    """A page in windows-1251 with navigation, a list from 4, merged cells, a quote and a hidden part."""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="windows-1251"><title>Bridge report</title></head><body>'
        '<nav><ul><li><a href="/a">Menu entry one</a></li><li><a href="/b">Menu entry two</a></li></ul></nav><main>'
        f'<h1>Upper heading</h1><p>{PROSE}</p><h2>Lower heading</h2><p>{PROSE}</p><ol start="4"><li>fourth point</li>'
        '<li>fifth point</li></ol><table><tr><th>Region</th><th colspan="2">Both years</th></tr><tr><td rowspan="2">'
        "Northland</td><td>410</td><td>420</td></tr><tr><td>510</td><td>520</td></tr></table>"
        '<p>See <a href="https://example.org/manual">the manual</a>.</p><blockquote>words of another</blockquote>'
        '<figure><img src="p.png" alt="drawing of a pump"><figcaption>The pump</figcaption></figure>'
        f'<p style="display:none">words out of sight</p><pre>if a:\n    b()</pre><p>{RUSSIAN}</p></main>'
        "<footer>Imprint of the company</footer></body></html>"
    )
    return page.encode("cp1251")


def _letter() -> EmailMessage:
    letter = EmailMessage()
    letter["From"] = "Jörg Müller <jm@example.org>"
    letter["To"] = "Ann Bell <ann@example.org>"
    letter["Cc"] = "Office <office@example.org>"
    letter["Subject"] = "Größe der Brücke"
    letter["Date"] = "Thu, 02 May 2024 10:00:00 +0200"
    letter["Message-ID"] = "<m1@example.org>"
    return letter


def eml() -> bytes:
    """A letter with an answer over what it answers, a signature, and an attachment."""
    letter = _letter()
    text = (
        f"Hello Ann,\n\nwords of the answer.\n{PROSE}\n\n-- \nJörg Müller\nBridge office\n\n"
        "On Wed, 1 May 2024 at 09:00, Ann Bell <ann@example.org> wrote:\n> words of the question\n> and more of it\n"
    )
    letter.set_content(text, charset="iso-8859-1")
    letter.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="Maße.csv")
    return letter.as_bytes()


def msg() -> bytes:
    """The same letter as Outlook stores it."""
    texts: dict[int, str | bytes] = {
        0x0037: "Größe der Brücke",
        0x1000: f"Hello Ann,\r\n\r\nwords of the answer.\r\n{PROSE}\r\n\r\n"
        "-----Original Message-----\r\nFrom: Ann Bell\r\n"
        "Sent: Wednesday, May 1, 2024 9:00 AM\r\nTo: Jörg Müller\r\nSubject: Bridge\r\n\r\nwords of the question\r\n",
        0x0C1A: "Jörg Müller",
        0x0C1F: "jm@example.org",
        0x0E04: "Ann Bell",
        0x001A: "IPM.Note",
    }
    attached = compounds.attachment({0x3705: 1}, {0x3707: "Masse.csv", 0x3704: "Masse.csv"}, b"a,b\n1,2\n")
    tree = dict(compounds.message(attached, numbers={0x340D: 0x40000}))
    for number, value in texts.items():
        raw = value.encode("utf-16-le") if isinstance(value, str) else value
        tree[f"__substg1.0_{number:04X}001F"] = raw
    head = bytes(8) + (1).to_bytes(4, "little") * 4 + bytes(8)
    entries = b"".join(
        ((number << 16) | 0x1F).to_bytes(4, "little")
        + (6).to_bytes(4, "little")
        + (len(text) * 2 + 2).to_bytes(8, "little")
        for number, text in texts.items()
    )
    tree["__properties_version1.0"] = head + entries
    return compounds.compound(tree)


def epub() -> bytes:
    """A book of two chapters whose files lie in another order than its spine."""
    first = (
        "<h1>Upper heading</h1><p>The proven claim<a epub:type='noteref' href='#n1'>1</a> stands.</p>"
        "<aside epub:type='footnote' id='n1'><p>seen in the archive</p></aside><h2>Lower heading</h2>"
        "<table><tr><th>Region</th><th colspan='2'>Both years</th></tr>"
        "<tr><td>Northland</td><td>410</td><td>420</td></tr>"
        "</table><p><img src='p.png' alt='drawing of a pump'/></p><p>words of chapter one</p>"
    )
    second = "<h1>Second chapter</h1><p>words of chapter two</p><ol start='4'><li>fourth point</li></ol>"
    entries = "<li><a href='z.xhtml'>Upper heading</a></li><li><a href='a.xhtml'>Second</a></li>"
    nav = f"<nav epub:type='toc'><ol>{entries}</ol></nav>"
    return epub_files.book(
        {"z.xhtml": epub_files.page(first), "a.xhtml": epub_files.page(second), "nav.xhtml": epub_files.page(nav)},
        manifest=epub_files.item("one", "z.xhtml")
        + epub_files.item("two", "a.xhtml")
        + epub_files.item("nav", "nav.xhtml", more='properties="nav"'),
        spine="one two",
    )


def csv() -> bytes:
    """A table with lines before it, semicolons, decimal commas and a line end in a cell, in windows-1251."""
    lines = ["Выгрузка от 02.05.2024", "", "Город;Доля;Примечание"]
    lines += ["Москва;12,5;мост", '"Нижний; Новгород";0,75;"две\nстроки"', "Казань;007;NA"]
    lines += [f"Город {at};{at},25;Съешь ещё этих булок" for at in range(12)]
    return ("\r\n".join(lines) + "\r\n").encode("cp1251")


def json_() -> bytes:
    """Nested objects, a list of equal objects, a large whole number."""
    value = {
        "report": {"title": "Bridge report", "cost": {"labour": 410, "steel": 12345678901234567890}},
        "depots": [{"name": "Kiel", "share": 0.125}, {"name": "Ulm", "share": 0.5}],
        "open": None,
    }
    return json.dumps(value, ensure_ascii=False).encode()


def xml() -> bytes:
    """Data with attributes, character data, and an encoding that only its declaration tells."""
    text = (
        '<?xml version="1.0" encoding="windows-1251"?><orders><order id="A17"><city>Москва</city><price currency="RUB">'
        '410</price></order><order id="B23"><city>Казань</city><price currency="EUR">520</price></order></orders>'
    )
    return text.encode("cp1251")


def md() -> bytes:
    """Markdown with front matter."""
    return (
        "---\ntitle: Bridge report\nauthor: Ann Bell\n---\n\n# Upper heading\n\n" + PROSE + "\n\n## Lower heading\n\n"
        "4. fourth point\n5. fifth point\n\n| Region | Sum |\n|---|---|\n| Northland | 410 |\n\n> words of another\n\n"
        "See [the manual](https://example.org/manual).\n\n```\nif a:\n    b()\n```\n"
    ).encode()


def txt() -> bytes:
    """Russian in windows-1251, which nothing in the file says."""
    return (f"{RUSSIAN}\n" * 3).encode("cp1251")


def sjis() -> bytes:
    """Japanese in Shift-JIS."""
    return (f"{JAPANESE}\n" * 3).encode("shift_jis")


def ipynb() -> bytes:
    """A notebook: text, code, what it printed, and a picture that is no text."""
    picture = base64.b64encode(bytes(400)).decode()
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Upper heading\n", "words of the text\n"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "source": ["print(6 * 7)"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["the answer is 42\n"]},
                {"output_type": "display_data", "metadata": {}, "data": {"image/png": picture}},
            ],
        },
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def pdf() -> bytes:
    """Three pages: running heads, page numbers, two columns, a divided word, a ruled table, a link, invisible text."""
    with pymupdf.open() as document:
        for number in range(1, 4):
            page = document.new_page(width=595, height=842)
            page.insert_text((72, 40), "Running head", fontsize=8)
            page.insert_text((290, 815), str(400 + number), fontsize=8)
            if number == 1:
                page.insert_text((72, 90), "Upper heading", fontsize=22, fontname="hebo")
                page.insert_textbox((72, 110, 523, 200), PROSE, fontsize=10)
                page.insert_text((72, 215), "Lower heading", fontsize=15, fontname="hebo")
                for column, words in enumerate(("left", "right")):
                    lines = [f"The {words} column tells in its line {at} of bridges" for at in range(1, 20)]
                    if not column:
                        lines[8:10] = [
                            "The left column has a word that is divi-",
                            "ded by the end of its line and goes on",
                        ]
                    for at, line in enumerate(lines):
                        page.insert_text((72 + 235 * column, 240 + 13 * at), line, fontsize=9)
                page.insert_text((72, 780), "words out of sight", fontsize=9, render_mode=3)
            elif number == 2:
                page.insert_textbox((72, 80, 523, 160), PROSE, fontsize=10)
                page.insert_text((72, 170), "Table 1: Yield of two depots", fontsize=9)
                for at, cells in enumerate(
                    (("Region", "First", "Second"), ("Northland", "410", "420"), ("Southland", "510", "520"))
                ):
                    for column, cell in enumerate(cells):
                        box = pymupdf.Rect(72 + 120 * column, 180 + 20 * at, 192 + 120 * column, 200 + 20 * at)
                        page.draw_rect(box)
                        page.insert_text((box.x0 + 5, box.y1 - 6), cell, fontsize=10)
                for at, point in enumerate(("4. fourth point", "5. fifth point")):
                    page.insert_text((90, 280 + 14 * at), point, fontsize=10)
            else:
                page.insert_textbox((72, 80, 523, 160), PROSE, fontsize=10)
                page.insert_text((72, 180), "the manual", fontsize=10)
                page.insert_link(
                    {
                        "kind": pymupdf.LINK_URI,
                        "from": pymupdf.Rect(72, 168, 125, 184),
                        "uri": "https://example.org/manual",
                    }
                )
                note = page.add_text_annot((300, 300), "please check this")
                note.set_info(title="Ann")
                note.update()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.pdf"
            document.save(path, deflate=True, no_new_id=True)
            return path.read_bytes()


FILES = {
    "html": html,
    "eml": eml,
    "msg": msg,
    "epub": epub,
    "csv": csv,
    "json": json_,
    "xml": xml,
    "md": md,
    "txt": txt,
    "ipynb": ipynb,
    "pdf": pdf,
}
MORE = {"sjis.txt": sjis}
"""Files beside the first one of a format."""
