"""LibreOffice as a converter, with the real program where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.formats import packed
from streams.errors import DocumentError
from streams.extract.registry import named
from streams.extract.tools import libreoffice
from streams.records import CanonBody, Detection
from tests.unit.extract.drafts import HASH

RTF = rb"{\rtf1\ansi{\stylesheet{\s1\outlinelevel0 heading 1;}}\pard\s1\outlinelevel0 Crane\par\pard Fifty tons.\par}"
RTF_FILTER = "Rich Text Format"

needs_libreoffice = pytest.mark.skipif(
    libreoffice.program() is None, reason="LibreOffice is not installed (apt: libreoffice-writer-nogui)"
)


def read(folder: Path, data: bytes, media_type: str) -> CanonBody:
    """The canon of these bytes, as the extractor `libreoffice` reads them."""
    from streams.extract.finish import finish
    from streams.extract.outcome import Request
    from streams.extract.registry import load

    path = folder / "content"
    path.write_bytes(data)
    detection = Detection(media_type=media_type, detected_by="test")
    spec = named("libreoffice")
    assert spec is not None
    draft = load(spec)(Request(path=path, detection=detection))
    return finish(draft, content_hash=HASH, detection=detection, spec=spec)


@needs_libreoffice
def test_document(tmp_path: Path) -> None:
    """Converted, read with the reader of what it became, and said to be so."""
    body = read(tmp_path, RTF, "text/rtf")
    assert [(block.kind.value, block.text) for block in body.blocks] == [
        ("heading", "Crane"),
        ("paragraph", "Fifty tons."),
    ]
    assert body.warnings == ["converted"]
    assert body.metadata["converted_by"] == libreoffice.version()
    assert body.media_type == "text/rtf"


@needs_libreoffice
def test_openoffice_1(tmp_path: Path) -> None:
    """The format before OpenDocument becomes its successor, so that it is read as that is."""
    spaces = "".join(
        f' xmlns:{name}="http://openoffice.org/2000/{name}"' for name in ("office", "text", "table", "style")
    )
    text = (
        '<text:h text:level="1">Crane</text:h><text:ordered-list><text:list-item><text:p>Fifty tons.</text:p>'
        "</text:list-item></text:ordered-list>"
    )
    manifest = '<manifest:manifest xmlns:manifest="http://openoffice.org/2001/manifest"><manifest:file-entry '
    kind = "application/vnd.sun.xml.writer"
    data = packed(
        {
            "mimetype": kind,
            "content.xml": f'<office:document-content{spaces} office:class="text" office:version="1.0"><office:body>'
            f"{text}</office:body></office:document-content>",
            "META-INF/manifest.xml": f'{manifest}manifest:media-type="{kind}" manifest:full-path="/"/>'
            '<manifest:file-entry manifest:media-type="text/xml" manifest:full-path="content.xml"/>'
            "</manifest:manifest>",
        }
    )
    body = read(tmp_path, data, kind)
    assert [(block.kind.value, block.text) for block in body.blocks] == [
        ("heading", "Crane"),
        ("list_item", "Fifty tons."),
    ]
    assert body.warnings == ["converted"]


@needs_libreoffice
def test_rubbish_is_no_text(tmp_path: Path) -> None:
    """Without a named filter LibreOffice takes anything for plain text."""
    with pytest.raises(DocumentError) as error:
        read(tmp_path, bytes(range(256)) * 8, "application/vnd.wordperfect")
    assert error.value.problem == "parser_error"


@needs_libreoffice
def test_time_is_bounded(tmp_path: Path) -> None:
    source = tmp_path / "document.bin"
    source.write_bytes(RTF)
    (tmp_path / "work").mkdir()
    with pytest.raises(libreoffice.ConversionFailed) as error:
        libreoffice.convert(source, RTF_FILTER, "docx", tmp_path / "work", seconds=0.05)
    assert error.value.timed_out


@needs_libreoffice
def test_version_is_that_of_the_installed_program() -> None:
    assert libreoffice.version().startswith("LibreOffice ")


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its formats are then unsupported, and the message says what helps."""
    monkeypatch.setattr(libreoffice, "program", lambda: None)
    with pytest.raises(DocumentError) as error:
        read(tmp_path, b"\xffWPC", "application/vnd.wordperfect")
    assert error.value.problem == "unsupported_format"
    assert "not installed" in error.value.message


def test_only_formats_with_a_filter(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as error:
        read(tmp_path, b"x", "application/x-unknown")
    assert error.value.problem == "unsupported_format"


def test_program_that_is_not_there() -> None:
    assert libreoffice.program("no-such-program-of-this-name") is None
