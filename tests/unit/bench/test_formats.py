"""The benchmark counts what it claims to count: labels from the manifest first, then from the extension."""

from __future__ import annotations

from pathlib import Path

from bench.formats import MANIFEST, labelled, measure


def test_labels_and_counts(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n")
    (tmp_path / "b.pdf").write_bytes(b"no PDF at all\n")
    (tmp_path / "c.pdf").write_bytes(b"<!doctype html><p>a login page</p>\n")
    (tmp_path / "d.pdf").write_bytes(b"left out\n")
    (tmp_path / "e.unknown").write_bytes(b"no label\n")
    (tmp_path / "f.eml").write_bytes(b"From: a@example.org\nTo: b@example.org\nMIME-Version: 1.0\n\nhello\n")
    (tmp_path / "empty.pdf").write_bytes(b"")
    (tmp_path / MANIFEST).write_text("c.pdf\ttext/html\tsaved by a browser\nd.pdf\t-\tno format\n", "utf-8")
    files = labelled(tmp_path)
    assert [path.name for path, _ in files] == ["a.pdf", "b.pdf", "c.pdf", "f.eml"]
    result, misses = measure(files)
    assert result.values["families"] == {"pdf": [2, 1], "html": [1, 1], "mail": [1, 1]}
    assert [(path.name, found) for path, _, found in misses] == [("b.pdf", "text/plain")]
    assert result.values["met"] is False
    assert any("application/pdf taken for text/plain" in note for note in result.notes)
