"""Makes small Word documents part by part, so that a test shows what is special about its file."""

from __future__ import annotations

import zipfile
from pathlib import Path

from streams.extract.docx import extract
from streams.extract.outcome import Draft, Request
from streams.records import Detection

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:r="{OFFICE}" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="House Chapter"/><w:basedOn w:val="H1"/></w:style>
<w:style w:type="paragraph" w:styleId="Section"><w:name w:val="House Section"/>
  <w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="TocHead"><w:name w:val="TOC Heading"/><w:basedOn w:val="H1"/>
  <w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="Caption"><w:name w:val="caption"/></w:style>
<w:style w:type="paragraph" w:styleId="Ghost"><w:name w:val="Ghost"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="LoopA"><w:name w:val="Loop A"/><w:basedOn w:val="LoopB"/></w:style>
<w:style w:type="paragraph" w:styleId="LoopB"><w:name w:val="Loop B"/><w:basedOn w:val="LoopA"/></w:style>
"""


def run(text: str, properties: str = "") -> str:
    """A run with one text."""
    rpr = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{rpr}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(content: str, style: str = "", properties: str = "") -> str:
    """A paragraph of runs; a text without markup becomes one run."""
    inner = content if content.startswith("<") or not content else run(content)
    ppr = (f'<w:pStyle w:val="{style}"/>' if style else "") + properties
    return f"<w:p><w:pPr>{ppr}</w:pPr>{inner}</w:p>" if ppr else f"<w:p>{inner}</w:p>"


def cell(content: str, properties: str = "") -> str:
    """A table cell."""
    inner = content if content.startswith("<") else paragraph(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    """A table row; texts become cells."""
    made = "".join(found if found.startswith("<") else cell(found) for found in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{made}</w:tr>"


def table(*rows: str, properties: str = "") -> str:
    """A table."""
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(rows)}</w:tbl>"


def make(
    path: Path,
    body: str,
    *,
    parts: dict[str, str | bytes] | None = None,
    related: dict[str, tuple[str, str]] | None = None,
    core: str = "",
    styles: str = STYLES,
) -> Path:
    """Writes a document. `parts`: more parts by name; `related`: id -> (kind, target), external if it has a colon."""
    links = {"rIdStyles": ("styles", "styles.xml"), **(related or {})}
    relationships = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if ":" in target else "/>")
        for key, (kind, target) in links.items()
    )
    package = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/>'
    files: dict[str, str | bytes] = {
        "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{PACKAGE}">{relationships}</Relationships>',
    }
    if core:
        kind = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
        package += f'<Relationship Id="r2" Type="{kind}" Target="docProps/core.xml"/>'
        files["docProps/core.xml"] = (
            '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
            f"{core}</cp:coreProperties>"
        )
    files["_rels/.rels"] = f'<Relationships xmlns="{PACKAGE}">{package}</Relationships>'
    files.update(parts or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def read(path: Path) -> Draft:
    """Extracts a file as the pipeline does."""
    return extract(Request(path=path, detection=Detection(media_type=MEDIA_TYPE, detected_by="test")))


def story(root: str, content: str) -> str:
    """Another part, e.g. `hdr` or `footnotes`."""
    return f"<w:{root} {NAMESPACES}>{content}</w:{root}>"
