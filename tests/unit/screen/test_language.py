"""Languages of short and long texts, and silence where nobody could know."""

from __future__ import annotations

import subprocess
import sys

import pytest

from streams.screen import detect_language
from tests.unit.screen.texts import MEMO, TEXTS, UNLISTED, raw_codes, shifted


@pytest.mark.parametrize(("language", "text"), [*TEXTS.items(), *UNLISTED.items(), ("en", MEMO)])
def test_language_of_a_paragraph(language: str, text: str) -> None:
    found, confidence = detect_language(text)
    assert found == language
    assert 0.5 <= confidence <= 1


@pytest.mark.parametrize("text", ["", "   ", "12 345,00 €", "Total", "EUR 300", "OK: 4", "日本", "⚠ → ✓"])
def test_too_short_to_know(text: str) -> None:
    assert detect_language(text)[0] is None


@pytest.mark.parametrize("damage", [shifted, raw_codes])
def test_letters_that_are_no_language(damage: object) -> None:
    assert callable(damage)
    assert detect_language(damage(TEXTS["en"]))[0] is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("会議室の利用", "ja"),
        ("髙橋 健一 営業部 山﨑 由美 経理部", "ja"),  # no kana at all
        ("図書館通知", "ja"),
        ("图书馆通知", "zh"),
        ("臺北市政府圖書館公告閱覽室開放時間", "zh"),
        ("회의실 이용 안내", "ko"),
        ("Rules for ห้องสมุดเปิดตั้งแต่วันจันทร์", "th"),
        ("Ωράριο λειτουργίας", "el"),
    ],
)
def test_script_decides_even_when_short(text: str, language: str) -> None:
    assert detect_language(text)[0] == language


def test_hint_decides_only_between_near_ones() -> None:
    danish_or_norwegian = "Vi har en god dag i dag, og solen er over huset."
    assert detect_language(danish_or_norwegian, "da")[0] in {"da", "no"}
    assert detect_language(TEXTS["de"], "fr")[0] == "de"
    assert detect_language("日本東京大学", "ja")[0] == "ja"


def test_script_needs_no_model() -> None:
    program = (
        "import sys, streams.screen as s\n"
        "assert s.detect_language('会議室の利用について')[0] == 'ja'\n"
        "heavy = {'py3langid', 'wordfreq', 'numpy', 'ftfy', 'minio'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
