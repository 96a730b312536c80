"""The catalog's answers, from records applied to a real database."""

import unicodedata
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from streams.consumers.catalog import Catalog, CatalogWriter
from streams.consumers.database import DatabaseOutdated
from streams.errors import NotFound, SettingsError
from streams.log.publisher import Published
from streams.records import (
    Change,
    Deletion,
    Operation,
    Outcome,
    PageScores,
    Provenance,
    ProvenanceLink,
    Screening,
    Status,
)
from streams.settings import Settings
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import NOW, at, body, canon, held, paragraph, payload, sha, state, version


async def test_a_document_s_story_has_everything(apply: Applied) -> None:
    first = version(1, valid_to=NOW, superseded_by=at(4))
    screening = Screening(
        outcome=Outcome.QUARANTINED, problems=["cid_leak", "mojibake"], error="glyph numbers", policy="p1"
    )
    second = version(4, Outcome.QUARANTINED, screening=screening)
    moved = Change(operation=Operation.MOVE, sequence=at(2), at=NOW, path="b/a.txt", file_name="a.txt")
    apply(
        ("versions", "s:a", state("a", first, second, changes=[moved], published=at(1), stale=True)),
        ("canon-ready", "s:a", canon("a", stale=True)),
        ("quarantine", "s:a", held("a", "cid_leak", "mojibake", error="glyph numbers")),
        (
            "contents",
            sha("4"),
            Provenance(
                content_hash=sha("4"),
                size=10,
                links=[ProvenanceLink(source_id="s:a", path="a"), ProvenanceLink(source_id="s:b", path="b")],
            ),
        ),
    )
    story = apply.catalog.document("s:a")
    assert story.document.outcome == "quarantined"
    assert story.document.problems == ["cid_leak", "mojibake"]
    assert story.document.error == "glyph numbers"
    assert (story.document.published_offset, story.document.stale) == (1, True)
    assert [row["offset"] for row in story.versions] == [1, 4]
    assert story.versions[0]["superseded_by_offset"] == 4
    assert story.versions[0]["valid_to"] == NOW
    assert story.versions[0]["extractor"] == "plain"
    assert story.versions[0]["canons"][0]["payload"]["inline"] is None
    assert story.versions[1]["policy"] == "p1"
    assert [row["operation"] for row in story.changes] == ["move"]
    assert story.canon is not None
    assert story.canon["stale"] is True
    assert story.held is not None
    assert story.held["problems"] == ["cid_leak", "mojibake"]
    assert [link["source_id"] for link in story.same_content] == ["s:b"]


async def test_a_newer_state_replaces_versions_and_problems(apply: Applied) -> None:
    apply(("versions", "s:a", state("a", version(1, Outcome.QUARANTINED, problems=("cid_leak",)))))
    assert [row.source_id for row in apply.catalog.list_documents(problem="cid_leak")] == ["s:a"]
    apply(("versions", "s:a", state("a", version(1))))
    assert apply.catalog.list_documents(problem="cid_leak") == []
    assert [row.outcome for row in apply.catalog.list_documents()] == ["ready"]


async def test_a_state_of_a_lower_high_water_changes_nothing(apply: Applied) -> None:
    apply(("versions", "s:a", state("a", version(7))))
    apply(("versions", "s:a", state("a", version(3, Outcome.PENDING))))
    assert apply.catalog.high_water(["s:a", "s:unknown"]) == {"s:a": (1, 7)}


async def test_tombstones_take_canon_and_quarantine_away_and_leave_the_story(apply: Applied) -> None:
    deletion = Deletion(source_id="s:a", sequence=at(9), source="s", path="folder/a", actor="anna", deleted_at=NOW)
    apply(
        ("versions", "s:a", state("a", version(1))),
        ("canon-ready", "s:a", canon("a")),
        ("quarantine", "s:a", held("a", "too_short")),
    )
    apply(
        ("canon-ready", "s:a", None),
        ("quarantine", "s:a", None),
        ("deleted", "s:a", deletion),
        ("deleted", "s:a", deletion),
        ("versions", "s:a", state("a", version(1), high_water=9, status=Status.DELETED, current=None)),
    )
    story = apply.catalog.document("s:a")
    assert (story.document.status, story.canon, story.held) == ("deleted", None, None)
    assert [row["actor"] for row in story.deletions] == ["anna"]
    assert apply.catalog.held() == []
    counts = apply.catalog.counts()
    assert (counts.live, counts.deleted, counts.held) == (0, 1, 0)


