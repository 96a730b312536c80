"""What a name promises, and what keeps the promise."""

from __future__ import annotations

import pytest

from streams.decode.names import mismatch, promised


def test_every_promise_is_a_media_type() -> None:
    assert promised("a.DOCX")[0].endswith("wordprocessingml.document")
    assert promised("a.tar.gz") == ("application/gzip",)
    assert promised("README") == ()
    assert promised("a.unknown") == ()


@pytest.mark.parametrize(
    ("media_type", "name", "differs"),
    [
        ("application/rss+xml", "a.xml", False),
        ("application/vnd.ms-spreadsheetml", "a.xml", False),
        ("application/vnd.ms-spreadsheetml", "a.xls", True),
        ("application/x-ooxml-encrypted", "a.docx", False),
        ("application/vnd.ms-word.document.macroEnabled.12", "a.docx", True),
        ("text/x-python", "a.txt", False),
        ("message/rfc822", "a.txt", True),
        ("text/html", "a.xhtml", False),
        ("text/plain", "a.pdf", True),
        ("image/jpeg", "a.jpg", False),
    ],
)
def test_mismatch(media_type: str, name: str, differs: bool) -> None:
    assert mismatch(media_type, None, name) is differs
