"""Makes small presentations part by part, so that a test shows what is special about its file."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from streams.extract.outcome import Draft, Request
from streams.extract.pptx import extract
from streams.records import Detection

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
NAMESPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:a="{A}" xmlns:r="{OFFICE}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" '
    'xmlns:p14="http://schemas.microsoft.com/office/powerpoint/2010/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
EMU = 12_700


def run(text: str, properties: str = "") -> str:
    """A run of text."""
    return f"<a:r><a:rPr>{properties}</a:rPr><a:t>{text}</a:t></a:r>"


def paragraph(content: str, properties: str = "", level: int = 0) -> str:
    """A paragraph of runs; a text without markup becomes one run."""
    inner = content if content.startswith("<") or not content else run(content)
    return f'<a:p><a:pPr lvl="{level}">{properties}</a:pPr>{inner}</a:p>'


def transform(box: tuple[float, float, float, float] | None, more: str = "", tag: str = "a:xfrm") -> str:
    """Place and size in points."""
    if box is None:
        return ""
    x, y, width, height = (round(side * EMU) for side in box)
    return f'<{tag}><a:off x="{x}" y="{y}"/><a:ext cx="{width}" cy="{height}"/>{more}</{tag}>'


def shape(
    content: str,
    box: tuple[float, float, float, float] | None = None,
    placeholder: str = "",
    *,
    properties: str = "",
    inside: str = "",
    list_style: str = "",
) -> str:
    """A shape with text. `placeholder`: type, or type:idx; `properties`: attributes of p:cNvPr."""
    kind, _, index = placeholder.partition(":")
    mark = f'<p:ph type="{kind}"' + (f' idx="{index}"' if index else "") + "/>" if placeholder else ""
    text = content if content.startswith("<") or not content else paragraph(content)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x" {properties}>{inside}</p:cNvPr><p:cNvSpPr/><p:nvPr>{mark}</p:nvPr>'
        f"</p:nvSpPr><p:spPr>{transform(box)}</p:spPr>"
        f"<p:txBody><a:bodyPr/><a:lstStyle>{list_style}</a:lstStyle>{text}</p:txBody></p:sp>"
    )


def group(*shapes: str, properties: str = "", place: str = "") -> str:
    """A group of shapes. `place`: its a:xfrm."""
    return (
        f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="3" name="g" {properties}/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>'
        f"<p:grpSpPr>{place}</p:grpSpPr>{''.join(shapes)}</p:grpSp>"
    )


def picture(box: tuple[float, float, float, float] | None = None, properties: str = "", media: str = "") -> str:
    """A picture."""
    return (
        f'<p:pic><p:nvPicPr><p:cNvPr id="4" name="Picture 4" {properties}/><p:cNvPicPr/><p:nvPr>{media}</p:nvPr>'
        f"</p:nvPicPr><p:blipFill/><p:spPr>{transform(box)}</p:spPr></p:pic>"
    )


def frame(content: str, box: tuple[float, float, float, float] | None = None, properties: str = "") -> str:
    """A graphic frame: a table, chart, diagram."""
    return (
        f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="5" name="f" {properties}/><p:cNvGraphicFramePr/><p:nvPr/>'
        f"</p:nvGraphicFramePr>{transform(box, tag='p:xfrm')}"
        f"<a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def cell(text: str, attributes: str = "") -> str:
    """A cell of a table."""
    return f"<a:tc {attributes}><a:txBody><a:bodyPr/>{paragraph(text)}</a:txBody><a:tcPr/></a:tc>"


@dataclass
class Slide:
    """A slide to write: its shapes, and what hangs on it."""

    shapes: str
    attributes: str = ""
    notes: str = ""  # shapes of its notes page
    related: dict[str, tuple[str, str]] = field(default_factory=dict)


def make(
    path: Path,
    *slides: Slide | str,
    layout: str = "",
    master: str = "",
    text_styles: str = "",
    presentation: str = "",
    attributes: str = "",
    parts: dict[str, str | bytes] | None = None,
    related: dict[str, tuple[str, str]] | None = None,
) -> Path:
    """Writes a presentation of 720 x 540 points; texts are the shapes of a slide."""
    files: dict[str, str | bytes] = {
        "_rels/.rels": _relationships({"r1": ("officeDocument", "ppt/presentation.xml")}),
        "ppt/slideLayouts/l.xml": _sheet("p:sldLayout", layout),
        "ppt/slideLayouts/_rels/l.xml.rels": _relationships({"m": ("slideMaster", "../slideMasters/m.xml")}),
        "ppt/slideMasters/m.xml": _sheet("p:sldMaster", master, more=f"<p:txStyles>{text_styles}</p:txStyles>"),
    }
    listed = ""
    relationships = dict(related or {})
    for number, given in enumerate(slides, 1):
        slide = Slide(given) if isinstance(given, str) else given
        files[f"ppt/slides/s{number}.xml"] = _sheet("p:sld", slide.shapes, slide.attributes)
        links = {"l": ("slideLayout", "../slideLayouts/l.xml"), **slide.related}
        if slide.notes:
            links["n"] = ("notesSlide", f"../notesSlides/n{number}.xml")
            files[f"ppt/notesSlides/n{number}.xml"] = _sheet("p:notes", slide.notes)
        files[f"ppt/slides/_rels/s{number}.xml.rels"] = _relationships(links)
        relationships[f"s{number}"] = ("slide", f"slides/s{number}.xml")
        listed += f'<p:sldId id="{255 + number}" r:id="s{number}"/>'
    files["ppt/_rels/presentation.xml.rels"] = _relationships(relationships)
    files["ppt/presentation.xml"] = (
        f"<p:presentation {NAMESPACES} {attributes}><p:sldIdLst>{listed}</p:sldIdLst>"
        f'<p:sldSz cx="{720 * EMU}" cy="{540 * EMU}"/>{presentation}</p:presentation>'
    )
    files.update(parts or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _sheet(tag: str, shapes: str, attributes: str = "", more: str = "") -> str:
    return f"<{tag} {NAMESPACES} {attributes}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>{more}</{tag}>"


def _relationships(links: dict[str, tuple[str, str]]) -> str:
    inside = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if ":" in target else "/>")
        for key, (kind, target) in links.items()
    )
    return f'<Relationships xmlns="{PACKAGE}">{inside}</Relationships>'


def read(path: Path, max_pages: int = 10_000) -> Draft:
    """Extracts a file as the pipeline does."""
    detection = Detection(media_type=MEDIA_TYPE, detected_by="test")
    return extract(Request(path=path, detection=detection, max_pages=max_pages))


def texts(draft: Draft) -> list[str]:
    """Texts of the blocks, in order."""
    return [block.text for block in draft.blocks]