async def test_find_takes_ids_paths_ends_of_paths_names_and_hashes(apply: Applied) -> None:
    name = unicodedata.normalize("NFC", "Übersicht_50%.txt")
    apply(
        ("versions", "s:1", state("1", version(1), source_id="s:1", path=f"Büro/2024/{name}", file_name=name)),
        ("versions", "s:2", state("2", version(2), source_id="s:2", path="Büro/x.txt", file_name="x.txt")),
    )
    for words in ("s:1", f"Büro/2024/{name}", name, f"2024/{name}", unicodedata.normalize("NFD", name), sha("1")):
        assert [row.source_id for row in apply.catalog.find(words)] == ["s:1"], words
    for words in ("sicht_50%.txt", "Übersicht_505.txt", "%", "_", "/", "", "' OR 1=1 --", "\0"):
        assert apply.catalog.find(words) == [], words


async def test_the_living_are_found_before_the_deleted(apply: Applied) -> None:
    apply(
        ("versions", "s:1", state("1", version(1), source_id="s:1", path="a.txt", status=Status.DELETED)),
        ("versions", "s:2", state("2", version(2), source_id="s:2", path="a.txt")),
    )
    assert [row.source_id for row in apply.catalog.find("a.txt")] == ["s:2", "s:1"]


async def test_an_unknown_document_is_not_found(apply: Applied) -> None:
    with pytest.raises(NotFound, match="knows no document 's:x'"):
        apply.catalog.document("s:x")


async def test_a_document_the_connector_could_not_deliver_has_a_row(apply: Applied) -> None:
    failed = version(1, Outcome.QUARANTINED, content=None, detection=None, summary=None, problems=("unreadable",))
    apply(("versions", "s:a", state("a", failed)), ("versions", "s:b", state("b", high_water=2)))
    assert apply.catalog.document("s:a").document.problems == ["unreadable"]
    assert apply.catalog.document("s:b").document.outcome is None


async def test_tables_and_counts(apply: Applied) -> None:
    apply(
        *(("versions", f"s:{i}", state(str(i), version(i), published=at(i))) for i in range(3)),
        ("versions", "s:q", state("q", version(9, Outcome.QUARANTINED, problems=("too_short",)))),
        ("versions", "o:p", state("p", version(8, Outcome.PENDING), source_id="o:p", source="o")),
        ("quarantine", "s:q", held("q", "too_short")),
    )
    table = [(row.media_type, row.outcome, row.count) for row in apply.catalog.outcome_table()]
    assert table == [("text/plain", "pending", 1), ("text/plain", "quarantined", 1), ("text/plain", "ready", 3)]
    assert [row.outcome for row in apply.catalog.outcome_table("o")] == ["pending"]
    counts = apply.catalog.counts()
    assert counts.outcomes == {"ready": 3, "quarantined": 1, "pending": 1}
    assert (counts.live, counts.published, counts.held, counts.oldest_held) == (5, 3, 1, NOW)
    assert apply.catalog.counts("o").live == 1


async def test_held_by_code_and_age_longest_first(apply: Applied) -> None:
    later = NOW + timedelta(hours=1)
    apply(
        ("quarantine", "s:b", held("b", "cid_leak", "mojibake", held_since=later)),
        ("quarantine", "s:a", held("a", "cid_leak")),
        ("quarantine", "s:c", held("c", "too_short", held_since=later)),
    )
    assert [row.source_id for row in apply.catalog.held()] == ["s:a", "s:b", "s:c"]
    assert [row.source_id for row in apply.catalog.held(1)] == ["s:a"]
    assert [row.source_id for row in apply.catalog.held(code="mojibake")] == ["s:b"]
    assert [row.source_id for row in apply.catalog.held(before=later)] == ["s:a"]


