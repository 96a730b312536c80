"""Copies and near-copies in the catalog: found, told apart, gone with their documents."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import msgspec

from streams.consumers.catalog_duplicates import Duplicate
from streams.records import CanonSummary, Content, GoneLink, Outcome, Provenance, ProvenanceLink, Record, Status
from streams.screen.near import standard_error
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import at, canon, sha, state, version
from tests.unit.screen.test_near import WORDS, of, pair

Records = list[tuple[str, str, Record | None]]


def document(name: str, words: list[str] | None, content: str | None = None, **fields: Any) -> Records:
    """A document and what consumers see of it; without words its text is too short to be compared."""
    content_hash = sha(" ".join(words or [name]) if content is None else content)
    known = version(1, content=Content(sha256=content_hash, size=10))
    seen = canon(name, content_hash=content_hash, summary=CanonSummary(signature=of(words) if words else None))
    return [
        ("versions", f"s:{name}", state(name, known, **fields)),
        ("canon-ready", f"s:{name}", seen),
    ]


def text(seed: int, count: int = 300) -> list[str]:
    draw = random.Random(seed)  # noqa: S311 - the same each time
    return [f"{draw.choice(WORDS)}{draw.randrange(60)}" for _ in range(count)]


def names(found: list[Duplicate]) -> list[tuple[str, bool]]:
    return [(row.source_id, row.exact) for row in found]


async def test_copies_near_copies_and_others(apply: Applied) -> None:
    words = text(1)
    near = [*words[:150], "inserted", *words[150:]]
    apply(
        *document("a", words),
        *document("b", words),
        *document("c", near),
        *document("d", text(2)),
        *document("short", None, content="x"),
        *document("short copy", None, content="x"),
    )
    found = apply.catalog.duplicates("s:a", 0.8)
    assert (found.compared, names(found.documents)) == (True, [("s:b", True), ("s:c", False)])
    assert found.documents[0].similarity == 1.0
    assert 0.9 < (found.documents[1].similarity or 0) < 1
    assert (found.documents[1].path, found.documents[1].source) == ("folder/c", "s")
    assert names(apply.catalog.duplicates("s:d", 0.8).documents) == []
    short = apply.catalog.duplicates("s:short", 0.8)
    assert (short.compared, names(short.documents)) == (False, [("s:short copy", True)])
    groups = apply.catalog.duplicate_groups(0.8)
    assert [names(group) for group in groups] == [
        [("s:a", True), ("s:b", True), ("s:c", False)],
        [("s:short", True), ("s:short copy", True)],
    ]
    assert names(apply.catalog.duplicate_groups(1.0)[0]) == [("s:a", True), ("s:b", True)]


async def test_what_is_deleted_withdrawn_or_changed_is_no_duplicate_any_more(apply: Applied) -> None:
    words = text(1)
    apply(*(each for name in "abcd" for each in document(name, [*words, name])))
    assert len(apply.catalog.duplicates("s:a", 0.8).documents) == 3
    gone = state("b", version(1), status=Status.DELETED, current=None, high_water=5)
    apply(("versions", "s:b", gone), ("canon-ready", "s:b", None), ("canon-ready", "s:c", None))
    apply(*document("d", text(7), high_water=9))
    assert apply.catalog.duplicates("s:a", 0.8).documents == []
    assert apply.catalog.duplicate_groups(0.8) == []
    apply(*document("c", [*words, "c"], high_water=10))
    assert names(apply.catalog.duplicates("s:a", 0.8).documents) == [("s:c", False)]


async def test_held_documents_are_copies_too_and_empty_files_are_none(apply: Applied) -> None:
    words = text(1)
    held = version(1, Outcome.QUARANTINED, content=Content(sha256=sha(" ".join(words)), size=10))
    empty = version(1, Outcome.SKIPPED, content=Content(sha256=sha(""), size=0))
    apply(
        *document("a", words),
        *document("z", [*words, "more"]),
        ("versions", "s:held", state("0 held", held, source_id="s:held")),
        *(("versions", f"s:empty{n}", state(str(n), empty, source_id=f"s:empty{n}")) for n in range(3)),
    )
    assert names(apply.catalog.duplicates("s:a", 0.8).documents) == [("s:held", True), ("s:z", False)]
    assert [sorted(name for name, _ in names(group)) for group in apply.catalog.duplicate_groups(0.8)] == [
        ["s:a", "s:held", "s:z"]
    ]
    assert apply.catalog.duplicates("s:empty1", 0.8).documents == []


async def test_the_story_of_a_document_has_the_other_places_of_its_content_with_their_rights(apply: Applied) -> None:
    words = text(1)
    content_hash = sha(" ".join(words))
    links = [
        ProvenanceLink(source_id="s:a", path="folder/a", readers=["staff"], sequence=at(1)),
        ProvenanceLink(source_id="o:b", path="other/b", owner="eva", sequence=at(2)),
    ]
    known = Provenance(content_hash=content_hash, size=10, links=links)
    apply(*document("a", words), ("contents", content_hash, known))
    story = apply.catalog.document("s:a")
    assert [(link["source_id"], link["path"], link["readers"]) for link in story.same_content] == [
        ("o:b", "other/b", None)
    ]
    assert story.more_of_same_content is False
    gone = [GoneLink(source_id="o:b", sequence=at(3))]
    without = msgspec.structs.replace(known, links=links[:1], gone=gone, complete=False)
    apply(("contents", content_hash, without))
    story = apply.catalog.document("s:a")
    assert (story.same_content, story.more_of_same_content) == ([], True)


async def test_a_group_holds_together_by_its_pairs(apply: Applied) -> None:
    """Each version of a text is like the one before; the last one is not like the first."""
    texts = [text(1, 400)]
    draw = random.Random(2)  # noqa: S311 - the same each time
    for step in range(6):
        texts.append(list(texts[-1]))
        for place in draw.sample(range(400), 9):
            texts[-1][place] = f"changed{step}and{place}"
    for one, other in pairwise(texts):
        assert one != other
    apply(*(each for n, words in enumerate(texts) for each in document(f"v{n}", words)))
    (group,) = apply.catalog.duplicate_groups(0.8)
    assert group[0].source_id == "s:v0"
    assert len(group) == 7
    assert (group[-1].similarity or 0) < 0.7


async def test_200_pairs_are_found_and_false_alarms_counted(apply: Applied) -> None:
    draw = random.Random(11)  # noqa: S311 - the same each time
    kinds = {(0.8, 0.98): 200, (0.65, 0.75): 60, (0.5, 0.6): 60, (0.2, 0.4): 60}
    made: dict[tuple[float, float], list[tuple[str, str, float]]] = {kind: [] for kind in kinds}
    records: Records = []
    for kind, count in kinds.items():
        for number in range(count):
            first, second, true = pair(draw, *kind)
            one, other = f"{kind[0]}-{number}-a", f"{kind[0]}-{number}-b"
            records += document(one, first) + document(other, second)
            made[kind].append((f"s:{one}", f"s:{other}", true))
    apply(*records)
    listed = {}
    for kind, pairs in made.items():
        hits = 0
        for one, other, true in pairs:
            found = {row.source_id: row.similarity for row in apply.catalog.duplicates(one, 0.8).documents}
            assert set(found) <= {other}, "nothing but its own pair"
            hits += other in found
            if other in found:
                assert abs((found[other] or 0) - true) < 5 * standard_error(true)
        listed[kind[0]] = hits / len(pairs)
    groups = apply.catalog.duplicate_groups(0.8)
    assert {len(group) for group in groups} == {2}
    assert len(groups) == sum(round(share * len(made[kind])) for kind, share in zip(made, listed.values(), strict=True))
    assert listed[0.8] >= 0.95
    assert listed[0.65] <= 0.15  # 0.75 is within two standard errors of what is listed
    assert listed[0.5] == listed[0.2] == 0


async def test_thousands_of_forms_that_are_half_alike_are_no_duplicates(apply: Applied) -> None:
    """Every pair of them meets in some band; they are compared with some neighbours only, and not found alike."""
    frame = text(3, 200)
    apply(*(each for n in range(300) for each in document(f"{n}", [*frame, *text(100 + n, 60)])))
    assert apply.catalog.duplicate_groups(0.9) == []
    assert apply.catalog.duplicates("s:7", 0.9).documents == []
