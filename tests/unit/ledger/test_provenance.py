"""Where a content lives follows from its links alone: their order per document and their repetition don't matter."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.ledger import provenance
from streams.ledger.provenance import follow
from streams.records import ContentLink, Provenance
from streams.records.codec import encode
from tests.unit.ledger.make import seq, sha


def link(name: str, offset: int, *, living: bool = True, **fields: object) -> ContentLink:
    values: dict[str, object] = {"path": f"{name}.txt", "readers": [name]} if living else {}
    return ContentLink(
        content_hash=sha("text"),
        source_id=f"s:{name}",
        sequence=seq(offset),
        living=living,
        size=4,
        **{**values, **fields},  # type: ignore[arg-type]
    )


def after(*links: ContentLink) -> Provenance:
    known: Provenance | None = None
    for each in links:
        known = follow(known, each)
    assert known is not None
    return known


def places(known: Provenance) -> dict[str, str]:
    return {each.source_id: each.path for each in known.links}


def test_two_shares_each_with_its_own_rights() -> None:
    known = after(link("a", 1), link("b", 2, readers=None, owner="eva"))
    assert [(each.source_id, each.readers, each.owner) for each in known.links] == [
        ("s:a", ["a"], None),
        ("s:b", None, "eva"),
    ]
    assert (known.size, known.complete, known.gone) == (4, True, [])


def test_without_living_ones_it_says_so_and_an_old_link_brings_nothing_back() -> None:
    known = after(link("a", 1), link("a", 5, living=False))
    assert (known.links, [each.source_id for each in known.gone]) == ([], ["s:a"])
    assert follow(known, link("a", 1)) is known
    assert follow(known, link("a", 5, living=False)) is known
    assert places(follow(known, link("a", 6, path="again.txt"))) == {"s:a": "again.txt"}


def test_a_repeated_link_is_no_change() -> None:
    known = after(link("a", 1), link("a", 3, path="b.txt"))
    assert follow(known, link("a", 3, path="b.txt")) is known
    assert follow(known, link("a", 1)) is known
    assert follow(known, link("b", 1, living=False)) is not known, "it is remembered"


LINKS = [link(name, offset, living=offset % 3 != 0, path=f"{offset}") for name in "abc" for offset in range(1, 7)]


@given(st.permutations(LINKS), st.lists(st.sampled_from(LINKS), max_size=20))
def test_any_order_and_any_repetition_gives_the_same_end(order: list[ContentLink], again: list[ContentLink]) -> None:
    end = after(*LINKS)
    assert after(*order) == end
    assert after(*order, *again) == end


def test_a_content_that_is_everywhere_has_a_bounded_record_and_says_that_there_are_more() -> None:
    known = after(*(link(f"{n:05}", n) for n in range(provenance.MOST_LINKS)))
    assert known.complete
    more = follow(known, link("more", 1000))
    assert (more.complete, more.links) == (False, known.links)
    assert follow(more, link("yet another", 1001)) is more, "from here on a copy costs nothing"
    assert not follow(more, link("00007", 1002, living=False)).complete
    assert "s:00007" not in places(follow(more, link("00007", 1002, living=False)))
    moved = follow(more, link("00003", 1003, path="elsewhere.txt"))
    assert places(moved)["s:00003"] == "elsewhere.txt"


def test_those_that_are_gone_make_room_for_the_living() -> None:
    most = provenance.MOST_LINKS
    known = after(*(link(f"{n:05}", n, living=False) for n in range(most)), link("new", most))
    assert (len(known.links), len(known.gone), known.complete) == (1, most - 1, True)
    assert "s:00000" not in [each.source_id for each in known.gone]


@pytest.mark.parametrize("who", ["x" * 40, "漢" * 40])
def test_a_record_always_fits_into_a_message(who: str) -> None:
    draw = random.Random(3)  # noqa: S311 - the same each time
    known: Provenance | None = None
    for n in range(300):
        name = f"{draw.randrange(150):05}"
        readers = [f"{who}{k}" for k in range(draw.randrange(1000))]
        known = follow(known, link(name, n, living=draw.random() < 0.8, readers=readers, path=who * 50))
        assert len(encode(known)) < 900 * 1024
    assert known is not None
    assert not known.complete
    assert known.links
