"""The quarantine as a queue: filters, groups, one document, and what a decision would publish."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streams.blobs import open_store
from streams.consumers.catalog_quarantine import Group, HeldFilter, batch_of
from streams.errors import NotFound, UsageError
from streams.ops import quarantine
from streams.ops.quarantine import Choice, DecidedFilter
from streams.ops.quarantine_scores import scored
from streams.records import (
    Attempt,
    CanonSummary,
    CanonVersion,
    Decided,
    Decision,
    DecisionKind,
    Detection,
    Judgement,
    Method,
    Outcome,
    PageScores,
    Payload,
    Screening,
    SourceState,
    Version,
)
from streams.records.codec import encode
from streams.screen.policy import Thresholds
from streams.settings import BlobSettings, RecognitionSettings, Settings
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import NOW, at, body, held, paragraph, state, version

PDF, TEXT = "application/pdf", "text/plain"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, blobs=BlobSettings(fsync=False))


@pytest.fixture
async def apply(settings: Settings) -> AsyncIterator[Applied]:
    applied = Applied(settings)
    await applied.begin()
    yield applied
    applied.catalog.close()
    applied.writer.close()


def attempt(tool: str = "pdf", number: str = "1", method: Method = Method.NATIVE) -> Attempt:
    return Attempt(extractor=tool, extractor_version=number, fingerprint=f"{tool}{number}", method=method, seconds=0.5)


def hold(
    applied: Applied,
    name: str,
    *problems: str,
    tool: str | None = "pdf",
    number: str = "1",
    media_type: str | None = PDF,
    since: int = 0,
    text: bool = True,
    decisions: list[Decided] | None = None,
    others: list[Judgement] | None = None,
    **fields: Any,
) -> None:
    """A held document, as the ledger tells of it on both topics; `since` in minutes."""
    made = attempt(tool, number) if tool else None
    stored = Payload(key=f"canons/{name}/x", sha256="0" * 64, size=1) if text else None
    applied(("versions", f"s:{name}", held_state(name, *problems, made=made, media_type=media_type,
                                                 decisions=decisions, others=others, stored=stored)))  # fmt: skip
    values: dict[str, Any] = {
        "content_hash": "c" * 64,
        "media_type": media_type,
        "extractor": tool,
        "extractor_version": number if tool else None,
        "held_since": NOW + timedelta(minutes=since),
        "payload": stored,
        "scores": {"dictionary_rate": 0.2, "token_mean": 5.0, "characters": 900.0},
    }
    applied(("quarantine", f"s:{name}", held(name, *problems, **{**values, **fields})))


def held_state(
    name: str,
    *problems: str,
    made: Attempt | None,
    media_type: str | None,
    decisions: list[Decided] | None,
    others: list[Judgement] | None,
    stored: Payload | None,
) -> SourceState:
    one = version(
        0,
        Outcome.QUARANTINED,
        problems=problems,
        detection=Detection(media_type=media_type, detected_by="magic") if media_type else None,
        canons=[CanonVersion(payload=stored, attempt=made, created_at=NOW)] if made and stored else [],
        attempt=made if not stored else None,
        fingerprint=made.fingerprint if made else "",
        decisions=decisions or [],
        others=others or [],
        settled_at=NOW,
    )
    return state(name, one)


def choice(kind: DecisionKind, reason: str = "looked at it", **fields: Any) -> Choice:
    return Choice(kind=kind, actor="eva", reason=reason, **fields)


def decided(kind: DecisionKind, reason: str = "looked at it", actor: str = "eva", minute: int = 0, **f: Any) -> Decided:
    moment = NOW + timedelta(minutes=minute)
    return Decided(kind=kind, actor=actor, reason=reason, decided_at=moment, carried_out_at=moment, **f)


async def test_filters_say_which_documents_are_meant(apply: Applied) -> None:
    hold(apply, "a.pdf", "mojibake", since=0, owner="eva", deadline=NOW + timedelta(hours=1))
    hold(apply, "b.pdf", "mojibake", "low_dictionary_rate", since=1, number="2", deadline=NOW + timedelta(hours=9))
    hold(apply, "c.txt", "parser_error", since=2, tool=None, media_type=TEXT, text=False, source="t")

    def names(**wanted: Any) -> str:
        rows = quarantine.listed(apply.catalog, HeldFilter(**wanted))
        assert quarantine.count(apply.catalog, HeldFilter(**wanted)) == len(rows)
        return "".join(row.file_name[0] for row in rows)

    assert names() == "abc"
    assert names(code="low_dictionary_rate") == "b"
    assert (names(media_type=TEXT), names(tool="pdf"), names(tool="pdf", version="2")) == ("c", "ab", "b")
    assert (names(source="t"), names(owner="eva"), names(unassigned=True)) == ("c", "a", "bc")
    assert names(held_before=NOW + timedelta(minutes=1)) == "a"
    assert names(overdue_at=NOW + timedelta(hours=2)) == "a"
    assert names(ids=["s:b.pdf", "s:c.txt"]) == "bc"
    assert names(group=Group.parse("mojibake:pdf:2:application/pdf")) == "b"
    assert names(group=Group.parse("parser_error:-:-:text/plain")) == "c"
    first, *_ = quarantine.listed(apply.catalog, HeldFilter(), 1)
    rest = quarantine.listed(apply.catalog, HeldFilter(), 10, after=(first.held_since, first.source_id))
    assert [row.file_name for row in rest] == ["b.pdf", "c.txt"]


async def test_all_pages_of_a_long_queue_come_once_each(apply: Applied) -> None:
    for number in range(7):
        hold(apply, f"{number}.pdf", "mojibake", since=number // 3)
    from streams.consumers import catalog_quarantine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog_quarantine, "_PAGE", 2)
        names = [row.file_name for row in quarantine.held(apply.catalog, HeldFilter())]
    assert names == [f"{number}.pdf" for number in range(7)]


async def test_groups_are_what_one_fault_may_have_in_common(apply: Applied) -> None:
    for number in range(5):
        hold(apply, f"{number}.pdf", "mojibake", since=number, deadline=NOW + timedelta(hours=5 - number))
    hold(apply, "x.pdf", "mojibake", "cid_leak", number="2")
    hold(apply, "y.bin", "unsupported_format", tool=None, media_type=None, text=False)
    found = {row.group.id: row for row in quarantine.groups(apply.catalog, HeldFilter())}
    assert list(found) == [
        "mojibake:pdf:1:application/pdf",
        "cid_leak:pdf:2:application/pdf",
        "mojibake:pdf:2:application/pdf",
        "unsupported_format:-:-:-",
    ]
    largest = found["mojibake:pdf:1:application/pdf"]
    assert (largest.count, largest.oldest, largest.next_deadline) == (5, NOW, NOW + timedelta(hours=1))
    assert largest.examples == ["folder/0.pdf", "folder/1.pdf", "folder/2.pdf"]
    assert [Group.parse(name).id for name in found] == list(found)
    only = quarantine.groups(apply.catalog, HeldFilter(code="cid_leak"))
    assert [row.group.id for row in only] == ["cid_leak:pdf:2:application/pdf"]
    version = Group.parse("low_ocr_confidence:pdf+tesseract:1+1 (tesseract 5:3):application/pdf").version
    assert version == "1+1 (tesseract 5:3)"
    with pytest.raises(ValueError, match="CODE:TOOL:VERSION:FORMAT"):
        Group.parse("mojibake")


async def test_a_case_has_all_that_a_person_needs(apply: Applied, settings: Settings) -> None:
    canon = body(paragraph("Word " * 1000), content="a")
    data = encode(canon)
    key = f"canons/{canon.content_hash}/{canon.fingerprint}"
    open_store(settings).put(key, data)
    other = Judgement(
        fingerprint="pdfium1",
        screening=Screening(outcome=Outcome.QUARANTINED, problems=["timeout"], error="too slow"),
        settled_at=NOW,
        attempt=attempt("pdfium"),
    )
    pages = [
        PageScores(number=1, scores={"dictionary_rate": 0.9}),
        PageScores(number=2, scores={"dictionary_rate": 0.1}),
    ]
    import hashlib

    stored = Payload(key=key, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    made = [decided(DecisionKind.RE_EXTRACT, tool="pdf_pdfium", answered_at=NOW)]
    hold(apply, "a.pdf", "low_dictionary_rate", payload=stored, pages=pages, others=[other], decisions=made)
    case = quarantine.show(settings, apply.catalog, "s:a.pdf")
    assert case.held is not None
    assert case.text is not None
    assert (len(case.text), case.text_complete) == (quarantine.PREVIEW_CHARACTERS, False)
    first = case.scores[0]
    assert (first.name, first.limit_name, first.limit, first.code, first.fired) == (
        "dictionary_rate",
        "min_dictionary_rate",
        0.5,
        "low_dictionary_rate",
        True,
    )
    assert [score.fired for score in case.scores] == [True, False, False]
    assert [page.number for page in case.pages] == [2, 1]
    assert [(a["extractor"], a["problems"]) for a in case.attempts] == [
        ("pdfium", ["timeout"]),
        ("pdf", ["low_dictionary_rate"]),
    ]
    assert [(d.kind, d.tool, d.answered_at) for d in case.decisions] == [("re_extract", "pdf_pdfium", NOW)]
    assert case.recognizable
    assert case.tools[0] == "pdf"
    assert "csv" not in case.tools
    with pytest.raises(NotFound):
        quarantine.show(settings, apply.catalog, "s:nobody")
    hold(apply, "b.pdf", "parser_error", text=False)
    assert quarantine.show(settings, apply.catalog, "s:b.pdf").text is None
    skipped = version(0, Outcome.SKIPPED, canons=[CanonVersion(payload=stored, attempt=attempt(), created_at=NOW)])
    apply(("versions", "s:a.pdf", state("a.pdf", skipped)), ("quarantine", "s:a.pdf", None))
    assert quarantine.show(settings, apply.catalog, "s:a.pdf").text == case.text


def plan(settings: Settings, applied: Applied, wanted: HeldFilter, made: Choice) -> quarantine.Plan:
    rows = list(quarantine.held(applied.catalog, wanted))
    return quarantine.plan_decisions(settings, applied.catalog, made, rows)


async def test_a_plan_names_what_does_not_fit_and_what_is_decided_already(apply: Applied, settings: Settings) -> None:
    hold(apply, "a.pdf", "low_dictionary_rate")
    hold(apply, "b.pdf", "parser_error", text=False)
    hold(apply, "c.txt", "low_dictionary_rate", media_type=TEXT)
    hold(apply, "d.bin", "unsupported_format", media_type="application/x-what", tool=None, text=False)
    hold(apply, "e.bin", "vanished", media_type=None, tool=None, text=False, content_hash=None)
    everything = HeldFilter()

    def paths(made: Choice) -> str:
        found = plan(settings, apply, everything, made)
        assert len(found.decisions) + len(found.refused) + len(found.already) == 5
        return "".join(planned.path[len("folder/")] for planned in found.decisions)

    assert paths(choice(DecisionKind.ACCEPT)) == "ac"
    assert paths(choice(DecisionKind.SKIP)) == "abcde"
    assert paths(choice(DecisionKind.RECOGNIZE)) == "a"
    assert paths(choice(DecisionKind.RE_EXTRACT)) == "abc"
    assert paths(choice(DecisionKind.RE_EXTRACT, tool="pdf")) == "ab"
    assert paths(choice(DecisionKind.RE_EXTRACT, tool="markdown")) == "c"
    refused = plan(settings, apply, everything, choice(DecisionKind.RE_EXTRACT, tool="markdown")).refused
    assert refused["folder/a.pdf"].startswith("markdown does not read application/pdf; pdf")
    assert refused["folder/d.bin"] == "no extractor reads application/x-what"
    assert refused["folder/e.bin"] == "there are no bytes of it (vanished)"
    hold(apply, "f.zip!/a.pdf", "encrypted", text=False, content_hash=None, error="needs a password")
    refused = plan(settings, apply, everything, choice(DecisionKind.RECOGNIZE)).refused
    assert refused["folder/f.zip!/a.pdf"] == "there are no bytes of it (needs a password)"
    assert refused["folder/b.pdf"] == "no extractor could open it (parser_error)"
    hold(apply, "g.pdf", "needs_recognition", "empty_extraction")
    refused = plan(settings, apply, everything, choice(DecisionKind.ACCEPT)).refused
    assert refused["folder/g.pdf"] == "there is no text to accept"
    with pytest.raises(UsageError, match=r"No extractor is called 'acrobat'\. Take one of .*pdf"):
        plan(settings, apply, everything, choice(DecisionKind.RE_EXTRACT, tool="acrobat"))
    off = msgspec.convert(RecognitionSettings(enabled=False).model_dump(), dict[str, Any])
    with pytest.raises(UsageError, match="switched off"):
        plan(Settings(data_dir=settings.data_dir, recognition=RecognitionSettings(**off)), apply, everything,
             choice(DecisionKind.RECOGNIZE))  # fmt: skip


async def test_work_is_not_asked_for_twice_with_the_same_reason(apply: Applied, settings: Settings) -> None:
    hold(apply, "a.pdf", "mojibake", decisions=[decided(DecisionKind.RE_EXTRACT, "version 2", tool="pdf")])
    again = choice(DecisionKind.RE_EXTRACT, "version 2", tool="pdf")
    found = plan(settings, apply, HeldFilter(), again)
    assert (found.decisions, found.already) == ([], ["folder/a.pdf"])
    for other in (
        msgspec.structs.replace(again, reason="version 3"),
        msgspec.structs.replace(again, tool=None),
        msgspec.structs.replace(again, kind=DecisionKind.RECOGNIZE, tool=None),
        choice(DecisionKind.ACCEPT, "version 2"),
    ):
        assert len(plan(settings, apply, HeldFilter(), other).decisions) == 1


async def test_decisions_of_one_plan_are_one_batch(apply: Applied, settings: Settings) -> None:
    for name in "ab":
        hold(apply, name, "mojibake")
    now = datetime(2026, 5, 4, 3, 2, 1, 987654, UTC)
    rows = quarantine.listed(apply.catalog, HeldFilter())
    found = quarantine.plan_decisions(settings, apply.catalog, choice(DecisionKind.ACCEPT), rows, now)
    assert {p.decision.decided_at for p in found.decisions} == {now.replace(microsecond=987000)}
    assert [(p.decision.source_id, p.decision.sequence, p.partition) for p in found.decisions] == [
        ("s:a", at(0), 0),
        ("s:b", at(0), 0),
    ]


async def test_undo_takes_back_a_batch_a_person_or_a_time_and_nothing_twice(apply: Applied) -> None:
    def overruled(name: str, *decisions: Decided) -> None:
        apply(("versions", f"s:{name}", state(name, ready_by(*decisions))))

    accepted = decided(DecisionKind.ACCEPT, minute=1)
    overruled("a", accepted)
    overruled("b", accepted)
    overruled("c", decided(DecisionKind.SKIP, "a duplicate", "ada", minute=9))
    overruled("d", accepted, decided(DecisionKind.UNDO, minute=2))
    overruled("e", decided(DecisionKind.RE_EXTRACT, minute=1))
    undo = choice(DecisionKind.UNDO, "wrong batch")

    def undone(**wanted: Any) -> str:
        found = quarantine.plan_undo(apply.catalog, undo, DecidedFilter(**wanted))
        assert all(p.decision.kind is DecisionKind.UNDO for p in found.decisions)
        return "".join(planned.path[-1] for planned in found.decisions)

    (batch,) = {d.batch for d in quarantine.decided_rows(apply.catalog, DecidedFilter(ids=["s:a"]))}
    assert undone(batch=batch) == "ab"
    assert undone(actor="ada") == "c"
    assert undone(since=NOW + timedelta(minutes=5)) == "c"
    assert undone(reason="looked at it") == "ab"
    assert undone(ids=["s:b"]) == "b"
    assert undone(group=Group.parse("mojibake:pdf:1:application/pdf")) == "abc"
    assert undone(group=Group.parse("cid_leak:pdf:1:application/pdf")) == ""
    twice = quarantine.plan_undo(apply.catalog, undo, DecidedFilter(ids=["s:d"]))
    assert (twice.decisions, twice.already) == ([], ["folder/d"])


def ready_by(*decisions: Decided) -> Version:
    """A version whose verdict people made."""
    made = attempt()
    return version(
        0,
        Outcome.READY,
        problems=("mojibake",),
        detection=Detection(media_type=PDF, detected_by="magic"),
        canons=[CanonVersion(payload=Payload(key="k", sha256="0" * 64, size=1), attempt=made, created_at=NOW)],
        summary=CanonSummary(),
        fingerprint=made.fingerprint,
        decisions=list(decisions),
    )


async def test_statistics_say_how_much_is_held_and_how_that_moves(apply: Applied) -> None:
    for name in "abc":
        hold(apply, name, "mojibake", deadline=NOW, owner="eva" if name == "a" else None)
    apply(("versions", "s:fine", state("fine", version(0, settled_at=NOW - timedelta(days=1)))))
    found = quarantine.statistics(apply.catalog, "format", 3, NOW + timedelta(hours=1))
    assert (found.held, found.living, found.oldest, found.overdue, found.unassigned) == (3, 4, NOW, 3, 2)
    assert [(share.name, share.held, share.living) for share in found.shares] == [(PDF, 3, 3)]
    assert [(day.settled, day.held) for day in found.days] == [(0, 0), (1, 0), (3, 3)]
    by_code = quarantine.statistics(apply.catalog, "code", 1, NOW).shares
    assert [(share.name, share.held, share.living) for share in by_code] == [("mojibake", 3, 4)]
    by_source = quarantine.statistics(apply.catalog, "source", 1, NOW).shares
    assert [(share.name, share.held, share.living) for share in by_source] == [("s", 3, 4)]


async def test_what_is_under_way_counts_as_decided(apply: Applied, settings: Settings) -> None:
    """The ledger has not carried it out, or the catalog does not show it: nothing of it is in a table."""
    for name in ("a.pdf", "b.pdf"):
        hold(apply, name, "mojibake")

    def waits(kind: DecisionKind, reason: str = "looked at it", version: int = 0, **fields: Any) -> Decision:
        return Decision(source_id="s:a.pdf", sequence=at(version), kind=kind, actor="ada", reason=reason,
                        decided_at=NOW, **fields)  # fmt: skip

    def planned(made: Choice, *waiting: Decision) -> tuple[str, str, str]:
        rows = list(quarantine.held(apply.catalog, HeldFilter()))
        found = quarantine.plan_decisions(
            settings, apply.catalog, made, rows, under_way={"s:a.pdf": waiting, "s:gone": waiting}
        )
        paths = [[each.path for each in found.decisions], found.already, list(found.refused)]
        one, two, three = ("".join(path[len("folder/")] for path in each) for each in paths)
        return one, two, three

    accept, skip, undo = DecisionKind.ACCEPT, DecisionKind.SKIP, DecisionKind.UNDO
    assert planned(choice(accept), waits(accept, "another reason")) == ("b", "a", "")
    assert planned(choice(accept), waits(skip)) == ("b", "", "a")
    assert planned(choice(accept), waits(accept), waits(undo)) == ("ab", "", "")
    assert planned(choice(accept), waits(accept, version=7)) == ("ab", "", "")
    work = choice(DecisionKind.RE_EXTRACT, tool="pdf")
    assert planned(work, waits(DecisionKind.RE_EXTRACT, tool="pdf")) == ("b", "a", "")
    assert planned(work, waits(DecisionKind.RE_EXTRACT, "once more", tool="pdf")) == ("ab", "", "")
    assert planned(work, waits(skip)) == ("b", "", "a")
    assert planned(choice(accept), waits(DecisionKind.RE_EXTRACT, tool="pdf")) == ("ab", "", "")


async def test_what_is_under_way_can_be_taken_back_once(apply: Applied) -> None:
    hold(apply, "a.pdf", "mojibake")
    made = Decision(source_id="s:a.pdf", sequence=at(0), kind=DecisionKind.SKIP, actor="ada", reason="x",
                    decided_at=NOW)  # fmt: skip
    undone = msgspec.structs.replace(made, kind=DecisionKind.UNDO)
    back = choice(DecisionKind.UNDO)

    def taken(wanted: DecidedFilter, *waiting: Decision) -> tuple[int, int]:
        found = quarantine.plan_undo(apply.catalog, back, wanted, under_way={"s:a.pdf": waiting})
        return len(found.decisions), len(found.already)

    batch = batch_of(made)
    for wanted in (DecidedFilter(batch=batch), DecidedFilter(actor="ada", source="s", since=NOW),
                   DecidedFilter(ids=["s:a.pdf"], group=Group.parse("mojibake:pdf:1:application/pdf"))):  # fmt: skip
        assert taken(wanted, made) == (1, 0), wanted
        assert taken(wanted, made, undone) == (0, 1), wanted
    for wanted in (DecidedFilter(batch="x"), DecidedFilter(actor="eva"), DecidedFilter(source="t"),
                   DecidedFilter(ids=[]), DecidedFilter(group=Group.parse("mojibake:pdf:2:application/pdf")),
                   DecidedFilter(since=NOW + timedelta(seconds=1))):  # fmt: skip
        assert taken(wanted, made) == (0, 0), wanted


def test_control_characters_are_a_leak_on_pages_alone() -> None:
    def code(of_page: bool = False, **more: float) -> str | None:
        found = scored({"control": 0.3, **more}, Thresholds(), of_page=of_page)
        return next(score.code for score in found if score.name == "control")

    assert code() == "mojibake"
    assert code(of_page=True) == "cid_leak"
    assert code(near_empty_pages=0.0) == "cid_leak"
