"""Mailboxes of all four dialects: where a message begins, what was quoted, and what its key is."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from tests.unit.decode.unpack.opened import Opened, opened

MARK = b"From ann@example.org Thu Jan  1 10:00:00 2026\n"


def message(number: int, body: bytes = b"text\n", extra: bytes = b"") -> bytes:
    head = b"From: a@b\nSubject: s%d\nMessage-ID: <%d@b>\n" % (number, number)
    return head + extra + b"\n" + body


def of(folder: Path, data: bytes) -> Opened:
    return opened(folder, data, "application/mbox")


def test_messages_are_members_in_their_order(tmp_path: Path) -> None:
    found = of(tmp_path, MARK + message(1) + b"\n" + MARK + message(2) + b"\n")
    assert found.paths == ["00001 s1.eml", "00002 s2.eml"]
    assert [m.key for m in found.members] == ["<1@b>", "<2@b>"]
    assert found.data["00001 s1.eml"] == message(1)
    assert found.data["00002 s2.eml"] == message(2)


def test_a_key_stays_when_another_message_goes(tmp_path: Path) -> None:
    without_id = b"From: a@b\nSubject: none\n\ntext\n"
    both = of(tmp_path, MARK + message(1) + b"\n" + MARK + without_id + b"\n" + MARK + message(3))
    left = of(tmp_path, MARK + without_id + b"\n" + MARK + message(3))
    assert [m.key for m in both.members][1:] == [m.key for m in left.members]
    assert left.members[0].key == hashlib.sha256(without_id).hexdigest()
    assert [m.key for m in of(tmp_path, (MARK + message(1) + b"\n") * 2).members] == ["<1@b>", "<1@b> (2)"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_quotes_are_undone_with_any_line_end(tmp_path: Path, line_end: bytes) -> None:
    quoted = b"one\n>From here on\n>>From there\n> From\n>Frome\n"
    plain = b"one\nFrom here on\n>From there\n> From\n>Frome\n"
    data = (MARK + message(1, quoted) + b"\n" + MARK + message(2)).replace(b"\n", line_end)
    found = of(tmp_path, data)
    assert found.data["00001 s1.eml"] == message(1, plain).replace(b"\n", line_end)
    assert len(found.members) == 2


def test_sentences_that_begin_with_from_do_not_end_a_message(tmp_path: Path) -> None:
    body = b"one\nFrom now on Mon Jan  1 10:00:00 2026\nit holds.\n\nFrom Berlin we went on.\n\nFrom: no field\n"
    found = of(tmp_path, MARK + message(1, body) + b"\n" + MARK + message(2))
    assert found.paths == ["00001 s1.eml", "00002 s2.eml"]
    assert found.data["00001 s1.eml"] == message(1, body)


def test_a_missing_blank_line_and_a_postmark_without_a_date(tmp_path: Path) -> None:
    found = of(tmp_path, MARK + message(1) + MARK + message(2) + b"\nFrom MAILER-DAEMON\n" + message(3))
    assert [m.key for m in found.members] == ["<1@b>", "<2@b>", "<3@b>"]


def test_counted_messages_hold_what_looks_like_others(tmp_path: Path) -> None:
    body = b"a box in a box:\n\n" + MARK + message(9) + b"\n>From is no quote here\n"
    counted = b"Content-Length: %d\n" % len(body)
    found = of(tmp_path, MARK + message(1, body, counted) + b"\n" + MARK + message(2))
    assert [m.key for m in found.members] == ["<1@b>", "<2@b>"]
    assert found.data["00001 s1.eml"] == message(1, body, counted)
    for wrong in (b"Content-Length: 3\n", b"Content-Length: 99999999\n", b"Content-Length: -1\n"):
        lied = of(tmp_path, MARK + message(1, b"text\n", wrong) + b"\n" + MARK + message(2))
        assert [m.key for m in lied.members] == ["<1@b>", "<2@b>"]


def test_a_first_message_without_its_separator(tmp_path: Path) -> None:
    found = of(tmp_path, message(1) + b"\n" + MARK + message(2))
    assert found.data["00001 s1.eml"] == message(1)
    assert len(found.members) == 2


def test_subjects_are_decoded_and_shortened(tmp_path: Path) -> None:
    data = MARK + b"Subject: =?utf-8?Q?=C3=84/b?=\n\nx\n\n" + MARK + b"Subject: " + b"y" * 500 + b"\n\nx\n"
    found = of(tmp_path, data)
    assert found.paths[0] == "00001 Ä b.eml"
    assert len(found.paths[1]) < 100


def test_no_message_is_a_damaged_mailbox(tmp_path: Path) -> None:
    failure = of(tmp_path, b"no message here\n").failure
    assert failure is not None
    assert failure.code == "corrupt"


def test_separators_at_every_offset_of_a_block(tmp_path: Path) -> None:
    for size in range(261_000, 262_300, 97):
        found = of(tmp_path, MARK + message(1, b"z" * size + b"\n") + b"\n" + MARK + message(2))
        assert [m.key for m in found.members] == ["<1@b>", "<2@b>"], size
        assert found.members[0].size == len(message(1)) - 4 + size


def test_hostile_boxes_take_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    body = b"\nFrom " * 300_000 + b"x" * 2_000_000 + b"\n" + b">" * 500_000 + b"From \n"
    found = of(tmp_path, MARK + message(1, body) + b"\n" + MARK + message(2))
    assert len(found.members) == 2
    assert time.process_time() - began < 5
