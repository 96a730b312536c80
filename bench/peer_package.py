"""Packages of Open Packaging Conventions as Office writes them, with the types and links of all their parts."""

from __future__ import annotations

import base64

from demo.formats import packed

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
TYPES = "application/vnd.openxmlformats-officedocument"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
Parts = dict[str, tuple[str, str | bytes]]
"""Name of a part -> its type (below TYPES, or whole) and its XML, or bytes."""
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A PNG of one point."""
Links = dict[str, tuple[str, str]]
"""Id -> kind and target; external if it has a colon."""


def package(parts: Parts, links: dict[str, Links], main: str) -> bytes:
    """A package of Open Packaging Conventions. `links`: part -> its relationships; `main` is the part to start at."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{kind if "/" in kind else f"{TYPES}.{kind}+xml"}"/>'
        for name, (kind, _) in parts.items()
    )
    members: dict[str, bytes | str] = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{overrides}</Types>',
        "_rels/.rels": _relationships({"r1": ("officeDocument", main)}),
    }
    for part, found in links.items():
        folder, _, name = part.rpartition("/")
        members[f"{folder}/_rels/{name}.rels"] = _relationships(found)
    members |= {name: HEAD + part if isinstance(part, str) else part for name, (_, part) in parts.items()}
    return packed(members)


def _relationships(links: Links) -> str:
    inside = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if ":" in target else "/>")
        for key, (kind, target) in links.items()
    )
    return f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{inside}</Relationships>'


def chart(title: str, series: str, points: dict[str, str]) -> str:
    """A bar chart with the values that its program stored in it."""

    def cache(kind: str, values: list[str], code: str = "") -> str:
        listed = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
        return (
            f"<c:{kind}Ref><c:f>S!$A$1</c:f><c:{kind}Cache>{code}<c:ptCount val='{len(values)}'/>{listed}"
            f"</c:{kind}Cache></c:{kind}Ref>"
        )

    return (
        f'<c:chartSpace xmlns:c="{CHART}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"><c:chart><c:title><c:tx><c:rich>'
        f"<a:bodyPr/><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:layout/>"
        f'<c:barChart><c:barDir val="col"/><c:grouping val="clustered"/><c:ser><c:idx val="0"/><c:order val="0"/>'
        f"<c:tx>{cache('str', [series])}</c:tx><c:cat>{cache('str', list(points))}</c:cat>"
        f"<c:val>{cache('num', list(points.values()), '<c:formatCode>General</c:formatCode>')}</c:val></c:ser>"
        f'<c:axId val="1"/><c:axId val="2"/></c:barChart><c:catAx><c:axId val="1"/><c:scaling/><c:delete val="0"/>'
        f'<c:axPos val="b"/><c:crossAx val="2"/></c:catAx><c:valAx><c:axId val="2"/><c:scaling/><c:delete val="0"/>'
        f'<c:axPos val="l"/><c:crossAx val="1"/></c:valAx></c:plotArea></c:chart></c:chartSpace>'
    )
