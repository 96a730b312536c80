"""Text that was decoded wrongly before is turned back; a good text is never touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.make_documents import TEXTS as DEMO
from streams.decode.labels import codec_of
from streams.decode.repair import repair
from streams.extract.outcome import Request
from streams.extract.text import extract
from streams.records import Detection
from tests.unit.decode.test_encoding import TEXTS


def misread(text: str, encoding: str) -> str:
    """The text as UTF-8, read in another encoding; bytes that it lacks become controls, as in browsers."""
    found = ""
    for byte in text.encode():
        try:
            found += bytes([byte]).decode(codec_of(encoding))
        except UnicodeDecodeError:
            found += chr(byte)
    return found


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("encoding", ["windows-1252", "windows-1251", "macintosh"])
@pytest.mark.parametrize("text", [*TEXTS.values(), "Café Zürich", "“Well – it’s done…” he said, and shut the door."])
def test_once_and_twice(text: str, encoding: str, times: int) -> None:
    wrong = text
    for _ in range(times):
        wrong = misread(wrong, encoding)
    found = repair(wrong)
    assert found.text == text
    assert len(found.misread_as) == times


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS.values(),
        "",
        "plain",
        "é",
        "The letter é appears as Ã© when UTF-8 is read as Latin-1, and ü as Ã¼.",
        "A SÃO PAULO, IRMÃ E MAÇÃ – “não” à tarde: R$ 30 × 2 = R$ 60 ± 5 %",
        "┌──┬──┐\n│ a│ b│\n├──┼──┤\n│██│▒▒│\n└──┴──┘",
        "src\n├── a\n│   └── b\n└── c",
        "█▒▒▒░░ 30 %\n╔══╗ ╚══╝ ╞═╡",
        "Ελληνικά, русский, العربية, 中文和日本語のテキスト, 한국어, ไทย, 😀 👍🏽",
        "ÀÉÎÕÜ àéîõü ÄÖÜ äöüß ÅÆØ åæø ÑÇ ñç ŁŻŹ łżź ĞŞİ ğşı ĀĒĪ āēī",
        "20 °C, 5 µm, © 2024 Müller® – ½ l · § 12 · ‰ · € 5 £ 3 ¥ 9",
        "Â°",
    ],
)
def test_good_texts_stay(text: str) -> None:
    found = repair(text)
    assert (found.text, found.misread_as) == (text, [])


def test_good_documents_stay() -> None:
    texts = [path.read_text("utf-8") for path in sorted(DEMO.glob("*.md"))]
    assert texts
    for text in texts:
        assert repair(text).misread_as == []
        for line in text.splitlines():
            assert repair(line).misread_as == []


def test_good_lines_stay_beside_bad_ones() -> None:
    good = "Die Brücke über die Straße ist für alle da."
    found = repair(f"{good}\n{misread(good, 'windows-1252')}\nplain\n")
    assert found.text == f"{good}\n{good}\nplain\n"
    assert found.misread_as == ["windows-1252"]


def test_what_lost_characters_stays() -> None:
    text = "Ein Gerät à la carte".encode().decode("cp1252").replace("\u00a0", "\ufffd")
    assert "\ufffd" in repair(text).text


def test_a_repaired_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    text = "Die Brücke über die Straße ist für alle da."
    path.write_text(misread(misread(text, "windows-1252"), "windows-1252"), "utf-8")
    detection = Detection(media_type="text/plain", detected_by="text", encoding="utf-8")
    draft = extract(Request(path=path, detection=detection))
    assert draft.blocks[0].text == text
    assert draft.warnings == ["mojibake_repaired"]
    assert draft.metadata == {"misread_as": "windows-1252, windows-1252"}


def test_a_good_text_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Die Brücke ist da.", "utf-8")
    detection = Detection(media_type="text/plain", detected_by="text", encoding="utf-8")
    draft = extract(Request(path=path, detection=detection))
    assert (draft.warnings, draft.metadata) == ([], {})
