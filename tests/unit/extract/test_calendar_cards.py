"""Calendars and cards: entries as sections, values unfolded, unescaped and decoded, dates as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.records import CanonBody
from tests.unit.extract.drafts import canon, kinds


def calendar(folder: Path, *lines: str) -> CanonBody:
    return canon(folder, "\r\n".join(["BEGIN:VCALENDAR", *lines, "END:VCALENDAR", ""]), "text/calendar")


def card(folder: Path, *lines: str) -> CanonBody:
    return canon(folder, "\n".join(["BEGIN:VCARD", *lines, "END:VCARD", ""]), "text/vcard")


def test_events_are_sections(tmp_path: Path) -> None:
    body = calendar(
        tmp_path,
        "X-WR-CALNAME:Harbour",
        "BEGIN:VEVENT",
        "DTSTART;TZID=Europe/Oslo:20240501T090000",
        "DTEND:20240501T100000Z",
        "CREATED:20240401T100000Z",
        "SUMMARY:Board\\, spring",
        "DESCRIPTION:We meet in the old",
        "  hall.\\nBring the plans\\; all of them.",
        'ATTENDEE;CN="Lee, Ann":mailto:ann@example.org',
        "BEGIN:VALARM",
        "TRIGGER:-PT15M",
        "END:VALARM",
        "END:VEVENT",
    )
    assert body.title == "Harbour"
    assert body.created == "2024-04-01T10:00:00Z"
    assert [(kind, text) for kind, text in kinds(body) if "created" not in text][1:] == [
        ("heading", "Board, spring"),
        ("form_field", "dtstart (Europe/Oslo): 20240501T090000"),
        ("form_field", "dtend: 20240501T100000Z"),
        ("paragraph", "description: We meet in the old hall.\nBring the plans; all of them."),
        ("form_field", "attendee: Lee, Ann <ann@example.org>"),
        ("form_field", "alarm trigger: -PT15M"),
    ]
    assert body.metadata == {"event_1_end": "2024-05-01T10:00:00Z"}, "a local time is no certain moment"


def test_time_zones_are_counted(tmp_path: Path) -> None:
    body = calendar(
        tmp_path, "BEGIN:VTIMEZONE", "TZID:X", "END:VTIMEZONE", "BEGIN:VTODO", "SUMMARY:Paint the boat", "END:VTODO"
    )
    assert kinds(body) == [("heading", "Paint the boat")]
    assert [(d.what, d.count) for d in body.dropped] == [("time_zone_definition", 1)]


def test_old_cards_are_decoded(tmp_path: Path) -> None:
    body = card(
        tmp_path,
        "VERSION:2.1",
        "FN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:J=F6rg M=FCll=",
        "er",
        "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg",
        "TEL;HOME;VOICE:+47 1",
        "ADR;WORK:;;Main St 1;Oslo;;0150;Norway",
        "PHOTO;ENCODING=BASE64;TYPE=JPEG:",
        " /9j/4AAQ",
        "",
        "item1.EMAIL:j@example.org",
    )
    assert [text for _, text in kinds(body)] == [
        "Jörg Müller",
        "n: Müller, Jörg",
        "tel (home, voice): +47 1",
        "adr (work): Main St 1, Oslo, 0150, Norway",
        "email: j@example.org",
    ]
    assert [(d.what, d.count) for d in body.dropped] == [("binary_data", 1)]


def test_stray_lines_and_missing_ends_are_said(tmp_path: Path) -> None:
    body = canon(tmp_path, "BEGIN:VCARD\nFN:Ann\nno name here\n", "text/vcard")
    assert body.warnings == ["bad_lines", "truncated"]
    assert kinds(body) == [("heading", "Ann"), ("code", "no name here")]


def test_nothing_of_the_kind(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        canon(tmp_path, "hello\n", "text/calendar")
    assert caught.value.problem == "parser_error"


def test_depth_is_bounded(tmp_path: Path) -> None:
    body = canon(tmp_path, "BEGIN:VEVENT\n" * 50_000 + "SUMMARY:Deep\n", "text/calendar")
    assert "truncated" in body.warnings
    assert len(body.blocks) == 50_000