async def test_an_event_is_settled_when_its_version_has_ended(apply: Applied) -> None:
    def settled(offset: int) -> str | None:
        return apply.catalog.settled("s:a", 0, offset)

    assert settled(1) is None
    apply(("versions", "s:a", state("a", version(1, Outcome.PENDING))))
    assert settled(1) is None
    apply(("versions", "s:a", state("a", version(1))))
    assert settled(1) == "ready"
    assert settled(2) is None, "the ledger has not seen this event"
    apply(("versions", "s:a", state("a", version(1), version(3, Outcome.PENDING), high_water=3)))
    assert (settled(1), settled(2), settled(3)) == ("ready", None, None)
    apply(("versions", "s:a", state("a", version(1), version(3, Outcome.SKIPPED), high_water=4)))
    assert settled(4) == "skipped", "the same content again ends as its version did"
    apply(("versions", "s:a", state("a", version(1), high_water=5, status=Status.DELETED, current=None)))
    assert apply.catalog.settled_all([Published("s:a", 0, 5), Published("s:b", 0, 6)]) == {"s:a": "deleted"}


async def test_pages_of_a_list_follow_each_other(apply: Applied) -> None:
    apply(*(("versions", f"s:{i}", state(str(i), version(i))) for i in range(5)))
    first = apply.catalog.list_documents(limit=3)
    rest = apply.catalog.list_documents(limit=3, after=first[-1].source_id)
    assert [row.source_id for row in first + rest] == [f"s:{i}" for i in range(5)]


async def test_nul_and_quotes_in_texts_are_only_text(apply: Applied) -> None:
    apply(("versions", "s:a", state("a", version(1), path="x\0'\";--", file_name="\0")))
    assert apply.catalog.document("s:a").document.path == "x\u2400'\";--"


def test_a_database_of_another_schema_is_built_anew_by_the_writer_alone(settings: Settings) -> None:
    CatalogWriter(settings).close()
    engine = sa.create_engine(settings.catalog_database)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE meta SET value = '0'"))
    engine.dispose()
    with pytest.raises(DatabaseOutdated, match="schema 0"):
        Catalog(settings)
    CatalogWriter(settings).close()
    Catalog(settings).close()


@pytest.mark.parametrize("url", ["nonsense", "sqlite3:///x", "foo://bar/x"])
def test_a_wrong_url_is_an_error_of_the_settings(url: str) -> None:
    with pytest.raises(SettingsError):
        Catalog(Settings(catalog_url=url))


@pytest.mark.parametrize("at_once", [False, True])
async def test_scores_per_page_outlive_what_restates_a_document(apply: Applied, at_once: bool) -> None:
    """A move is published without them. Another text, or another judgement, has scores of its own or none."""
    pages = [PageScores(number=1, scores={"dictionary_rate": 0.125}), PageScores(number=2, scores={})]
    text, other = payload(body(paragraph("text"))), payload(body(paragraph("other")))
    about: dict[str, Any] = {"scores": {"dictionary_rate": 0.1}, "payload": text}
    first = held("a.pdf", "mojibake", pages=pages, **about)
    for changed, kept in (({"path": "moved/a.pdf"}, 2), ({"payload": other}, 0), ({"scores": {"x": 1.0}}, 0),
                          ({"sequence": at(9)}, 0), ({"pages": pages[:1]}, 1)):  # fmt: skip
        again = held("a.pdf", "mojibake", **{**about, **changed})
        records = [("quarantine", "s:a.pdf", first), ("quarantine", "s:a.pdf", again)]
        for batch in [records] if at_once else [records[:1], records[1:]]:
            apply(*batch)
        apply(("versions", "s:a.pdf", state("a.pdf", version(0))))
        row = apply.catalog.document("s:a.pdf").held
        assert row is not None
        assert (len(row["pages"]), row["path"]) == (kept, again.path), changed
    apply(("quarantine", "s:a.pdf", first), ("quarantine", "s:a.pdf", None))
    apply(("quarantine", "s:a.pdf", held("a.pdf", "mojibake", **about)))
    row = apply.catalog.document("s:a.pdf").held
    assert row is not None
    assert row["pages"] == []
    shown_pages = canon("b.pdf", pages=pages)
    apply(("canon-ready", "s:b.pdf", shown_pages), ("versions", "s:b.pdf", state("b.pdf", version(0))))
    apply(("canon-ready", "s:b.pdf", canon("b.pdf", path="moved/b.pdf")))
    shown = apply.catalog.document("s:b.pdf").canon
    assert shown is not None
    assert [page["number"] for page in shown["pages"]] == [1, 2]
