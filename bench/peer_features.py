"""Which features the small files have, and how it is told whether they survive."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import peer_checks as c
from bench import peer_office, peer_texts


@dataclass(frozen=True)
class Feature:
    """One feature of one file."""

    file: str  # what the sample is called after the dot; its format is the last ending
    name: str
    check: c.Check


def _texts(file: str) -> list[Feature]:
    found = {
        "heading levels": c.levels("Upper heading", "Lower heading"),
        "numbers of a list from 4": c.numbered("fifth point", "5"),
        "cells in their rows": c.row("410", "420"),
        "header row": c.header_row("Region"),
        "merged cell once": c.once("Both years"),
        "merged cell's width": c.span("Both years"),
        "merged cell's height": c.span("Northland"),
        "footnote at its words": c.bound("The proven claim", "seen in the archive"),
        "revisions accepted": c.revised("words put in", "words taken out"),
        "comment": c.labelled("please check this", "comment"),
        "target of a link": c.link("the manual", "https://example.org/manual"),
        "hidden text marked": c.hidden("words out of sight"),
        "text box": c.once("words in a text box"),
        "content control": c.once("words in a control"),
        "alternative text": c.shown("drawing of a pump"),
        "title of a chart": c.shown("Yield by crop"),
        "values of a chart": c.row("Barley", "17"),
        "formula": c.shown("q^7", r"q\^\{7\}") if file == "docx" else c.shown("q"),
        "page header apart": c.furniture("Running head"),
        "page footer apart": c.furniture("Running foot"),
    }
    for name in _NOT_IN.get(file, ()):
        del found[name]
    return [Feature(file, name, check) for name, check in found.items()]


_NOT_IN = {
    "doc": ("formula", "content control", "alternative text"),
    "odt": ("formula", "content control"),
    "rtf": ("formula", "content control", "header row", "title of a chart", "values of a chart"),
    "ppt": ("comment", "alternative text"),
    "odp": ("comment",),
    "xls": ("values of a chart",),
}
"""What LibreOffice does not write into these files, or only as a picture."""


def _slides(file: str) -> list[Feature]:
    found = {
        "title of a slide": c.heading("Slide about pumps"),
        "points of a list": c.item("outer point"),
        "order as seen": c.order("first by place", "second by place"),
        "words in a group": c.shown("words in a group"),
        "cells in their rows": c.row("Left cell", "Right cell"),
        "merged cell once": c.once("Whole width"),
        "merged cell's width": c.span("Whole width"),
        "title of a chart": c.shown("Flow by pump"),
        "values of a chart": c.row("Ajax", "31"),
        "alternative text": c.shown("photo of a valve"),
        "target of a link": c.link("the guide", "https://example.org/guide"),
        "speaker's notes apart": c.labelled("words for the speaker", "note"),
        "comment": c.labelled("a remark on the slide", "comment"),
        "hidden slide marked": c.hidden("secret slide"),
    }
    for name in _NOT_IN.get(file, ()):
        del found[name]
    return [Feature(file, name, check) for name, check in found.items()]


def _sheets(file: str) -> list[Feature]:
    found = {
        "name of a sheet": c.heading("Depots"),
        "cells in their rows": c.row("Item", "Number"),
        "percent as shown": c.shown("12.5%", r"0\.125"),
        "date since 1904": c.shown("2013-07-07", "2009-07-0", "40000"),
        "thousands and decimals": c.shown("1,234.50", r"1234\.5"),
        "hours over a day": c.shown("36:00", r"12:00", r"\b1\.5\b"),
        "value of a formula": c.shown("1333.5", "SUM"),
        "error value": c.shown("#DIV/0!", "nan", "NaN"),
        "truth value": c.row("See there", "TRUE"),
        "merged cell once": c.once("Merged words"),
        "regions apart": c.header_row("Item"),
        "hidden sheet marked": c.hidden("Hidden sheet words"),
        "hidden row marked": c.hidden("Unseen"),
        "comment": c.labelled("opened late", "comment", "note"),
        "target of a link": c.link("See there", "https://example.org/there"),
        "defined name": c.shown("Total_income"),
        "title of a chart": c.shown("Costs by depot"),
        "values of a chart": c.row("Kiel", "41"),
    }
    for name in _NOT_IN.get(file, ()):
        del found[name]
    return [Feature(file, name, check) for name, check in found.items()]


def _mail(file: str) -> list[Feature]:
    found = {
        "subject": c.shown("Größe der Brücke", "GrÃ", r"=\?"),
        "sender": c.shown("Jörg Müller", r"=\?"),
        "sender's address": c.shown("jm@example.org"),
        "the letter": c.shown("words of the answer"),
        "quoted history apart": c.quoted("words of the question"),
        "attachment listed": c.shown("Maße.csv" if file == "eml" else "Masse.csv", r"=\?"),
    }
    if file == "eml":
        found["copies"] = c.shown("office@example.org")
        found["signature apart"] = c.labelled("Bridge office", "signature")
    return [Feature(file, name, check) for name, check in found.items()]


_RUSSIAN, _TORN = peer_texts.RUSSIAN[:40], "[ÀÁÂÃÄÅÆÇÈÉÊËàáâãäåæçèéêë]{3}|\ufffd"

FEATURES: tuple[Feature, ...] = (
    *(one for file in ("docx", "doc", "odt", "rtf") for one in _texts(file)),
    *(one for file in ("pptx", "ppt", "odp") for one in _slides(file)),
    *(one for file in ("xlsx", "xls", "ods") for one in _sheets(file)),
    *(one for file in ("eml", "msg") for one in _mail(file)),
    Feature("html", "heading levels", c.levels("Upper heading", "Lower heading")),
    Feature("html", "numbers of a list from 4", c.numbered("fifth point", "5")),
    Feature("html", "merged cell once", c.once("Both years")),
    Feature("html", "merged cell's width", c.span("Both years")),
    Feature("html", "target of a link", c.link("the manual", "https://example.org/manual")),
    Feature("html", "quotation", c.quoted("words of another")),
    Feature("html", "alternative text", c.shown("drawing of a pump")),
    Feature("html", "hidden text marked", c.hidden("words out of sight")),
    Feature("html", "menu apart", c.labelled("Menu entry one", "boilerplate", "furniture", "nav")),
    Feature("html", "windows-1251", c.shown(_RUSSIAN, _TORN)),
    Feature("epub", "order of the spine", c.order("words of chapter one", "words of chapter two")),
    Feature("epub", "heading levels", c.levels("Upper heading", "Lower heading")),
    Feature("epub", "footnote at its words", c.bound("The proven claim", "seen in the archive")),
    Feature("epub", "merged cell's width", c.span("Both years")),
    Feature("epub", "numbers of a list from 4", c.numbered("fourth point", "4")),
    Feature("epub", "alternative text", c.shown("drawing of a pump")),
    Feature("csv", "windows-1251", c.shown("Казань", _TORN)),
    Feature("csv", "semicolons", c.row("Москва", "12,5", "мост")),
    Feature("csv", "separator in a cell", c.row("Нижний; Новгород", "0,75")),
    Feature("csv", "header row after lines before it", c.header_row("Доля")),
    Feature("csv", "007 and NA stay", c.row("Казань", "007", "NA")),
    Feature("json", "large whole number", c.shown("12345678901234567890", r"1\.2345\d*e")),
    Feature("json", "equal objects as rows", c.row("Kiel", "0.125")),
    Feature("json", "names of values", c.shown("labour")),
    Feature("xml", "windows-1251", c.shown("Казань", _TORN)),
    Feature("xml", "attributes", c.shown("A17")),
    Feature("xml", "equal elements as rows", c.row("Москва", "410")),
    Feature("md", "heading levels", c.levels("Upper heading", "Lower heading")),
    Feature("md", "numbers of a list from 4", c.numbered("fifth point", "5")),
    Feature("md", "cells in their rows", c.row("Northland", "410")),
    Feature("md", "quotation", c.quoted("words of another")),
    Feature("md", "target of a link", c.link("the manual", "https://example.org/manual")),
    Feature("txt", "windows-1251", c.shown(_RUSSIAN, _TORN)),
    Feature("sjis.txt", "Shift-JIS", c.shown(peer_texts.JAPANESE[:30], _TORN)),
    Feature("ipynb", "heading", c.heading("Upper heading")),
    Feature("ipynb", "code", c.shown("print(6 * 7)")),
    Feature("ipynb", "what it printed", c.shown("the answer is 42")),
    Feature("pdf", "headings", c.heading("Upper heading")),
    Feature("pdf", "heading levels", c.levels("Upper heading", "Lower heading")),
    Feature(
        "pdf", "columns in order", c.order("left column tells in its line 19", "right column tells in its line 1 ")
    ),
    Feature("pdf", "divided word whole", c.joined("divided by the end", r"divi-?\s*(\n.*)?ded by the end")),
    Feature("pdf", "cells in their rows", c.row("Northland", "410", "420")),
    Feature("pdf", "numbers of a list", c.numbered("fifth point", "5")),
    Feature("pdf", "page header apart", c.furniture("Running head")),
    Feature("pdf", "page number apart", c.furniture("402")),
    Feature("pdf", "target of a link", c.link("the manual", "https://example.org/manual")),
    Feature("pdf", "note", c.labelled("please check this", "comment", "annot")),
    Feature("pdf", "invisible text not in the text", c.left_out("words out of sight")),
)


def make_samples(folder: Path, formats: list[str]) -> dict[str, Path]:
    """Writes the files with the features; by what they are called in FEATURES."""
    made = {}
    for name, write in (peer_office.FILES | peer_texts.FILES | peer_texts.MORE).items():
        if name.rpartition(".")[2] in {*formats, *(peer_office.CONVERTED.get(kind) for kind in formats)}:
            made[name] = folder / f"sample.{name}"
            made[name].write_bytes(write())
    for kind, origin in peer_office.CONVERTED.items():
        if kind in formats and peer_office.converted(kind, made[origin], folder / f"sample.{kind}"):
            made[kind] = folder / f"sample.{kind}"
    return {name: path for name, path in made.items() if name.rpartition(".")[2] in formats}
