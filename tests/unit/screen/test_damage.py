"""Every fifth word, letter or line damaged: held; the same texts, and texts that only look odd: not."""

from __future__ import annotations

import random

import pytest

from bench.damage import DAMAGES
from streams.records import Cell, Table
from streams.screen import Policy, screen
from streams.screen.layout import impossible
from tests.unit.screen.texts import TEXTS, canon, pdf

HARMLESS = {
    "parts": "\n".join(
        f"M{n} hex bolt DIN 933 zinc plated, pack of {n * 10}, order no. HX-{n}-ZN" for n in range(4, 40)
    ),
    "chemistry": "2-Methylpropan-2-ol and N,N-dimethylformamide were added to trichloroacetonitrile; the "
    "diethylaminosulfur trifluoride was quenched with sodium hydrogencarbonate and extracted with dichloromethane.",
    "species": "Parus major, Cyanistes caeruleus, Sitta europaea, Certhia familiaris, Turdus merula, "
    "Erithacus rubecula, Fringilla coelebs, Carduelis carduelis, Pyrrhula pyrrhula were seen.",
    "names": "\n".join(
        ["Wojciechowski, Agnieszka", "Nguyễn Thị Hồng", "Þórarinsdóttir, Guðrún", "O'Shaughnessy, Siobhán"]
    ),
    "capitals": TEXTS["en"].upper(),
    "identifiers": "Call getElementById or query_selector_all, then set innerHTML; see the GitHub issue of JavaScript. "
    * 3,
    "citation": "See Roe v. Wade, 410 U.S. 113 (1973); 42 U.S.C. § 1983; Fed. R. Civ. P. 12(b)(6); id. at 120 n.4.",
    "mixed": TEXTS["en"] + "\n" + TEXTS["de"] + "\n" + TEXTS["fr"],
    "old spelling": "Seyd ihr auch frölich und wolgemuth, so saget mir doch, warumb ihr allhier verweilet und was ihr "
    "in diesem Thale zu schaffen habt, da doch niemand allhier wohnet.",
}


def _damaged(kind: str, language: str) -> str:
    text = "\n".join(TEXTS[language].replace(". ", ".\n").split("\n") * 3)
    return DAMAGES[kind](text, language, 0.3, random.Random(3))  # noqa: S311  # the same damage each time


@pytest.mark.parametrize("language", ["en", "de", "ru", "el", "pl", "tr"])
@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("replaced_letters", {"low_dictionary_rate", "mojibake"}),
        ("shifted_glyphs", {"low_dictionary_rate", "mojibake"}),
        ("dropped_spaces", {"token_length", "low_dictionary_rate", "mojibake"}),
        ("reversed_words", {"low_dictionary_rate", "mojibake"}),
        ("scrambled_case", {"low_dictionary_rate"}),
    ],
)
def test_damage_in_part_of_the_words_is_held(language: str, kind: str, codes: set[str]) -> None:
    found = screen(canon(_damaged(kind, language)), Policy(), size=1000)
    assert codes & set(found.problems), found.scores


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_only_looks_odd_passes(name: str) -> None:
    found = screen(canon(HARMLESS[name]), Policy(), size=1000)
    assert found.problems == [], found.error


def test_characters_of_chinese_and_thai() -> None:
    for language in ("zh", "th"):
        text = TEXTS[language] * 5
        assert screen(canon(text, language=language), Policy(), size=1000).problems == []
        wrong = DAMAGES["replaced_letters"](text, language, 0.3, random.Random(1))  # noqa: S311
        assert "low_dictionary_rate" in screen(canon(wrong, language=language), Policy(), size=1000).problems


def test_grids_that_cannot_be() -> None:
    good = Table(n_rows=2, n_cols=2, cells=[Cell(row=0, col=0, col_span=2, text="a"), Cell(row=1, col=0, text="b")])
    overlapping = Table(
        n_rows=2, n_cols=2, cells=[Cell(row=0, col=0, col_span=2, text="a"), Cell(row=0, col=1, text="b")]
    )
    outside = Table(n_rows=1, n_cols=1, cells=[Cell(row=0, col=1, text="a")])
    huge = Table(n_rows=10**9, n_cols=10**9, cells=[Cell(row=0, col=0, row_span=10**9, col_span=10**9, text="a")])
    assert impossible([good, overlapping, outside, huge]) == [1, 2]


def test_pages_of_doubtful_order() -> None:
    body = pdf(TEXTS["en"], TEXTS["de"])
    import msgspec

    pages = [msgspec.structs.replace(page, reading_order=0.1) for page in body.pages]
    found = screen(msgspec.structs.replace(body, pages=pages), Policy(), size=1000)
    assert found.problems == ["reading_order"]
    assert found.scores["reading_order"] == 0.1
