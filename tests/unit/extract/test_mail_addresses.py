"""Mailboxes as they are written, well or badly (RFC 5322 3.4)."""

from __future__ import annotations

import pytest

from streams.extract.mail_addresses import MAX_MAILBOXES, mailboxes, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a@x.example", "a@x.example"),
        ("<a@x.example>", "a@x.example"),
        ("a@x.example (Ada (of X))", "Ada (of X) <a@x.example>"),
        ("'Ada Quill' <a@x.example>", "Ada Quill <a@x.example>"),
        ("Quill, Ada <a@x.example>, b@x.example", "Quill, Ada <a@x.example>, b@x.example"),
        ('"Ada \\"A\\" Quill" <a@x.example>', 'Ada "A" Quill <a@x.example>'),
        ("a@x.example; b@x.example", "a@x.example, b@x.example"),
        ("Team: a@x.example, Bo <b@x.example>;, c@x.example", "Team: a@x.example, Bo <b@x.example>, c@x.example"),
        ("undisclosed recipients: ;", "undisclosed recipients"),
        ("<@r.example,@s.example:a@x.example>", "a@x.example"),
        ("Ada <a@x.example", "Ada <a@x.example>"),
        ("=?utf-8?Q?=C3=84da?= =?utf-8?Q?_Quill?= <a@x.example>", "Äda Quill <a@x.example>"),
        ("=?utf-8?Q?Quill,_=C3=84da?= <a@x.example>", "Quill, Äda <a@x.example>"),
        ("Mail Delivery System <>", "Mail Delivery System"),
        ('"a@x.example" <a@x.example>', "a@x.example"),
        ("", ""),
        (",,;:<>()", ""),
    ],
)
def test_mailboxes(text: str, expected: str) -> None:
    assert shown(mailboxes(text)[0]) == expected


def test_many_are_cut_and_said_to_be() -> None:
    found, more = mailboxes("a@x.example," * (MAX_MAILBOXES + 1))
    assert (len(found), more) == (MAX_MAILBOXES, True)
