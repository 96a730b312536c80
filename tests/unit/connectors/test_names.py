"""One spelling for every name that a file system can hold."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.connectors.names import display_path, file_name, raw_path, readable

NAMES = st.one_of(
    st.binary(max_size=24),
    st.text(max_size=24).map(lambda text: text.encode("utf-8", "surrogatepass")),
    # the pieces that make trouble, in all orders
    st.lists(
        st.sampled_from(
            [
                *(b"%", b"4", b"1", b"A", b"F", b"a", b"\xff", b"\x01", b"/", "\u0301".encode(), "\u0307".encode()),
                *("\u0323".encode(), "\u00e9".encode(), "e\u0301".encode(), "\u202e".encode(), "\u1100\u1161".encode()),
            ]
        ),
        max_size=10,
    ).map(b"".join),
)


def nfc(raw: bytes) -> bytes:
    text = unicodedata.normalize("NFC", raw.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"in/a/plan.txt", "in/a/plan.txt"),
        ("Übersicht.txt".encode(), "Übersicht.txt"),
        (unicodedata.normalize("NFD", "Übersicht.txt").encode(), "Übersicht.txt"),
        (b"100%.txt", "100%.txt"),
        (b"50%ab", "50%ab"),
        (b"a%41", "a%2541"),
        (b"a%%41", "a%%2541"),
        (b"caf\xe9.txt", "caf%E9.txt"),
        (b"caf%E9.txt", "caf%25E9.txt"),
        (b"two\nlines", "two%0Alines"),
        (b"a\x7f", "a%7F"),
        ("txt\u202eexe".encode(), "txt%E2%80%AEexe"),
        (b"\xff" + "\u0307".encode(), "%FF%CC%87"),
    ],
)
def test_spelling(raw: bytes, shown: str) -> None:
    assert display_path(raw) == shown


@given(NAMES)
@example(b"%A" + "B\u0307".encode())
def test_can_be_read_back(raw: bytes) -> None:
    assert raw_path(display_path(raw)) == nfc(raw)


@given(NAMES, NAMES)
@example(b"a%41", b"aA")
@example(b"\xe9", b"%E9")
def test_two_names_never_meet(one: bytes, other: bytes) -> None:
    assert (display_path(one) == display_path(other)) == (nfc(one) == nfc(other))


@given(NAMES)
def test_is_printable_nfc_text(raw: bytes) -> None:
    shown = display_path(raw)
    assert unicodedata.is_normalized("NFC", shown)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs"}
    shown.encode()  # no lone surrogates: Avro and JSON take it


@given(NAMES)
def test_normal_forms_of_one_name_are_one(raw: bytes) -> None:
    text = unicodedata.normalize("NFD", raw.decode("utf-8", "surrogateescape"))
    assert display_path(text.encode("utf-8", "surrogateescape")) == display_path(raw)


def test_file_name() -> None:
    assert file_name("in/a/plan.txt") == "plan.txt"
    assert file_name("plan.txt") == "plan.txt"


@given(st.text(max_size=24))
def test_text_of_a_source_is_made_readable_once(text: str) -> None:
    shown = readable(text)
    assert readable(shown) == shown
    assert unicodedata.is_normalized("NFC", shown)
    shown.encode()


@given(NAMES)
def test_spelled_paths_are_readable_already(raw: bytes) -> None:
    assert readable(display_path(raw)) == display_path(raw)


def test_what_parts_a_container_from_its_member_stands_in_no_name() -> None:
    assert display_path(b"own.zip!/a.txt") == "own.zip%21/a.txt"
    assert raw_path("own.zip%21/a.txt") == b"own.zip!/a.txt"
    assert display_path(b"own.zip%21/a.txt") == "own.zip%2521/a.txt"
    assert display_path(b"Hello!.txt") == "Hello!.txt"
