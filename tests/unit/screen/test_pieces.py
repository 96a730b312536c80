"""Large texts are counted in pieces, with the results that a small one has."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from streams.screen import counting, scores, undoing, words
from streams.screen.counting import character_counts, pieces

SENTENCE = "The house-keeper’s café costs 1,200.50 euros (naïve?); see www.example.org or a@b.example. "

LARGE_LINE = """
import resource
from streams.records import Block, BlockKind, BlockSource, CanonBody, Method
from streams.runtime.jobs import ScreenArgs, run_screen
text = " ".join(f"Pilots landed {n} of the old machines." for n in range(700_000))
block = Block(kind=BlockKind.PARAGRAPH, text=text, source=BlockSource.TEXT_LAYER, id="a")
body = CanonBody(
    content_hash="0" * 64, fingerprint="f", extractor="text", extractor_version="1", media_type="text/plain",
    method=Method.UNKNOWN, language="en", blocks=[block],
)
resource.setrlimit(resource.RLIMIT_AS, (640 << 20, 640 << 20))
print(len(text), *run_screen(body, ScreenArgs(size=len(text))).screening.problems)
"""


@pytest.mark.parametrize("text", ["", "a", "a b", " a  b ", "x" * 50, SENTENCE * 3, "a\u00a0b\u2028c\x1cd" * 9])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pieces_are_the_text_and_part_no_word(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setattr(counting, "AT_ONCE", size)
    assert "".join(pieces(text)) == text
    assert [word for piece in pieces(text) for word in piece.split()] == text.split()


def test_small_pieces_change_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SENTENCE * 20 + "".join(map(chr, range(0x20, 0x3000, 7))) + " last"
    whole = words.tokens(text), scores.repeated_ngrams(text), undoing.read_wrongly(text, words.tokens(text), "en")
    monkeypatch.setattr(counting, "AT_ONCE", 700)
    character_counts.cache_clear()
    assert character_counts(text) == Counter(text)
    assert words.tokens(text) == whole[0]
    assert scores.repeated_ngrams(text) == whole[1]
    assert undoing.read_wrongly(text, words.tokens(text), "en") == whole[2]
    monkeypatch.setattr(scores, "_MOST_IN_SET", 10)  # sorted instead
    assert scores.repeated_ngrams(text) == whole[1]


def test_a_large_line_takes_little_more_memory_than_itself() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE_LINE], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 25_000_000
