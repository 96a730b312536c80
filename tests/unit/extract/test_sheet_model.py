"""What readers of workbooks share: rows that cost little where they are alike."""

from __future__ import annotations

from streams.extract.sheet_model import NUMBER, TEXT, Budget, Row, Sheet


def _row(number: int, *cells: tuple[int, str, int]) -> Row:
    row = Row(number)
    for col, text, kind in cells:
        row.add(col, text, kind)
    return row


def test_rows_alike_share_their_columns_and_kinds_and_others_keep_their_own() -> None:
    budget, sheet = Budget(), Sheet("one")
    for row in (
        _row(0, (0, "a", TEXT), (1, "1", NUMBER)),
        _row(1, (0, "b", TEXT), (1, "2", NUMBER)),
        _row(2, (0, "3", NUMBER), (2, "4", NUMBER)),
        Row(3),
    ):
        budget.keep(sheet, row)

    first, second, third = sheet.rows
    assert second.cols is first.cols
    assert second.kinds is first.kinds
    assert (second.texts, third.cols, bytes(third.kinds)) == (["b", "2"], [0, 2], bytes([NUMBER, NUMBER]))
    assert budget.cells == 6
