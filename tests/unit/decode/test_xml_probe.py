"""Markup is told by its root element and namespace, HTML also where half of it was left out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.decode.xml_probe import late_html, markup
from tests.unit.decode.files import detected

DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'


def asked(text: str, name: str = "") -> str | None:
    kind = markup(text, text[-4096:], name)
    return kind.media_type if kind else None


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        (DECLARED + '<rss version="2.0"><channel/></rss>', "application/rss+xml"),
        (DECLARED + '<feed xmlns="http://www.w3.org/2005/Atom"/>', "application/atom+xml"),
        (DECLARED + '<a:feed xmlns:a="http://www.w3.org/2005/Atom"></a:feed>', "application/atom+xml"),
        (
            '<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
            "application/rss+xml",
        ),
        ('<article xmlns="http://docbook.org/ns/docbook"/>', "application/docbook+xml"),
        ('<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "x"><book/>', "application/docbook+xml"),
        (DECLARED + '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"/>',
         "application/x-fictionbook+xml"),
        ('<TEI xmlns="http://www.tei-c.org/ns/1.0"/>', "application/tei+xml"),
        ('<kml xmlns="http://www.opengis.net/kml/2.2"/>', "application/vnd.google-earth.kml+xml"),
        ('<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"/>', "application/gpx+xml"),
        ('<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"/>',
         "application/vnd.ms-wordml"),
        (DECLARED + '<?mso-application progid="Excel.Sheet"?>'
         '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>', "application/vnd.ms-spreadsheetml"),
        ('<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part pkg:contentType='
         '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></pkg:package>',
         "application/vnd.ms-word2006ml"),
        (
            '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
            'office:mimetype="application/vnd.oasis.opendocument.text"/>',
            "application/vnd.oasis.opendocument.text-flat-xml",
        ),
        ('<xfdf xmlns="http://ns.adobe.com/xfdf/"/>', "application/xfdf"),
        ('<svg:svg xmlns:svg="http://www.w3.org/2000/svg"/>', "image/svg+xml"),
        ('<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x" [ <!ENTITY a "b>c"> ]><svg/>', "image/svg+xml"),
        (DECLARED + '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html/>', "application/xhtml+xml"),
        ('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html><body>', "text/html"),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd"> <!-- > ]> -->]><r>&x;</r>', "application/xml"),
        ("<!-- a > b --><rows><row/></rows>", "application/xml"),
        ("<rows><row/></rows><!-- end --> \n", "application/xml"),
        ("<row/>", "application/xml"),
        ("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>B</TITLE>\n<H1>B</H1>\n<DL><p><DT>x</DL>", "text/html"),
        ("<h3 class='a'>Abschluss</h3>", "text/html"),
        ("<body bgcolor=white>", "text/html"),
        ("<!--[if gte mso 9]><xml></xml><![endif]--><p>a</p><p>b</p>", "text/html"),
        ("<plain words>", None),
        ("<a@example.org> wrote:\n> hello\n", None),
        ("<" + "x" * 5000, None),
    ],
)  # fmt: skip
def test_markup(text: str, media_type: str | None) -> None:
    assert asked(text) == media_type


def test_a_name_decides_between_html_and_xml_only_where_nothing_else_does() -> None:
    template = "<app-page title='x'><app-item/></app-page>"
    assert asked(template) == "application/xml"
    assert asked(template, "a.component.html") == "text/html"
    assert asked(DECLARED + "<app-page></app-page>", "a.html") == "application/xml"


def test_html_behind_other_text() -> None:
    page = "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n<!DOCTYPE html>\n<html><body>x</body></html>\n"
    kind = late_html(page, page, "")
    assert kind is not None
    assert kind.media_type == "text/html"
    about = "The tag <html> begins a page.\n<html>\nand so on\n"
    assert late_html(about, about, "") is None
    assert late_html(page, page, "readme.md") is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_any_encoding(tmp_path: Path, encoding: str) -> None:
    text = '<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News of the day</title></channel></rss>\n'
    assert detected(tmp_path, text.encode(encoding)).media_type == "application/rss+xml"


def test_html_stays_html_whatever_follows(tmp_path: Path) -> None:
    data = b"<html><head><title>x</title></head><body>" + bytes(range(256)) * 50
    assert detected(tmp_path, data, "a.pdf").media_type == "text/html"


@pytest.mark.parametrize(
    "text",
    [
        "<?a>" * 60_000,
        "<!-->" * 50_000,
        "<!DOCTYPE a [" + "] " * 100_000,
        "<a " + "b " * 100_000,
        "<a" * 100_000,
        "<r>" + " " * 200_000,
        "<r>" + "<!--" * 50_000,
        "<" + "r" * 200_000 + ">",
        "\n" * 10 + "<p " * 60_000,
    ],
)
def test_hostile_markup_costs_no_time(text: str) -> None:
    started = time.perf_counter()
    markup(text, text[-4096:], "")
    late_html(text, text[-4096:], "")
    assert time.perf_counter() - started < 1
