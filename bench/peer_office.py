"""Office documents with known features, made by code, as complete as the programs themselves write them.

The XML is by hand, for the libraries that write such files can't write all of the features.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from bench.peer_package import CHART, OFFICE, PICTURE, TYPES, Links, Parts, chart, package
from streams.extract.tools import libreoffice
from tests.unit.extract import docx_files as w
from tests.unit.extract import pptx_files as p
from tests.unit.extract import sheet_files as x

# --- text ---------------------------------------------------------------------------------------------------------

_STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/>{more}</w:style>'
    for key, name, more in (
        ("Normal", "Normal", ""),
        ("Heading1", "heading 1", '<w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr>'),
        ("Heading2", "heading 2", '<w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr>'),
        ("ListParagraph", "List Paragraph", '<w:basedOn w:val="Normal"/>'),
        ("FootnoteText", "footnote text", '<w:basedOn w:val="Normal"/>'),
    )
)
_NUMBERING = (
    '<w:abstractNum w:abstractNumId="1"><w:multiLevelType w:val="multilevel"/><w:lvl w:ilvl="0"><w:start w:val="4"/>'
    '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
)
_LISTED = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'


def docx() -> bytes:
    """A Word document."""
    who = 'w:id="9" w:author="Ann" w:date="2024-05-02T10:00:00Z"'
    drawing = (
        '<w:r><w:drawing><wp:inline><wp:extent cx="900000" cy="900000"/><wp:docPr id="{0}" name="d{0}" descr="{1}"/>'
        '<a:graphic><a:graphicData uri="{2}">{3}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    )
    picture = (
        '<pic:pic><pic:nvPicPr><pic:cNvPr id="7" name="p"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip '
        'r:embed="image"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/>'
        '<a:ext cx="900000" cy="900000"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic>'
    )
    box = (
        '<w:r><w:pict><v:rect id="b" style="position:absolute;width:190pt;height:40pt"><v:textbox><w:txbxContent>'
        f"{w.paragraph('words in a text box')}</w:txbxContent></v:textbox></v:rect></w:pict></w:r>"
    )
    grid = '<w:tblGrid><w:gridCol w:w="2000"/><w:gridCol w:w="2000"/><w:gridCol w:w="2000"/></w:tblGrid>'
    heads = w.row(w.cell("Region"), w.cell("Both years", '<w:gridSpan w:val="2"/>'), properties="<w:tblHeader/>")
    table = w.table(
        heads,
        w.row(w.cell("Northland", '<w:vMerge w:val="restart"/>'), "410", "420"),
        w.row(w.cell("", "<w:vMerge/>"), "510", "520"),
    ).replace("</w:tblPr>", f"</w:tblPr>{grid}", 1)
    body = "".join(
        (
            w.paragraph("Upper heading", "Heading1"),
            w.paragraph(w.run("The proven claim") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + w.run(" stands.")),
            w.paragraph("Lower heading", "Heading2"),
            w.paragraph("fourth point", "ListParagraph", _LISTED),
            w.paragraph("fifth point", "ListParagraph", _LISTED),
            table,
            w.paragraph(
                f"<w:ins {who}>{w.run('words put in')}</w:ins>"
                f"<w:del {who}><w:r><w:delText>words taken out</w:delText></w:r></w:del>"
            ),
            w.paragraph(
                '<w:commentRangeStart w:id="1"/>' + w.run("A doubtful number.") + '<w:commentRangeEnd w:id="1"/>'
                '<w:r><w:commentReference w:id="1"/></w:r>'
            ),
            w.paragraph(f'<w:hyperlink r:id="link">{w.run("the manual")}</w:hyperlink>'),
            w.paragraph(w.run("words out of sight", "<w:vanish/>")),
            w.paragraph(box),
            f"<w:sdt><w:sdtContent>{w.paragraph('words in a control')}</w:sdtContent></w:sdt>",
            w.paragraph(drawing.format(5, "drawing of a pump", f"{p.A.rpartition('/')[0]}/picture", picture)),
            w.paragraph(drawing.format(6, "", CHART, f'<c:chart xmlns:c="{CHART}" r:id="chart"/>')),
            w.paragraph(
                "<m:oMath><m:sSup><m:e><m:r><m:t>q</m:t></m:r></m:e><m:sup><m:r><m:t>7</m:t></m:r></m:sup></m:sSup></m:oMath>"
            ),
            '<w:sectPr><w:headerReference w:type="default" r:id="header"/>'
            '<w:footerReference w:type="default" r:id="footer"/><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>',
        )
    )
    separators = "".join(
        f'<w:footnote w:id="{at}" w:type="{kind}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
        for at, kind in ((0, "separator"), (1, "continuationSeparator"))
    )
    noted = w.paragraph("<w:r><w:footnoteRef/></w:r>" + w.run(" seen in the archive"))
    note = f'<w:footnote w:id="2">{noted}</w:footnote>'
    remark = f'<w:comment w:id="1" w:author="Ann" w:initials="A">{w.paragraph("please check this")}</w:comment>'
    stories = {"footnotes": separators + note, "comments": remark, "numbering": _NUMBERING, "styles": _STYLES}
    parts: Parts = {
        f"word/{name}.xml": (f"wordprocessingml.{name}", w.story(name, inside)) for name, inside in stories.items()
    }
    parts["word/header.xml"] = ("wordprocessingml.header", w.story("hdr", w.paragraph("Running head")))
    parts["word/footer.xml"] = ("wordprocessingml.footer", w.story("ftr", w.paragraph("Running foot")))
    parts["word/chart.xml"] = ("drawingml.chart", chart("Yield by crop", "2031", {"Barley": "17", "Millet": "23"}))
    parts["word/document.xml"] = (
        "wordprocessingml.document.main",
        f"<w:document {w.NAMESPACES}><w:body>{body}</w:body></w:document>",
    )
    parts["word/image.png"] = ("image/png", PICTURE)
    links = {name: (name, f"{name}.xml") for name in (*stories, "header", "footer", "chart")}
    links["image"] = ("image", "image.png")
    links["link"] = ("hyperlink", "https://example.org/manual")
    return package(parts, {"word/document.xml": links}, "word/document.xml")


# --- slides -------------------------------------------------------------------------------------------------------


def pptx(copies: int = 0) -> bytes:
    """A presentation of two slides, the second hidden, and `copies` more of the first."""
    tree = (
        '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>'
        '<p:grpSpPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/><a:chOff x="0" y="0"/><a:chExt cx="0" cy="0"/>'
        "</a:xfrm></p:grpSpPr>"
    )

    def sheet(tag: str, shapes: str, more: str = "", attributes: str = "") -> str:
        plain = '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        numbered = shapes.replace("</p:spPr>", plain)
        for at in range(2, 40):
            numbered = numbered.replace('<p:cNvPr id="2"', f'<p:cNvPr id="{100 + at}"', 1)
        return f"<{tag} {p.NAMESPACES}{attributes}><p:cSld><p:spTree>{tree}{numbered}</p:spTree></p:cSld>{more}</{tag}>"

    colours = "".join(
        f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>'
        for name, value in zip(
            ("dk1", "lt1", "dk2", "lt2", *(f"accent{at}" for at in range(1, 7)), "hlink", "folHlink"),
            ["000000", "FFFFFF"] * 6,
            strict=True,
        )
    )
    fonts = '<a:latin typeface="Arial"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    theme = (
        f'<a:theme xmlns:a="{p.A}" name="t"><a:themeElements><a:clrScheme name="c">{colours}</a:clrScheme>'
        f'<a:fontScheme name="f"><a:majorFont>{fonts}</a:majorFont><a:minorFont>{fonts}</a:minorFont></a:fontScheme>'
        f'<a:fmtScheme name="s"><a:fillStyleLst>{fill * 3}</a:fillStyleLst><a:lnStyleLst>'
        f"{'<a:ln>' * 1}{fill}</a:ln><a:ln>{fill}</a:ln><a:ln>{fill}</a:ln></a:lnStyleLst><a:effectStyleLst>"
        f"{'<a:effectStyle><a:effectLst/></a:effectStyle>' * 3}</a:effectStyleLst><a:bgFillStyleLst>{fill * 3}"
        "</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
    )
    mapping = (
        '<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" '
        'accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/>'
    )
    title, body = (30, 20, 600, 60), (30, 100, 600, 60)
    grid = (
        '<a:tbl><a:tblPr firstRow="1"/><a:tblGrid><a:gridCol w="900000"/><a:gridCol w="900000"/></a:tblGrid>'
        f'<a:tr h="300000">{p.cell("Whole width", "gridSpan=" + chr(34) + "2" + chr(34))}'
        f"{p.cell('', 'hMerge=' + chr(34) + '1' + chr(34))}</a:tr>"
        f'<a:tr h="300000">{p.cell("Left cell")}{p.cell("Right cell")}</a:tr></a:tbl>'
    )
    linked = p.paragraph(p.run("the guide", '<a:hlinkClick r:id="link"/>'))
    shapes = "".join(
        (
            p.shape("second by place", (30, 300, 300, 30)),
            p.shape("first by place", (30, 200, 300, 30)),
            p.shape("Slide about pumps", title, "title"),
            p.shape(p.paragraph("outer point") + p.paragraph("inner point", level=1), body, "body:1"),
            p.group(
                p.shape("words in a group", (400, 200, 100, 30)),
                place=p.transform(
                    (400, 200, 100, 30), '<a:chOff x="5080000" y="2540000"/><a:chExt cx="1270000" cy="381000"/>'
                ),
            ),
            p.shape(linked, (400, 300, 100, 30)),
            p.picture((400, 350, 80, 80), 'descr="photo of a valve"').replace(
                "<p:blipFill/>", '<p:blipFill><a:blip r:embed="image"/></p:blipFill>'
            ),
            p.frame(grid, (30, 350, 300, 60)).replace("<a:graphicData>", f'<a:graphicData uri="{p.A[:-5]}/table">'),
            p.frame('<c:chart r:id="chart"/>', (30, 430, 300, 100)).replace(
                "<a:graphicData>", f'<a:graphicData uri="{CHART}">'
            ),
        )
    )
    back = p.shape("secret slide", title, "title") + p.shape("words of the secret slide", body, "body:1")
    notes = p.shape("words for the speaker", (30, 500, 600, 200), "body:1")
    holders = p.shape("", title, "title") + p.shape("", body, "body:1")
    bullets = '<a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr><a:lvl2pPr><a:buChar char="–"/></a:lvl2pPr>'
    layouts = (
        '<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="layout"/></p:sldLayoutIdLst><p:txStyles><p:titleStyle/>'
        f"<p:bodyStyle>{bullets}</p:bodyStyle></p:txStyles>"
    )
    remarks = (
        f'<p:cmLst {p.NAMESPACES}><p:cm authorId="0" dt="2024-05-02T10:00:00" idx="1"><p:pos x="1" y="1"/>'
        "<p:text>a remark on the slide</p:text></p:cm></p:cmLst>"
    )
    authors = (
        f'<p:cmAuthorLst {p.NAMESPACES}><p:cmAuthor id="0" name="Ann" initials="A" lastIdx="1" clrIdx="0"/>'
        "</p:cmAuthorLst>"
    )
    more = "".join(f'<p:sldId id="{300 + at}" r:id="more{at}"/>' for at in range(copies))
    main = (
        f'<p:presentation {p.NAMESPACES}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="master"/>'
        '</p:sldMasterIdLst><p:notesMasterIdLst><p:notesMasterId r:id="notes"/></p:notesMasterIdLst>'
        f'<p:sldIdLst><p:sldId id="256" r:id="one"/><p:sldId id="257" r:id="two"/>{more}</p:sldIdLst>'
        '<p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>'
    )
    kind = "presentationml."
    parts: Parts = {
        "ppt/presentation.xml": (kind + "presentation.main", main),
        "ppt/theme/theme1.xml": ("theme", theme),
        "ppt/theme/theme2.xml": ("theme", theme),
        "ppt/slideMasters/slideMaster1.xml": (kind + "slideMaster", sheet("p:sldMaster", holders, mapping + layouts)),
        "ppt/slideLayouts/slideLayout1.xml": (
            kind + "slideLayout",
            sheet("p:sldLayout", holders, attributes=' type="obj"'),
        ),
        "ppt/notesMasters/notesMaster1.xml": (kind + "notesMaster", sheet("p:notesMaster", "", mapping)),
        "ppt/slides/slide1.xml": (kind + "slide", sheet("p:sld", shapes)),
        "ppt/slides/slide2.xml": (kind + "slide", sheet("p:sld", back, attributes=' show="0"')),
        "ppt/notesSlides/notesSlide1.xml": (kind + "notesSlide", sheet("p:notes", notes)),
        "ppt/charts/chart1.xml": ("drawingml.chart", chart("Flow by pump", "2031", {"Ajax": "31", "Borealis": "37"})),
        "ppt/comments/comment1.xml": (kind + "comments", remarks),
        "ppt/media/image1.png": ("image/png", PICTURE),
        "ppt/commentAuthors.xml": (kind + "commentAuthors", authors),
    }
    layout = ("slideLayout", "../slideLayouts/slideLayout1.xml")
    links: dict[str, Links] = {
        "ppt/presentation.xml": {
            "master": ("slideMaster", "slideMasters/slideMaster1.xml"),
            "notes": ("notesMaster", "notesMasters/notesMaster1.xml"),
            "one": ("slide", "slides/slide1.xml"),
            "two": ("slide", "slides/slide2.xml"),
            "authors": ("commentAuthors", "commentAuthors.xml"),
            "theme": ("theme", "theme/theme1.xml"),
        },
        "ppt/slideMasters/slideMaster1.xml": {"layout": layout, "theme": ("theme", "../theme/theme1.xml")},
        "ppt/notesMasters/notesMaster1.xml": {"theme": ("theme", "../theme/theme2.xml")},
        "ppt/slideLayouts/slideLayout1.xml": {"master": ("slideMaster", "../slideMasters/slideMaster1.xml")},
        "ppt/slides/slide1.xml": {
            "layout": layout,
            "notes": ("notesSlide", "../notesSlides/notesSlide1.xml"),
            "chart": ("chart", "../charts/chart1.xml"),
            "comments": ("comments", "../comments/comment1.xml"),
            "link": ("hyperlink", "https://example.org/guide"),
            "image": ("image", "../media/image1.png"),
        },
        "ppt/slides/slide2.xml": {"layout": layout},
        "ppt/notesSlides/notesSlide1.xml": {
            "slide": ("slide", "../slides/slide1.xml"),
            "notes": ("notesMaster", "../notesMasters/notesMaster1.xml"),
        },
    }
    for at in range(copies):
        parts[f"ppt/slides/more{at}.xml"] = (kind + "slide", sheet("p:sld", shapes.replace("pumps", f"pumps {at}")))
        links["ppt/presentation.xml"][f"more{at}"] = ("slide", f"slides/more{at}.xml")
        first = links["ppt/slides/slide1.xml"]
        links[f"ppt/slides/more{at}.xml"] = {key: first[key] for key in ("layout", "chart", "link", "image")}
    return package(parts, links, "ppt/presentation.xml")


# --- sheets -------------------------------------------------------------------------------------------------------


def xlsx(more: int = 0) -> bytes:
    """A workbook that counts days from 1904, with its second sheet hidden, and `more` rows at the end of the first."""
    formats = ("0.0%", "yyyy-mm-dd", "#,##0.00", "[h]:mm")
    styles = (
        x.styles(*formats)
        .replace("<font/>", '<font><sz val="11"/><name val="Arial"/></font>', 1)
        .replace(
            "</fonts>",
            '</fonts><fills><fill><patternFill patternType="none"/></fill></fills>'
            "<borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>",
        )
    )
    data = x.rows(
        ["Depot", "Share", "Opened", "Income", "Hours"],
        ["Kiel", 0.125, 40000, 1234.5, 1.5],
        ["Ulm", 0.5, 40001, 99, 2],
        ["Unseen", 0.75, 40002, 98, 3],
        None,
        None,
        ["Merged words", None],
        None,
        ["Item", "Number"],
        ['<c r="A10" t="e"><v>#DIV/0!</v></c>', '<c r="B10"><f>SUM(D2:D3)</f><v>1333.5</v></c>'],
        ["See there", True],
        styles={(r, c): c for r in (1, 2, 3) for c in (1, 2, 3, 4)},
    ).replace('<row r="4">', '<row r="4" hidden="1">')
    long: list[list[x.Value] | None] = [[f"Depot {at}", at / 997, 40000 + at, at * 1.25, at / 24] for at in range(more)]
    data += x.rows(
        *long,
        first=20,
        styles={(20 + at, col): col for at in range(more) for col in (1, 2, 3, 4)},
    )
    first = x.sheet(
        data,
        after='<mergeCells count="1"><mergeCell ref="A7:C7"/></mergeCells><hyperlinks><hyperlink ref="A11" '
        'r:id="link"/></hyperlinks><drawing r:id="drawing"/><legacyDrawing r:id="vml"/>',
    )
    second = x.sheet(x.rows(["Hidden sheet words", 7]))
    entries = (
        '<sheets><sheet name="Depots" sheetId="1" r:id="one"/><sheet name="Back room" sheetId="2" state="hidden" '
        'r:id="two"/></sheets><definedNames><definedName name="Total_income">Depots!$B$10</definedName></definedNames>'
    )
    remark = (
        f'<comments xmlns="{x.MAIN}"><authors><author>Ann</author></authors><commentList><comment ref="A2" '
        'authorId="0"><text><r><t>opened late</t></r></text></comment></commentList></comments>'
    )
    anchor = (
        f'<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="{p.A}" '
        f'xmlns:r="{OFFICE}"><xdr:twoCellAnchor><xdr:from><xdr:col>6</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>1'
        "</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from><xdr:to><xdr:col>9</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>"
        '9</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:to><xdr:graphicFrame macro=""><xdr:nvGraphicFramePr><xdr:cNvPr '
        'id="2" name="c"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr><xdr:xfrm><a:off x="0" y="0"/><a:ext cx="9" '
        f'cy="9"/></xdr:xfrm><a:graphic><a:graphicData uri="{CHART}"><c:chart xmlns:c="{CHART}" r:id="chart"/>'
        "</a:graphicData></a:graphic></xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor></xdr:wsDr>"
    )
    vml = (
        '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:x="urn:schemas-microsoft-com:office:excel"><v:shape '
        'id="s1" type="#t"><x:ClientData ObjectType="Note"><x:Row>1</x:Row><x:Column>0</x:Column></x:ClientData>'
        "</v:shape></xml>"
    )
    kind = "spreadsheetml."
    parts: Parts = {
        "xl/workbook.xml": (
            kind + "sheet.main",
            f'<workbook xmlns="{x.MAIN}" xmlns:r="{OFFICE}"><workbookPr date1904="1"/>{entries}</workbook>',
        ),
        "xl/styles.xml": (kind + "styles", styles),
        "xl/worksheets/sheet1.xml": (kind + "worksheet", first),
        "xl/worksheets/sheet2.xml": (kind + "worksheet", second),
        "xl/comments1.xml": (kind + "comments", remark),
        "xl/drawings/drawing1.xml": ("drawing", anchor),
        "xl/drawings/vml1.vml": (f"{TYPES}.vmlDrawing", vml),
        "xl/charts/chart1.xml": ("drawingml.chart", chart("Costs by depot", "2031", {"Kiel": "41", "Ulm": "43"})),
    }
    links: dict[str, Links] = {
        "xl/workbook.xml": {
            "one": ("worksheet", "worksheets/sheet1.xml"),
            "two": ("worksheet", "worksheets/sheet2.xml"),
            "styles": ("styles", "styles.xml"),
        },
        "xl/worksheets/sheet1.xml": {
            "link": ("hyperlink", "https://example.org/there"),
            "comments": ("comments", "../comments1.xml"),
            "vml": ("vmlDrawing", "../drawings/vml1.vml"),
            "drawing": ("drawing", "../drawings/drawing1.xml"),
        },
        "xl/drawings/drawing1.xml": {"chart": ("chart", "../charts/chart1.xml")},
    }
    return package(parts, links, "xl/workbook.xml")


FILES = {"docx": docx, "pptx": pptx, "xlsx": xlsx}
CONVERTED = {
    "doc": "docx",
    "ppt": "pptx",
    "xls": "xlsx",
    "odt": "docx",
    "odp": "pptx",
    "ods": "xlsx",
    "rtf": "docx",
}
"""Made by LibreOffice of the others, so that they are as a program writes them."""
_FILTERS = {
    "docx": "MS Word 2007 XML",
    "pptx": "Impress MS PowerPoint 2007 XML",
    "xlsx": "Calc MS Excel 2007 XML",
}


def converted(kind: str, source: Path, target: Path) -> bool:
    """Writes `source` as another format; false without LibreOffice, which is what these are for."""
    if libreoffice.program() is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        made = libreoffice.convert(source, _FILTERS[CONVERTED[kind]], kind, Path(folder))
        shutil.copyfile(made, target)
    return True
