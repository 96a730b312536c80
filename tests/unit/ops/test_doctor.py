"""What `canonry doctor` says of recognition, with a tesseract that has the models of this test."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from streams.extract.tools import tesseract
from streams.ops import doctor
from streams.ops.doctor import Finding
from streams.settings import RecognitionSettings, Settings, SourceSettings


@pytest.fixture
def with_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """English, Czech and nothing for orientation."""
    program = tmp_path / "tesseract"
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "tesseract 5.9.1"; else\n'
        f"printf 'List of available languages in \"{tmp_path}/\" (2):\\nces\\neng\\n'; fi\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(platform, "system", lambda: "Linux")


def _findings(tmp_path: Path, languages: list[str], source: str | None = None) -> list[Finding]:
    settings = Settings(
        data_dir=tmp_path,
        recognition=RecognitionSettings(languages=languages),
        sources={"share": SourceSettings(language=source)},
    )
    tesseract._installed.cache_clear()
    try:
        return list(doctor._recognition(settings))
    finally:
        tesseract._installed.cache_clear()


@pytest.mark.usefixtures("with_models")
def test_installed_languages_stand_beside_the_configured_ones(tmp_path: Path) -> None:
    first, osd = _findings(tmp_path, ["en"], "cs")
    assert first.detail == "tesseract 5.9.1; installed: cs, en; configured: cs, en"
    assert first.state == "ok"
    assert osd.remedy == "sudo apt-get install -y tesseract-ocr-osd"


@pytest.mark.usefixtures("with_models")
def test_a_missing_language_names_the_command_that_installs_it(tmp_path: Path) -> None:
    _, german, chinese, _ = _findings(tmp_path, ["de", "en"], "zh")
    assert "language de:" in german.detail
    assert german.state == chinese.state == "warning"
    assert german.remedy == "sudo apt-get install -y tesseract-ocr-deu"
    assert chinese.remedy == "sudo apt-get install -y tesseract-ocr-chi-sim tesseract-ocr-chi-tra"


@pytest.mark.usefixtures("with_models")
def test_a_language_that_no_model_exists_for_is_no_command(tmp_path: Path) -> None:
    _, klingon, _ = _findings(tmp_path, ["tlh"])
    assert "no model for the configured language tlh" in klingon.detail
    assert "recognition.languages" in klingon.remedy


def test_without_the_engine_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    (found,) = _findings(tmp_path, ["en"])
    assert (found.state, found.remedy) == ("warning", "sudo apt-get install -y tesseract-ocr")
