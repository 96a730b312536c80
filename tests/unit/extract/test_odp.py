"""OpenDocument presentations and drawings: pages as they stand, with notes, hidden slides and furniture."""

from __future__ import annotations

from pathlib import Path

from streams.extract.registry import plan
from streams.records import BlockKind, Detection, Dropped
from tests.unit.extract.odf_files import (
    BULLETS,
    PRESENTATION,
    flat,
    items,
    make,
    p,
    read,
    row,
    style,
    table,
    texts,
)

LAYOUT = (
    '<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="10in" fo:page-height="7.5in"/>'
    "</style:page-layout>"
)
MASTER = '<style:master-page style:name="M" style:page-layout-name="L">{}</style:master-page>'


def frame(content: str, place: tuple[float, float, float, float] | None = None, role: str = "", more: str = "") -> str:
    """A frame; a text becomes a text box. `place`: x, y, width, height in points."""
    x, y, width, height = place or (0, 0, 0, 0)
    at = f'svg:x="{x}pt" svg:y="{y}pt" svg:width="{width}pt" svg:height="{height}pt"' if place else ""
    kind = f'presentation:class="{role}"' if role else ""
    inside = content if content.startswith("<") else p(content)
    inside = inside if inside.startswith(("<table", "<draw")) else f"<draw:text-box>{inside}</draw:text-box>"
    return f"<draw:frame {at} {kind} {more}>{inside}</draw:frame>"


def page(inside: str, more: str = "") -> str:
    """A slide."""
    return f'<draw:page draw:master-page-name="M" {more}>{inside}</draw:page>'


def deck(path: Path, body: str, master: str = "", automatic: str = "") -> Path:
    """A presentation of 720 x 540 points."""
    return make(
        path,
        body,
        kind="presentation",
        page_layouts=LAYOUT,
        masters=MASTER.format(master),
        automatic=automatic + BULLETS,
    )


TITLE = frame("The tram depot", (50, 20, 600, 60), "title")


def test_a_slide_is_a_page_and_a_section_in_visual_order(tmp_path: Path) -> None:
    bullets = frame(items("first", "second", more='text:style-name="B"'), (50, 100, 300, 100), "outline")
    body = page(frame("below", (50, 400, 100, 20)) + bullets + TITLE) + page(frame("No title", (50, 50, 90, 20)))
    draft = read(deck(tmp_path / "a", body), PRESENTATION)
    assert [(b.kind, b.page, b.marker, b.text) for b in draft.blocks] == [
        (BlockKind.HEADING, 1, None, "The tram depot"),
        (BlockKind.LIST_ITEM, 1, "•", "first"),
        (BlockKind.LIST_ITEM, 1, "•", "second"),
        (BlockKind.PARAGRAPH, 1, None, "below"),
        (BlockKind.HEADING, 2, None, "Slide 2"),
        (BlockKind.PARAGRAPH, 2, None, "No title"),
    ]
    assert draft.blocks[0].bbox == (50.0, 20.0, 650.0, 80.0)
    assert [(one.number, one.width, one.height) for one in draft.pages] == [(1, 720, 540), (2, 720, 540)]
    assert (draft.title, draft.page_count) == ("The tram depot", 2)


def test_notes_hidden_slides_comments_and_prompts(tmp_path: Path) -> None:
    notes = (
        '<presentation:notes><draw:page-thumbnail presentation:class="page"/>'
        f"{frame('Speak slowly.', None, 'notes')}{frame('7', None, 'page-number')}</presentation:notes>"
    )
    prompt = frame("Click to add text", (50, 100, 90, 20), "outline", 'presentation:placeholder="true"')
    remark = f"<office:annotation><dc:creator>Ada</dc:creator>{p('Too long')}</office:annotation>"
    invisible = style("dp", '<style:drawing-page-properties presentation:visibility="hidden"/>', "drawing-page")
    body = page(TITLE + prompt + notes + remark) + page(frame("Backup", (5, 5, 9, 9), "title"), 'draw:style-name="dp"')
    draft = read(deck(tmp_path / "a", body, automatic=invisible), PRESENTATION)
    assert [(b.kind, b.marker, b.text) for b in draft.blocks] == [
        (BlockKind.HEADING, None, "The tram depot"),
        (BlockKind.FOOTNOTE, "Notes", "Speak slowly."),
        (BlockKind.COMMENT, None, "Ada: Too long"),
        (BlockKind.HEADING, None, "Backup"),
        (BlockKind.METADATA, None, "Hidden slide"),
    ]
    assert draft.refs == {1: 0, 2: 0, 4: 3}
    assert (draft.warnings, draft.metadata["hidden_slides"]) == (["hidden_slides"], "2")


