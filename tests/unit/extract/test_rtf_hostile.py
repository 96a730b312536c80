"""Damaged and malicious RTF: bounded work, a clear problem, never an empty success."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract import rtf, rtf_tokens
from streams.records import CanonBody
from tests.unit.extract.drafts import canon

FULL = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset128 Gothic;}}{\stylesheet{\s1 heading 1;}}"
    rb"{\info{\title T}{\creatim\yr2020\mo1\dy1}}{\header H\par}\pard\s1 Head\par\pard Text {\f1\'93\'fa} \u8364?"
    rb"{\field{\*\fldinst HYPERLINK \"http://a\"}{\fldrslt link}}{\footnote\chftn note}\par"
    rb"\trowd\cellx500\cellx900\pard\intbl a\cell b\cell\row{\*\nesttableprops\trowd\nestrow}\pard{\pict 00ff}"
    rb"{\shp{\*\shpinst{\shptxt box\par}}}{\v hidden}{\deleted gone}\par}"
)


def read(folder: Path, data: bytes) -> CanonBody:
    return canon(folder, data, "text/rtf")


def problem(folder: Path, data: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        read(folder, data)
    return caught.value.problem


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "corrupt"),
        (b"no rtf", "corrupt"),
        (b"{\\rtf1", "truncated"),
        (b"{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}", "truncated"),
        (b"{\\rtf1\\pict\\bin999999999 abc", "truncated"),
    ],
)
def test_what_gives_no_text_is_a_problem(tmp_path: Path, data: bytes, expected: str) -> None:
    assert problem(tmp_path, data) == expected


def test_a_file_that_is_cut_off_says_so(tmp_path: Path) -> None:
    assert "truncated" in read(tmp_path, FULL[:-150]).warnings
    assert "truncated" not in read(tmp_path, FULL).warnings
    assert "truncated" not in read(tmp_path, FULL + b"\r\n\0junk}}").warnings


def test_what_follows_the_last_brace_is_not_read(tmp_path: Path) -> None:
    assert [b.text for b in read(tmp_path, b"{\\rtf1 a\\par}} b {c}").blocks] == ["a"]


@pytest.mark.parametrize(
    "data",
    [
        b"{\\rtf1 " + b"{" * 300_000 + b"deep" + b"}" * 300_000 + b"\\par end}",
        b"{\\rtf1 deep" + b"{\\*\\x" * 100_000 + b"}" * 100_000 + b"\\par end}",
        b"{\\rtf1 deep" + b"{\\footnote x" * 20_000 + b"}" * 20_000 + b"\\par end}",
        b"{\\rtf1 deep" + b"{\\shptxt x" * 20_000 + b"}" * 20_000 + b"\\par end}",
        b"{\\rtf1 deep" + b"{\\shptxt\\pard\\intbl\\itap15 x\\nestcell" * 100 + b"}" * 100 + b"\\par end}",
        b"{\\rtf1 deep{" + b"\\header" * 50_000 + b"}\\par end}",
        b"{\\rtf1 deep{" + b"\\field\\shp\\pict\\upr" * 20_000 + b"}\\par end}",
        b"{\\rtf1 deep\\par" + b"\\trowd" + b"\\cellx1" * 200_000 + b"\\pard\\intbl a\\cell\\row\\pard end}",
        b"{\\rtf1 deep\\par\\pard\\intbl\\itap999999999 a\\nestcell"
        + b"\\itap1 b\\nestcell\\itap30 c" * 5_000
        + b"\\pard end}",
        b"{\\rtf1 deep\\par" + b"\\cell" * 300_000 + b"\\row\\pard end}",
        b"{\\rtf1 deep\\par" + b"\\trowd\\clvmgf\\cellx9\\a\\cell\\row" * 30_000 + b"\\pard end}",
        b"{\\rtf1 deep\\uc2147483647\\u65 \\par end}",
        b"{\\rtf1 deep{\\stylesheet{\\s1\\sbasedon2 a;}{\\s2\\sbasedon1 b;}}\\pard\\s1\\par end}",
    ],
    ids=range(13),
)
def test_nesting_and_repetition_cost_bounded_time(tmp_path: Path, data: bytes) -> None:
    begun = time.process_time()
    body = read(tmp_path, data)
    assert time.process_time() - begun < 10
    text = "\n".join(block.text for block in body.blocks)
    assert "deep" in text
    assert len(data) < 1_000_000 or "end" in text


def test_too_many_tokens_and_bytes_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtf_tokens, "MAX_TOKENS", 1000)
    assert problem(tmp_path, b"{\\rtf1 " + b"\\par" * 2000 + b"}") == "too_large"
    monkeypatch.setattr(rtf, "MAX_BYTES", 100)
    assert problem(tmp_path, b"{\\rtf1 " + b"x" * 200 + b"}") == "too_large"


def test_a_large_picture_is_passed_over_quickly(tmp_path: Path) -> None:
    data = b"{\\rtf1 a{\\pict\\wmetafile8 " + (b"00ff" * 32 + b"\r\n") * 200_000 + b"}b\\par}"
    begun = time.process_time()
    assert read(tmp_path, data).blocks[0].text == "ab"
    assert time.process_time() - begun < 3


def test_damage_ends_in_a_canon_or_a_problem(tmp_path: Path) -> None:
    dice = random.Random(7)  # noqa: S311 - repeatable damage
    pieces = [
        b"{",
        b"}",
        b"\\",
        b"\\row",
        b"\\cell",
        b"\\*",
        b"\\'",
        b"\\u-1",
        b"\\bin3",
        b"\\upr",
        b"\\nestrow",
        b"\\pard",
    ]
    for _ in range(400):
        data = bytearray(FULL)
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(6, len(data))
            if dice.random() < 0.5:
                data[at : at + dice.randint(0, 20)] = dice.choice(pieces)
            else:
                data[at] = dice.randrange(256)
        ended = "canon"
        try:
            read(tmp_path, bytes(data))
        except DocumentError as error:
            ended = error.problem
        assert ended in ("canon", "corrupt", "truncated")
