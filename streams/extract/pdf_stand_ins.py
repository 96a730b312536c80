"""A line that stands for a table or a figure takes the place of the text inside, so that nothing is told twice."""

from __future__ import annotations

from streams.extract.boxes import Box
from streams.extract.pdf_lines import Line, PageLines, stands_in


def replace(lines: PageLines, box: Box, inside: list[Line], table: int = -1, figure: int = -1) -> None:
    """Put one line in the place of all lines of the box, whatever their direction."""
    frame, group = lines.groups[0]
    size = min((line.size for line in inside), default=10.0)
    gone = {id(line) for line in inside}
    u0, v0, u1, v1 = box
    stand_in = Line("", u0, v0, u1, v1, v0 + size, size, bold=False, italic=False, mono=False)
    stand_in.table, stand_in.figure = table, figure
    group[:] = [*(line for line in group if id(line) not in gone), stand_in]
    x0, y0, x1, y1 = frame.shown(box)
    for other, turned in lines.groups[1:]:
        other_box = other.inside((x0, y0, x1, y1))
        turned[:] = [line for line in turned if not is_inside(line, other_box)]


def is_inside(line: Line, box: Box) -> bool:
    return not line.solid and stands_in(line, box)
