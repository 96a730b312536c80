"""Words turned around or read with another code page are found by undoing it; names and other languages are not."""

from __future__ import annotations

import time

import pytest

from streams.screen import Policy, screen, words
from streams.screen.undoing import read_wrongly, turned_around
from tests.unit.screen.texts import TEXTS, canon


def _turned(text: str) -> tuple[int, int]:
    return turned_around(words.tokens(text), "en")


def _wrongly(text: str, code: str) -> tuple[int, int]:
    return read_wrongly(text, words.tokens(text), code)


def _every_third_backwards(text: str) -> str:
    return " ".join(word[::-1] if at % 3 == 0 else word for at, word in enumerate(text.split()))


@pytest.mark.parametrize("language", ["en", "de", "it", "es", "ru", "el"])
def test_every_third_word_backwards_is_held(language: str) -> None:
    found = screen(canon(_every_third_backwards(TEXTS[language]), language=language), Policy(), size=1000)
    assert {"low_dictionary_rate", "mojibake"} & set(found.problems), found.scores
    assert screen(canon(TEXTS[language], language=language), Policy(), size=1000).scores["turned_around"] == 0


@pytest.mark.parametrize(
    ("language", "real", "taken"),
    [
        ("cs", "cp1250", "cp1252"),
        ("pl", "iso8859-2", "cp1250"),
        ("hu", "cp852", "cp1252"),
        ("de", "cp1252", "cp850"),
        ("fr", "mac-roman", "cp1252"),
        ("sv", "cp437", "cp1252"),
        ("tr", "cp1254", "cp1257"),
    ],
)
def test_one_line_of_several_in_another_code_page_is_held(language: str, real: str, taken: str) -> None:
    clean = "\n".join([TEXTS[language]] * 3)
    wrong = TEXTS[language].encode(real, "replace").decode(taken, "replace")
    found = screen(canon(f"{clean}\n{wrong}", language=language), Policy(), size=1000)
    assert {"mojibake", "low_dictionary_rate", "replacement_chars"} & set(found.problems), found.scores
    code = words.list_for(language) or ""
    assert _wrongly(wrong, code)[0] >= 3
    assert _wrongly(clean, code)[0] <= 1


@pytest.mark.parametrize("text", [TEXTS["en"] + TEXTS["pl"], "Łódź, Gdańsk, Wrocław, Kraków, Poznań: señor Núñez, Zoë"])
def test_names_and_other_languages_are_no_code_page(text: str) -> None:
    assert _wrongly(text, "en")[0] < 3
    assert _turned(text)[0] < 3


def test_counts() -> None:
    assert _turned("The gate was desolc by dnah when Wojciechowski came NOITAN") == (2, 2)
    assert _turned("") == (0, 0)
    assert _wrongly("", "de") == (0, 0)
    assert _wrongly("Brötchen für Gäste", "de") == (0, 3)
    assert _wrongly("Br÷tchen f³r Gõste", "de") == (3, 3)


@pytest.mark.parametrize("unit", [".", "’", "é", "÷", "a÷", "a."])
def test_a_megabyte_without_a_space_takes_no_time(unit: str) -> None:
    text = f"Der Müller kommt {unit * (1_000_000 // len(unit))}"
    began = time.process_time()
    _wrongly(text, "de")
    assert time.process_time() - began < 5
