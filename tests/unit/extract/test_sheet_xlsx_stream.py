"""The XML of big parts: what is told of it, and what ends the reading."""

from __future__ import annotations

import io
import time
import tracemalloc

import pytest

from streams.extract import sheet_xlsx_stream
from streams.extract.sheet_xlsx_stream import FAULTS, parse


def read(data: bytes) -> list[str]:
    """What is told of elements called `a` and `v`, in the namespace `n` or in none."""
    text: list[str] = []
    told: list[str] = []
    try:
        parse(
            io.BytesIO(data),
            text,
            {name: lambda attributes: told.append(f"a {sorted(attributes.items())}") for name in ("a", "n}a")},
            {name: lambda: told.append("v " + "".join(text)) for name in ("v", "n}v")},
        )
    except FAULTS as error:
        told.append(type(error).__name__)
    return told


def test_attributes_and_the_text_since_the_last_tag() -> None:
    assert read(b'<x> <a k="1"/> before <v>7 &lt; <![CDATA[8]]></v> after <v/></x>') == [
        "a [('k', '1')]",
        "v 7 < 8",
        "v ",
    ]


def test_names_are_told_apart_by_their_namespace() -> None:
    data = b'<x xmlns="n" xmlns:o="other"><o:v>1</o:v><v>2</v><a o:id="3"/></x>'

    assert read(data) == ["v 2", "a [('other}id', '3')]"]


def test_what_stands_before_a_fault_is_told() -> None:
    assert read(b"<x><v>1</v><v>2</w></x>") == ["v 1", "ExpatError"]
    assert read(b"<x><v>1</v><v>2") == ["v 1", "ExpatError"]


@pytest.mark.parametrize("declared", [b'<!ENTITY e "eee">', b'<!ENTITY e SYSTEM "file:///etc/hostname">'])
def test_declared_entities_end_it(declared: bytes) -> None:
    assert read(b"<!DOCTYPE x [" + declared + b"]><x><v>&e;</v></x>") == ["ValueError"]


def test_elements_without_end_take_no_memory() -> None:
    tracemalloc.start()
    try:
        assert read(b"<x>" * 1_000_000) == ["ValueError"]
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("data", [b'<x k="%s"/>', b"<x><!--%s--></x>", b"<x><v>%s</v></x>", b"<x><a/>%s</x>"])
def test_what_is_too_long_ends_it_in_bounded_time(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sheet_xlsx_stream, "MAX_TOKEN", 1_000_000)
    begun = time.process_time()

    assert read(data % (b"y" * 1_200_000))[-1] == "ValueError"
    assert time.process_time() - begun < 5


def test_an_unknown_encoding_is_a_fault() -> None:
    assert len(read(b'<?xml version="1.0" encoding="no-such"?><x/>')) == 1
