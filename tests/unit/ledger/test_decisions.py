"""Several attempts at one version, and what people decide about them."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from streams.extract.registry import EXTRACTORS, plan
from streams.ledger.judgement import attempts as known_attempts
from streams.ledger.judgement import held_since
from streams.ledger.transitions import DecisionRefused
from streams.records import CanonSummary, Decision, DecisionKind, Detection, Method, Outcome, Screened, Screening
from streams.records.codec import decode, encode
from tests.unit.ledger.make import ID, NOW, Ledger, broken, delete, held_of, result, seq, up, without_times

ACCEPT, SKIP, UNDO = DecisionKind.ACCEPT, DecisionKind.SKIP, DecisionKind.UNDO


def decide(offset: int, kind: DecisionKind, *, minute: int = 0, tool: str | None = None) -> Decision:
    return Decision(
        source_id=ID,
        sequence=seq(offset),
        kind=kind,
        tool=tool,
        actor="eva",
        reason="looked at it",
        decided_at=NOW + timedelta(minutes=minute),
    )


def failed(arrived: Any, work: float, problem: str = "timeout") -> Screened:
    """An attempt that ended without any text."""
    found = result(arrived, Outcome.QUARANTINED, work=work, canon=False)
    return msgspec.structs.replace(found, screening=msgspec.structs.replace(found.screening, problems=[problem]))


@pytest.mark.parametrize("text", [True, False], ids=["held text", "no text"])
def test_a_failed_second_attempt_is_recorded_and_the_good_canon_stays(text: bool) -> None:
    first = up(0, "A")
    bad = result(first, Outcome.QUARANTINED, extractor="2", work=9) if text else failed(first, 9)
    ledger = Ledger()
    ledger.take(first, result(first), bad)
    version = ledger.version(0)
    assert (version.outcome, ledger.canon[2], ledger.held) == (Outcome.READY, "text-1", None)
    assert [other.screening.outcome for other in version.others] == [Outcome.QUARANTINED]
    assert [canon.archived_at is None for canon in version.canons] == [*([False] if text else []), True]
    assert ledger.visible == ["publish"]
    ledger.take(result(first, extractor="3", work=10))
    assert ledger.canon[2] == "text-3"
    assert {canon.attempt.fingerprint for canon in ledger.version(0).canons if canon.archived_at} >= {"text-1"}


def test_a_new_verdict_about_the_same_text_counts() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first), result(first, Outcome.QUARANTINED, work=9))
    assert (ledger.canon, ledger.version(0).outcome) == (None, Outcome.QUARANTINED)


def test_the_end_does_not_depend_on_the_order_of_the_attempts() -> None:
    first = up(0, "A")
    attempts = [
        result(first, Outcome.QUARANTINED, extractor="1", work=1),
        result(first, Outcome.READY, extractor="2", work=2),
        failed(first, 3),
        result(first, Outcome.QUARANTINED, extractor="3", work=4),
    ]
    ends = []
    for order in itertools.permutations(attempts):
        ledger = Ledger()
        ledger.take(first, *order, *order)
        ends.append(without_times(ledger.state))
        assert ledger.canon[2] == "text-2"
    assert all(end == ends[0] for end in ends)
    assert decode(type(ends[0]), encode(ends[0])) == ends[0]


@pytest.mark.parametrize("kind", [ACCEPT, SKIP])
def test_an_undone_decision_leaves_the_version_held_as_it_was(kind: DecisionKind) -> None:
    first = up(0, "A")
    ledger = Ledger()
    before = ledger.take(first, result(first, Outcome.QUARANTINED))
    story = [decide(0, kind, minute=1), decide(0, UNDO, minute=2)]
    ledger.take(story[0])
    assert held_of(ledger.state) is None
    ledger.take(story[1])
    version = ledger.version(0)
    assert (version.outcome, ledger.canon) == (Outcome.QUARANTINED, None)
    assert ledger.held is not None
    assert msgspec.structs.replace(version, decisions=[], ready_at=None) == before.versions[0]
    state, seen = ledger.state, len(ledger.visible)
    ledger.take(*story, *story)  # a consumer that goes back reads both again
    assert (ledger.state, len(ledger.visible)) == (state, seen)
    ledger.take(decide(0, kind, minute=3))
    assert ledger.held is None


def test_what_the_source_fails_to_deliver_again_is_no_new_version_after_a_decision() -> None:
    first, repeated = broken(0), broken(1)
    ledger = Ledger()
    before = ledger.take(first, repeated, decide(0, SKIP))
    assert ledger.take(first, repeated) == before
    ledger.take(broken(2))
    assert [version.outcome for version in ledger.state.versions] == [Outcome.SKIPPED]


def test_nothing_decided_is_nothing_to_undo() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first))
    with pytest.raises(DecisionRefused, match="no decision about it to undo"):
        ledger.take(decide(0, UNDO))


def test_an_accepted_text_outlives_a_failed_attempt_and_yields_to_a_good_one() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first, Outcome.QUARANTINED), decide(0, ACCEPT), failed(first, 9))
    assert ledger.canon[2] == "text-1"
    ledger.take(result(first, extractor="2", work=10))
    assert ledger.canon[2] == "text-2"


def test_a_decision_goes_with_the_content_to_its_next_version() -> None:
    first, second, third = up(0, "A"), up(1, "B"), up(2, "A")
    ledger = Ledger()
    ledger.take(first, result(first, Outcome.QUARANTINED), decide(0, ACCEPT), second, result(second), third)
    ledger.take(result(third, Outcome.QUARANTINED, work=9))
    assert ledger.published == 2


def test_extract_again_sends_what_decode_had_found_to_the_named_tool() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first, Outcome.QUARANTINED), decide(0, DecisionKind.RE_EXTRACT, tool="markdown"))
    (decoded,) = ledger.extractions
    assert (decoded.tool, decoded.document.sequence, decoded.document.content) == (
        "markdown",
        seq(0),
        first.event.content,
    )
    assert decoded.detection == ledger.version(0).detection
    assert decoded.timings == []  # the time of its work is to come
    spec = plan(Detection(media_type="application/pdf", detected_by="magic"), decoded.tool)
    assert spec is not None
    assert spec.name == "markdown"
    ledger.take(decide(0, DecisionKind.RE_EXTRACT, tool="markdown"))
    assert len(ledger.extractions) == 1
    ledger.take(decide(0, DecisionKind.RE_EXTRACT, minute=1))
    assert [decoded.tool for decoded in ledger.extractions] == ["markdown", None]
    assert ledger.version(0).outcome is Outcome.QUARANTINED


def test_decisions_that_nobody_can_carry_out_say_what_to_do() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first)
    for kind, message in (
        (DecisionKind.RE_EXTRACT, "what its bytes are. Decide again when `canonry doc`"),
        (DecisionKind.RECOGNIZE, "what its bytes are. Decide again when `canonry doc`"),
    ):
        with pytest.raises(DecisionRefused, match=message):
            ledger.take(decide(0, kind))
    ledger.take(result(first, Outcome.QUARANTINED))
    with pytest.raises(DecisionRefused, match=f"called 'acrobat'. Take one of {EXTRACTORS[0].name}, "):
        ledger.take(decide(0, DecisionKind.RE_EXTRACT, tool="acrobat"))
    with pytest.raises(DecisionRefused, match=r"text/plain has no pages that could be recognised\. Extract it again"):
        ledger.take(decide(0, DecisionKind.RECOGNIZE))
    ledger.take(broken(1))
    with pytest.raises(DecisionRefused, match=r"never delivered the bytes. Have the source read it again"):
        ledger.take(decide(1, DecisionKind.RE_EXTRACT))
    ledger.take(decide(1, SKIP))
    assert ledger.version(1).outcome is Outcome.SKIPPED
    ledger.take(delete(2))
    for kind in (ACCEPT, UNDO, DecisionKind.RE_EXTRACT):
        with pytest.raises(DecisionRefused, match="not the current one"):
            ledger.take(decide(1, kind, minute=5))
    assert ledger.extractions == []


def pdf(arrived: Any, *problems: str, pages: int = 3, method: Method = Method.NATIVE, **fields: Any) -> Screened:
    """A result of a PDF; held for the problems, where there are any."""
    found = result(arrived, Outcome.QUARANTINED if problems else Outcome.READY, **fields)
    assert found.attempt is not None
    return msgspec.structs.replace(
        found,
        detection=Detection(media_type="application/pdf", detected_by="magic"),
        attempt=msgspec.structs.replace(found.attempt, extractor="pdf", method=method),
        summary=CanonSummary(page_count=pages),
        screening=msgspec.structs.replace(found.screening, problems=list(problems)),
    )


def unopened(arrived: Any, work: float, *, extractor: str = "1", problem: str = "parser_error") -> Screened:
    """An attempt that gave no canon, and says whose it was."""
    whole = pdf(arrived, problem, extractor=extractor, work=work)
    screening = Screening(outcome=Outcome.QUARANTINED, problems=[problem], error="It can't be opened.")
    return msgspec.structs.replace(whole, payload=None, summary=None, screening=screening)


@pytest.mark.parametrize(
    ("problem", "pages"), [("needs_recognition", []), ("low_dictionary_rate", [1, 2, 3])], ids=["pictures", "bad text"]
)
def test_recognition_reads_the_pages_that_need_it_or_all_where_the_text_layer_is_doubted(
    problem: str, pages: list[int]
) -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, pdf(first, problem), decide(0, DecisionKind.RECOGNIZE))
    (request,) = ledger.recognitions
    assert (request.pages, request.document.sequence, request.judged) == (pages, seq(0), None)
    assert request.payload == ledger.version(0).canons[-1].payload
    ledger.take(decide(0, DecisionKind.RECOGNIZE))
    assert len(ledger.recognitions) == 1
    ledger.take(pdf(first, work=WORK, extractor="ocr", method=Method.OCR))
    assert (ledger.version(0).outcome, len(ledger.recognitions)) == (Outcome.READY, 1)


def test_what_no_extractor_could_open_can_not_be_recognised() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, unopened(first, 1))
    with pytest.raises(DecisionRefused, match="no extractor could open it"):
        ledger.take(decide(0, DecisionKind.RECOGNIZE))


WORK = 300_000
"""A minute after all decisions of these tests."""


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_where_all_attempts_are_held_the_best_one_stands(order: tuple[int, ...]) -> None:
    first = up(0, "A")
    attempts = [
        pdf(first, "low_dictionary_rate", extractor="1", work=1),
        unopened(first, WORK, extractor="2"),
        pdf(first, "cid_leak", "low_dictionary_rate", extractor="3", work=WORK + 1),
        unopened(first, WORK + 2, extractor="4", problem="timeout"),
    ]
    ledger = Ledger()
    ledger.take(first, *(attempts[number] for number in order))
    version = ledger.version(0)
    assert version.screening is not None
    assert (version.fingerprint, version.screening.problems) == ("text-1", ["low_dictionary_rate"])
    assert version.canons[-1].attempt.fingerprint == "text-1"
    assert [(a.fingerprint, a.problems) for a in known_attempts(version)] == [
        ("text-2", ["parser_error"]),
        ("text-3", ["cid_leak", "low_dictionary_rate"]),
        ("text-4", ["timeout"]),
        ("text-1", ["low_dictionary_rate"]),
    ]
    ledger.take(pdf(first, "mojibake", extractor="5", work=WORK + 3))
    assert ledger.version(0).fingerprint == "text-5"  # no worse, and newer


def test_another_attempt_that_is_held_is_no_new_beginning_of_the_wait() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, pdf(first, "mojibake"))
    since = ledger.version(0).settled_at
    ledger.take(pdf(first, "mojibake", extractor="2", work=WORK))
    version = ledger.version(0)
    assert version.fingerprint == "text-2"
    assert version.settled_at != since
    assert held_since(version) == since


def test_a_decision_that_asks_for_work_is_answered_by_work_that_began_after_it() -> None:
    first = up(0, "A")
    ledger = Ledger()
    late = pdf(first, "mojibake", extractor="0", work=-1)
    ledger.take(first, pdf(first, "mojibake"), decide(0, DecisionKind.RE_EXTRACT), late)
    assert [made.answered_at for made in ledger.version(0).decisions] == [None]
    same = pdf(first, "mojibake", work=WORK)  # ends as before, and is an answer all the same
    ledger.take(same)
    (made,) = ledger.version(0).decisions
    answered = made.answered_at
    assert answered is not None
    ledger.take(same, pdf(first, work=WORK + 1))
    assert [made.answered_at for made in ledger.version(0).decisions] == [answered]
    assert len(ledger.extractions) == 1


def test_a_canon_in_which_nothing_stands_is_no_text_to_accept() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, pdf(first, "near_empty_pages", "empty_extraction"))
    with pytest.raises(DecisionRefused, match=r"there is no text to accept\. Extract it again"):
        ledger.take(decide(0, ACCEPT))
    ledger.take(decide(0, SKIP))
    assert ledger.version(0).outcome is Outcome.SKIPPED


def test_who_decides_the_same_once_more_changes_nothing() -> None:
    first = up(0, "A")
    ledger = Ledger()
    before = ledger.take(first, pdf(first, "mojibake"), decide(0, ACCEPT))
    assert ledger.take(decide(0, ACCEPT, minute=1)) is before
    with pytest.raises(DecisionRefused, match="it is ready, not quarantined"):
        ledger.take(decide(0, SKIP, minute=2))