def test_footers_and_texts_of_the_master_are_furniture(tmp_path: Path) -> None:
    declared = '<presentation:footer-decl presentation:name="f">Internal</presentation:footer-decl>'
    master = (
        frame("Depot Ltd", (0, 500, 90, 20)) + frame("<draw:image/>", (0, 0, 9, 9)) + frame("#", None, "page-number")
    )
    slides = page(TITLE, 'presentation:use-footer-name="f"') + page(TITLE)
    draft = read(deck(tmp_path / "a", declared + slides, master), PRESENTATION)
    assert [(b.kind, b.text, b.page) for b in draft.blocks] == [
        (BlockKind.HEADING, "The tram depot", 1),
        (BlockKind.PAGE_FOOTER, "Internal", 1),
        (BlockKind.BOILERPLATE, "Depot Ltd", 1),
        (BlockKind.HEADING, "The tram depot", 2),
    ]


def test_tables_groups_pictures_and_shapes(tmp_path: Path) -> None:
    grid = frame(
        table(row("Crew", "People"), row("Wire", "9"), more='table:use-first-row-styles="true"'), (50, 200, 300, 90)
    )
    inner = frame("right", (300, 102, 90, 20)) + frame("left", (50, 100, 90, 20))
    image = frame('<draw:image xlink:href="x.png"/><svg:desc>A tram</svg:desc>', (50, 400, 50, 50))
    place = 'svg:x="50pt" svg:y="480pt" svg:width="90pt" svg:height="20pt"'
    drawn = f"<draw:custom-shape {place}>{p('drawn')}</draw:custom-shape>"
    film = frame('<draw:plugin xlink:href="x.mp4"/>', (600, 480, 50, 20))
    body = page(TITLE + drawn + image + grid + f"<draw:g>{inner}</draw:g>" + film + frame("off", (900, 0, 9, 9)))
    draft = read(deck(tmp_path / "a", body), PRESENTATION)
    assert [(b.kind, b.text, b.hidden) for b in draft.blocks if not b.hidden] == [
        (BlockKind.HEADING, "The tram depot", False),
        (BlockKind.PARAGRAPH, "left", False),
        (BlockKind.PARAGRAPH, "right", False),
        (BlockKind.TABLE, "", False),
        (BlockKind.FIGURE, "A tram", False),
        (BlockKind.PARAGRAPH, "drawn", False),
    ]
    assert (draft.tables[0].header_rows, draft.tables[0].pages) == (1, [1])
    assert [b.text for b in draft.blocks if b.hidden] == ["off"]
    assert draft.dropped == [Dropped(what="media", count=1)]
    assert draft.warnings == ["hidden_text", "off_slide_text"]


def test_a_slide_without_words_gets_no_heading(tmp_path: Path) -> None:
    draft = read(deck(tmp_path / "a", page(frame('<draw:image xlink:href="x.png"/>', (5, 5, 9, 9)))), PRESENTATION)
    assert [(b.kind, b.text) for b in draft.blocks] == [(BlockKind.FIGURE, "")]


def test_drawings_and_flat_files(tmp_path: Path) -> None:
    drawing = page(frame("in a drawing", (5, 5, 9, 9)))
    assert texts(read(make(tmp_path / "a", drawing, kind="drawing"), PRESENTATION)) == ["Page 1", "in a drawing"]
    assert texts(read(flat(tmp_path / "b", page(TITLE), kind="presentation"), PRESENTATION)) == ["The tram depot"]


def test_the_page_limit_is_said(tmp_path: Path) -> None:
    draft = read(deck(tmp_path / "a", page(TITLE) * 5), PRESENTATION, max_pages=2)
    assert (len(draft.pages), draft.warnings) == (2, ["page_limit"])
    assert draft.dropped == [Dropped(what="slides_over_limit", count=3)]


def test_all_kinds_have_this_extractor() -> None:
    for kind in ("presentation", "presentation-template", "presentation-flat-xml", "graphics"):
        detection = Detection(media_type=f"application/vnd.oasis.opendocument.{kind}", detected_by="test")
        spec = plan(detection)
        assert spec is not None
        assert spec.name == "odp"
