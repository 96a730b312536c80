"""Subtitles: what is said, cue by cue, with its times beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import DocumentError
from tests.unit.extract.drafts import canon, kinds


def test_subrip(tmp_path: Path) -> None:
    text = (
        "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Hello</i>\r\nthere\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000 X1:1\r\n{\\an8}Salt &amp; a < b\r\n\r\nlost line\r\n"
    )
    body = canon(tmp_path, text, "application/x-subrip")
    assert [(b.text, b.marker) for b in body.blocks] == [
        ("Hello\nthere", "00:00:01,000 --> 00:00:02,500"),
        ("Salt & a < b", "00:00:03,000 --> 00:00:04,000"),
        ("lost line", None),
    ]
    assert body.warnings == ["bad_cues"]
    assert body.metadata["cues"] == "2"


def test_webvtt(tmp_path: Path) -> None:
    text = (
        "WEBVTT - Talk\n\nNOTE made by hand\n\nSTYLE\n::cue{}\n\nfirst\n00:01.000 --> 00:02.000 align:start\n"
        "<v Ann>Hi <c.loud>you</c>\n\n00:03.000 --> 00:04.000\n<00:03.500>there\n"
    )
    body = canon(tmp_path, text, "text/vtt")
    assert body.title == "Talk"
    assert kinds(body) == [("comment", "made by hand"), ("paragraph", "Ann: Hi you"), ("paragraph", "there")]
    assert [(d.what, d.count) for d in body.dropped] == [("style", 1)]


def test_substation_alpha(tmp_path: Path) -> None:
    text = (
        "[Script Info]\nTitle: Film\n[V4+ Styles]\nStyle: a,b\n[Events]\nFormat: Layer, Start, End, Name, Text\n"
        "Dialogue: 0,0:00:01.00,0:00:02.00,Ann,{\\i1}Hello, all,\\Nof you\nComment: 0,0:00:01.00,0:00:02.00,,check\n"
    )
    body = canon(tmp_path, text, "text/x-ssa")
    assert body.title == "Film"
    assert kinds(body) == [("paragraph", "Ann: Hello, all,\nof you"), ("comment", "check")]
    assert body.blocks[0].marker == "0:00:01.00 --> 0:00:02.00"


@pytest.mark.parametrize("media_type", ["application/x-subrip", "text/vtt", "text/x-ssa"])
def test_no_cue_is_no_empty_success(tmp_path: Path, media_type: str) -> None:
    with pytest.raises(DocumentError) as caught:
        canon(tmp_path, "WEBVTT\n\nnothing\n", media_type)
    assert caught.value.problem == "parser_error"
