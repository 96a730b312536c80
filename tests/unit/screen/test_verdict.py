"""What passes, what is held, and with which code: the screen on texts whose damage is known."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from streams.records import PROBLEMS, Block, BlockKind, BlockSource, CanonBody, Method, Outcome, Screening
from streams.screen import Policy, Thresholds, screen
from tests.unit.screen.texts import (
    MEMO,
    SPACED,
    TEXTS,
    UNLISTED,
    canon,
    page,
    paragraph,
    pdf,
    raw_codes,
    shifted,
)

POLICY = Policy()


def judged(body: CanonBody | str, policy: Policy = POLICY, *, size: int = 10_000) -> Screening:
    found = screen(canon(body) if isinstance(body, str) else body, policy, size=size)
    assert found.outcome is (Outcome.QUARANTINED if found.problems else Outcome.READY)
    assert (found.error is None) == (not found.problems)
    assert set(found.problems) <= set(PROBLEMS)
    assert found.policy == policy.id
    return found


# --- what passes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", [*TEXTS, *UNLISTED])
@pytest.mark.parametrize("declared", [True, False])
def test_clean_text_passes(language: str, declared: bool) -> None:
    text = {**TEXTS, **UNLISTED}[language]
    found = judged(canon(text, language=language if declared else None))
    assert (found.problems, found.warnings) == ([], [])
    assert ("dictionary_rate" in found.scores) == (language in SPACED)
    if language in SPACED:
        assert found.scores["dictionary_rate"] >= 0.85
    shares = [found.scores[name] for name in ("letters", "digits", "space", "punctuation", "other")]
    assert sum(shares) == pytest.approx(1, abs=0.001)


def test_short_memo_passes() -> None:
    assert judged(MEMO).outcome is Outcome.READY


def test_document_with_a_wrong_language_label_passes() -> None:
    assert judged(canon(TEXTS["de"], language="en")).outcome is Outcome.READY


@pytest.mark.parametrize("kind", [BlockKind.PARAGRAPH, BlockKind.TABLE])
def test_figures_are_no_damage(kind: BlockKind) -> None:
    rows = [f"{1990 + i}\t{i * 147.29:,.1f}\t{i * 33.1:,.1f}\t{i * 9999:,}" for i in range(31)]
    assert judged(pdf("\n".join(rows), kind=kind)).outcome is Outcome.READY


def test_table_of_names_and_codes_passes() -> None:
    rows = "\n".join(f"A-{i}\tXq{i}\tAlma Ċensu\tĊirkewwa" for i in range(60))
    assert judged(pdf(rows, kind=BlockKind.TABLE)).outcome is Outcome.READY
    assert judged(canon(paragraph(rows, kind=BlockKind.TABLE), media_type="text/csv")).outcome is Outcome.READY


def test_source_code_and_markdown_pass() -> None:
    code = Path(__file__).read_text(encoding="utf-8")
    assert judged(canon(paragraph(code, kind=BlockKind.CODE), media_type="text/x-python")).outcome is Outcome.READY
    plain = "def area(width, height):\n    return width * height\n\n\nprint(area(3, 4))\n"
    assert judged(plain).outcome is Outcome.READY
    assert (
        judged("# Rules\n\n- [ ] close the gate\n- [x] feed the hens\n\n| a | b |\n|---|---|\n| 1 | 2 |").problems == []
    )


def test_contents_with_leaders_pass() -> None:
    lines = [
        f"{name} {'.' * 60} {n}" for n, name in enumerate(["Introduction", "Methods", "Results", "Summary", "Index"])
    ]
    assert judged("\n".join(lines)).outcome is Outcome.READY


def test_log_lines_are_no_repetition() -> None:
    lines = [
        f"2024-01-02 12:{i // 60:02}:{i % 60:02} INFO server answered request {i} in {i * 13 % 97} ms"
        for i in range(400)
    ]
    assert judged("\n".join(lines)).outcome is Outcome.READY


def test_one_lost_character_in_a_long_text_is_a_warning() -> None:
    found = judged(TEXTS["en"] * 3 + " caf\ufffd")
    assert (found.problems, found.warnings) == ([], ["replacement_chars"])


# --- what is held ------------------------------------------------------------------------------------------------


def test_nothing_extracted() -> None:
    for body in (canon(), canon(" \n "), canon(paragraph("Page 1 of 3", kind=BlockKind.PAGE_FOOTER)), pdf("", "")):
        assert "empty_extraction" in judged(body).problems


def test_mail_may_be_its_attachment_alone() -> None:
    found = judged(canon(media_type="message/rfc822"))
    assert (found.outcome, found.warnings) == (Outcome.READY, ["no_text"])


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "sv", "pt"])
def test_shifted_letters(language: str) -> None:
    found = judged(shifted(TEXTS[language]))
    assert found.problems == ["low_dictionary_rate"]
    assert found.scores["dictionary_rate"] < 0.4


@pytest.mark.parametrize("language", sorted(UNLISTED))
def test_shifted_letters_of_a_language_without_a_list(language: str) -> None:
    assert judged(shifted(UNLISTED[language])).problems == ["low_dictionary_rate"]


def test_shifted_letters_that_claim_a_language_without_a_list() -> None:
    assert "low_dictionary_rate" in judged(canon(shifted(TEXTS["en"]), language="et")).problems


@pytest.mark.parametrize("language", ["en", "de", "ru", "el", "cs"])
def test_half_of_the_letters_wrong(language: str) -> None:
    dice = random.Random(1)  # noqa: S311  # a fixed seed, so that the damage is the same each time
    noise = "".join(dice.choice("qwxzjvkpbg") if c.isalpha() and dice.random() < 0.5 else c for c in TEXTS[language])
    assert "low_dictionary_rate" in judged(noise).problems


def test_shifted_table_on_a_page() -> None:
    rows = "\n".join(shifted(TEXTS["en"]).split(". "))
    assert "low_dictionary_rate" in judged(pdf(rows, kind=BlockKind.TABLE)).problems


@pytest.mark.parametrize("text", [raw_codes(TEXTS["en"]), " ".join(f"(cid:{n})" for n in range(40)), "\ue012" * 200])
def test_glyph_numbers(text: str) -> None:
    assert "cid_leak" in judged(pdf(text)).problems


def test_page_of_replacement_characters() -> None:
    found = judged(pdf("\ufffd" * 300))
    assert {"cid_leak", "replacement_chars"} <= set(found.problems)
    one_of_twenty = judged(pdf(*(f"{TEXTS['en']} Part {n}." for n in range(19)), "\ufffd" * 300))
    assert "cid_leak" not in one_of_twenty.problems
    assert "damaged_pages" in one_of_twenty.warnings


def test_lost_bullets_are_a_warning() -> None:
    found = judged(pdf("\n".join(f"\ufffd {sentence}" for sentence in TEXTS["en"].split(", "))))
    assert (found.problems, found.warnings) == ([], ["replacement_chars"])


def test_five_marks_on_a_page_are_no_document() -> None:
    assert judged(pdf('"7+%-')).problems == ["near_empty_pages"]


@pytest.mark.parametrize("language", ["de", "fr", "cs", "ru", "el", "vi", "hi", "ja", "zh"])
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1251", "mac-roman", "koi8-r"])
def test_double_decoding(language: str, encoding: str) -> None:
    assert "mojibake" in judged(TEXTS[language].encode().decode(encoding, "replace")).problems


@pytest.mark.parametrize(("real", "taken"), [("cp1251", "cp1252"), ("koi8-r", "cp1251"), ("cp866", "cp1251")])
def test_wrong_single_decoding(real: str, taken: str) -> None:
    found = judged(TEXTS["ru"].encode(real).decode(taken, "replace"))
    assert {"mojibake", "low_dictionary_rate", "low_letter_ratio"} & set(found.problems)


def test_utf16_read_as_bytes() -> None:
    assert "mojibake" in judged(TEXTS["en"].encode("utf-16-le").decode("latin-1")).problems


@pytest.mark.parametrize("language", ["de", "fr", "cs", "ru"])
def test_lost_characters(language: str) -> None:
    lost = "".join("\ufffd" if ord(c) > 127 else c for c in TEXTS[language])
    found = judged(lost)
    assert "replacement_chars" in found.problems
    assert "mojibake" not in found.problems


def test_ink_that_is_no_letters() -> None:
    assert "low_letter_ratio" in judged("#$ %& !? ~^ *+ <> {} |; :, " * 20).problems


def test_glued_and_spaced_words() -> None:
    assert "token_length" in judged(TEXTS["en"].replace(" ", "")).problems
    assert "token_length" in judged(" ".join(TEXTS["en"])).problems


@pytest.mark.parametrize("between", ["\n", " "])
def test_one_sentence_300_times(between: str) -> None:
    found = judged(between.join(["The gate is closed at night and opened at dawn by the guard."] * 300))
    assert found.problems == ["too_repetitive"]


def _sheet(seed: int) -> str:
    return "\n".join(f"Line {n} of sheet {seed}: the {n * seed} boats of the harbour came back." for n in range(24))


def test_a_page_that_comes_again_is_no_damage_but_is_said() -> None:
    again = _sheet(3).replace("Line 7 of", "Line ? of")  # recognition errs here and there
    found = screen(pdf(_sheet(3), again, _sheet(3), _sheet(3)), Policy(), size=5000)
    assert found.problems == []
    assert "repeated_pages" in found.warnings
    assert found.scores["repeated_pages"] == 0.75
    assert screen(pdf(_sheet(1), _sheet(2), _sheet(3)), Policy(), size=5000).warnings == []


def test_repetition_inside_a_page_counts_although_the_page_comes_again() -> None:
    loop = "The gate is closed at night and opened at dawn by the guard.\n" * 60
    assert screen(pdf(loop, loop), Policy(), size=5000).problems == ["too_repetitive"]
    few = "\n".join(["Approved by the harbour office of the northern islands", "and by the board"] * 15)
    assert "too_repetitive" in screen(pdf(few, few, few), Policy(), size=5000).problems


def test_mostly_white_space() -> None:
    assert judged((" " * 40 + "word ") * 30).problems == ["excessive_whitespace"]


# --- pages -------------------------------------------------------------------------------------------------------


def test_scan_needs_recognition() -> None:
    assert judged(pdf("", "", image_area=1.0)).problems == ["needs_recognition", "empty_extraction"]
    hybrid = canon(
        paragraph(TEXTS["en"], page=1), media_type="application/pdf", pages=[page(1), page(2, image_area=0.97)]
    )
    found = judged(hybrid)
    assert found.problems == ["needs_recognition"]
    assert found.error == "needs_recognition: no text that can be read on page 2"


def test_recognised_page_without_text_does_not_ask_again() -> None:
    body = canon(
        paragraph(TEXTS["en"], page=1),
        media_type="application/pdf",
        pages=[page(1), page(2, image_area=1.0, source=BlockSource.OCR)],
    )
    assert judged(body).outcome is Outcome.READY


def test_picture_beside_text_is_no_scan() -> None:
    assert judged(pdf(TEXTS["en"], image_area=0.9)).outcome is Outcome.READY


def test_nearly_empty_pages() -> None:
    assert judged(pdf("One", "Two", "Three", "Four", TEXTS["en"])).problems == ["near_empty_pages"]
    assert judged(pdf(*["会議室の利用についてのお知らせです。三階の部屋を使います。"] * 3)).outcome is Outcome.READY
    assert judged(pdf("The stall may stand on the square.")).outcome is Outcome.READY
    slides = pdf("One", "Two", "Three", "Four")
    slides = CanonBody(
        **{
            **{name: getattr(slides, name) for name in slides.__struct_fields__},
            "media_type": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        }
    )
    assert judged(slides).outcome is Outcome.READY


def test_damaged_pages_hold_a_document_from_a_share_on() -> None:
    good, bad = [TEXTS["en"]], [shifted(TEXTS["en"])]
    repeats = Policy(defaults=Thresholds(max_repeated_lines=1.0, max_repeated_ngrams=1.0))
    few = judged(pdf(*good * 19, *bad), repeats)
    assert (few.problems, few.warnings) == ([], ["damaged_pages"])
    assert few.pages[19].scores["dictionary_rate"] < 0.4
    assert few.pages[0].scores["dictionary_rate"] == 1.0
    many = judged(pdf(*good * 8, *bad * 2), repeats)
    assert many.problems == ["low_dictionary_rate"]
    assert many.error == "low_dictionary_rate: on page 9, 10"


def test_bilingual_document_passes() -> None:
    found = judged(pdf(TEXTS["en"], TEXTS["de"], TEXTS["ru"], TEXTS["ja"]))
    assert (found.outcome, found.problems) == (Outcome.READY, [])


def test_unsure_recognition() -> None:
    body = pdf(TEXTS["en"])
    fields = {name: getattr(body, name) for name in body.__struct_fields__}
    sure = CanonBody(**{**fields, "method": Method.OCR, "confidence": 0.93})
    unsure = CanonBody(**{**fields, "method": Method.OCR, "confidence": 0.31})
    assert judged(sure).outcome is Outcome.READY
    assert judged(unsure).problems == ["low_ocr_confidence"]


# --- policy and purity -------------------------------------------------------------------------------------------


def test_policy_decides() -> None:
    text = "\n".join(["The gate is closed at night and opened at dawn by the guard."] * 300)
    lenient = Policy(sources={"gate": {"max_repeated_lines": 1.0, "max_repeated_ngrams": 1.0}})
    assert screen(canon(text), lenient, size=1, source="gate").outcome is Outcome.READY
    assert screen(canon(text), lenient, size=1, source="other").outcome is Outcome.QUARANTINED
    strict = Policy(defaults=Thresholds(min_dictionary_rate=1.0, min_dictionary_tokens=1, doubtful_dictionary_rate=1.0))
    assert screen(canon(MEMO + " Xqzt."), strict, size=1).problems == ["low_dictionary_rate"]


def test_same_body_same_screening_in_another_process() -> None:
    program = (
        "from tests.unit.screen.texts import *\nfrom streams.screen import *\nimport msgspec\n"
        "for t in (TEXTS['en'], TEXTS['tr'], TEXTS['ja'], shifted(TEXTS['en'])):\n"
        "    print(msgspec.json.encode(screen(pdf(t, MEMO), Policy(), size=9)))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == 4


@pytest.mark.parametrize(
    "text", ["\x00", "\ud800" * 60, "\u202e" * 80, "a" * 100_000, "e\u0301" * 500, "\n" * 1000, "0"]
)
def test_odd_texts_end_in_a_verdict(text: str) -> None:
    judged(text)
    judged(pdf(text, text))


@pytest.mark.parametrize(
    "unit", ["a", "1", "a1", "/", "a@", "://", ".", ". ", "é", "’a", "e\u0301", "漢", "Ã", "(cid:", "\u0301"]
)
def test_a_megabyte_without_a_space_takes_no_time(unit: str) -> None:
    began = time.process_time()
    judged(unit * (1_000_000 // len(unit)))
    assert time.process_time() - began < 20


CASES = Path(__file__).parents[4] / "shared" / "cases" / "files"


@pytest.mark.skipif(not CASES.is_dir(), reason="no case files beside the checkout")
@pytest.mark.parametrize(
    ("name", "encoding", "language", "problem"),
    [
        ("enc/russian-koi8r.txt", "koi8-r", "ru", None),
        ("enc/greek-iso8859-7.txt", "iso8859-7", "el", None),
        ("enc/czech-cp1250.txt", "cp1250", "cs", None),
        ("enc/chinese-gb18030.txt", "gb18030", "zh", None),
        ("enc/japanese-shift-jis-memo.txt", "cp932", "ja", None),
        ("enc/spanish-cp1252-short.txt", "cp1252", "es", None),
        ("text/short-memo.txt", "utf-8", "en", None),
        ("text/one-line-1mb.txt", "utf-8", "en", None),
        ("text/boilerplate-300-times.txt", "utf-8", None, "too_repetitive"),
        ("text/mojibake-russian-utf8-as-cp1251.txt", "utf-8", None, "mojibake"),
        ("text/mojibake-german-twice.txt", "utf-8", None, "mojibake"),
    ],
)
def test_cases_that_the_text_decides(name: str, encoding: str, language: str | None, problem: str | None) -> None:
    from streams.screen import detect_language

    text = (CASES / name).read_bytes().decode(encoding)
    assert judged(text).problems == ([problem] if problem else [])
    if language:
        assert detect_language(text)[0] == language


@pytest.mark.parametrize(
    ("warnings", "said"),
    [
        (["not_content", "login_page"], "a login page"),
        (["not_content", "script_shell"], "the empty shell of an application"),
        (["not_content"], "no content of its own"),
    ],
)
def test_a_page_in_place_of_the_document_is_held(warnings: list[str], said: str) -> None:
    body = msgspec.structs.replace(canon(TEXTS["en"]), warnings=warnings)
    found = judged(body)
    assert found.problems == ["not_content"]
    assert found.error is not None
    assert said in found.error


@pytest.mark.parametrize(("media_type", "method"), [("image/png", Method.OCR), ("image/svg+xml", Method.NATIVE)])
def test_a_picture_without_text_is_skipped_and_with_text_it_is_not(media_type: str, method: Method) -> None:
    empty = CanonBody(
        content_hash="", fingerprint="", extractor="", extractor_version="", media_type=media_type, method=method
    )
    said = screen(empty, Policy(), size=1000)
    assert (said.outcome, said.rule, said.problems) == (Outcome.SKIPPED, "image_without_text", [])
    block = Block(kind=BlockKind.PARAGRAPH, text="The harbour is closed on Sunday.", source=BlockSource.OCR)
    assert screen(msgspec.structs.replace(empty, blocks=[block]), Policy(), size=1000).rule is None
    unread = msgspec.structs.replace(empty, media_type="image/png", method=Method.NATIVE)
    assert screen(unread, Policy(), size=1000).outcome is Outcome.QUARANTINED


def test_a_damaged_picture_is_held_whether_text_was_left_or_not() -> None:
    damaged = CanonBody(
        content_hash="",
        fingerprint="",
        extractor="",
        extractor_version="",
        media_type="image/png",
        method=Method.OCR,
        warnings=["truncated"],
    )
    said = screen(damaged, Policy(), size=1000)
    assert said.outcome is Outcome.QUARANTINED
    assert "truncated" in said.problems
    some = paragraph("The harbour is closed on Sunday, and the keeper writes down the names of all ships that pass.")
    said = screen(msgspec.structs.replace(damaged, blocks=[some]), Policy(), size=1000)
    assert (said.outcome, said.problems) == (Outcome.QUARANTINED, ["truncated"])
