"""Erasure: the text goes, the facts and the proof stay, whatever comes late or again."""

from __future__ import annotations

import msgspec
import pytest

from streams.ledger.transitions import DecisionRefused
from streams.records import Child, DecisionKind, Operation, Outcome, Status
from streams.records.codec import decode, encode
from tests.unit.ledger.make import ID, NOW, Ledger, at, broken, decision, delete, result, screen_failed, seq, sha, up

ERASE = DecisionKind.ERASE


def erased_document() -> Ledger:
    first, second = up(0, "A"), up(1, "B")
    held = result(second, Outcome.QUARANTINED)
    held = msgspec.structs.replace(held, screening=msgspec.structs.replace(held.screening, error="It says: secret."))
    ledger = Ledger()
    ledger.take(first, result(first), result(first, extractor="2", work=3), second, held, delete(2))
    ledger.take(decision(1, ERASE, "the person asked for it"))
    return ledger


def test_the_text_goes_and_the_facts_stay() -> None:
    ledger = erased_document()
    assert ledger.state.status is Status.DELETED
    for offset, content, outcome in ((0, "A", Outcome.READY), (1, "B", Outcome.QUARANTINED)):
        version = ledger.version(offset)
        assert (version.canons, version.summary) == ([], None)
        assert all(other.summary is None for other in version.others)
        assert version.erased_at == NOW
        assert version.content is not None
        assert (version.content.sha256, version.outcome) == (sha(content), outcome)
        assert version.valid_to == at(offset + 1)
    assert ledger.version(0).erased == ["text-1", "text-2"]
    state = encode(ledger.state)
    assert b"secret" not in state
    assert decode(type(ledger.state), state) == ledger.state


def test_the_proof_says_what_was_erased_by_whom_and_why() -> None:
    deletion, proof = erased_document().deletions
    assert deletion.erased_at is None
    assert (proof.source_id, proof.sequence, proof.deleted_at) == (
        deletion.source_id,
        deletion.sequence,
        deletion.deleted_at,
    )
    assert (proof.erased_at, proof.erased_by, proof.erased_why) == (NOW, "eva", "the person asked for it")
    assert {found.content_hash: found.fingerprints for found in proof.erased} == {
        sha("A"): ["text-1", "text-2"],
        sha("B"): ["text-1"],
    }
    assert decode(type(proof), encode(proof)) == proof


def test_a_failure_that_is_delivered_again_after_the_erasure_is_no_new_version() -> None:
    ledger = Ledger()
    before = ledger.take(broken(0), broken(1), delete(2), decision(0, ERASE))
    assert ledger.take(broken(1)) == before


def test_the_same_judgement_made_again_after_the_erasure_changes_not_even_a_time() -> None:
    first = up(0, "A")
    ledger = Ledger()
    before = ledger.take(first, result(first), delete(1), decision(0, ERASE))
    assert ledger.take(result(first, work=99)) == before


def test_redelivery_changes_nothing() -> None:
    ledger = erased_document()
    before, seen = ledger.state, len(ledger.visible)
    first = up(0, "A")
    ledger.take(decision(1, ERASE, "the person asked for it"), first, result(first), delete(2))
    ledger.take(result(up(1, "B"), Outcome.QUARANTINED))
    ledger.take(decision(2, ERASE, "somebody else asks, too"))
    assert (ledger.state, len(ledger.visible)) == (before, seen)


def test_a_late_canon_is_erased_as_well_and_the_proof_says_so() -> None:
    ledger = erased_document()
    late = result(up(1, "B"), Outcome.READY, extractor="9", work=99)
    ledger.take(late, late)
    assert ledger.version(1).canons == []
    assert ledger.version(1).outcome is Outcome.QUARANTINED
    assert (ledger.canon, ledger.held) == (None, None)
    assert len(ledger.deletions) == 3
    assert [found.fingerprints for found in ledger.deletions[-1].erased if found.content_hash == sha("B")] == [
        ["text-1", "text-9"]
    ]


def test_no_result_changes_what_is_kept_of_an_erased_version() -> None:
    first = up(0, "A")
    ledger = Ledger()
    ledger.take(first, result(first), delete(1), decision(0, ERASE))
    before = ledger.version(0)
    ledger.take(
        screen_failed(first, work=50),
        result(first, Outcome.QUARANTINED, work=60),
        result(first, Outcome.SKIPPED, work=70, canon=False),
    )
    assert ledger.version(0) == before
    late = result(first, Outcome.QUARANTINED, extractor="2", work=80)
    ledger.take(late, late)
    assert ledger.version(0) == msgspec.structs.replace(before, erased=["text-1", "text-2"])


def test_what_a_person_accepted_stays_so_after_the_erasure_when_the_document_is_created_again() -> None:
    first = up(0, "A")
    held = result(first, Outcome.QUARANTINED)
    held = msgspec.structs.replace(held, screening=msgspec.structs.replace(held.screening, error="It says: secret."))
    ledger = Ledger()
    ledger.take(first, held, decision(0, DecisionKind.ACCEPT), delete(1), decision(0, ERASE))
    before = ledger.version(0)
    assert before.outcome is Outcome.READY
    ledger.take(up(2, "A"), result(first, work=50))
    assert ledger.version(0) == before


def test_a_version_that_turns_out_to_repeat_an_erased_one_changes_nothing_of_it_either() -> None:
    first, again = up(0, "A", parent_order=[seq(0)]), up(2, "A", parent_order=[seq(1)])
    ledger = Ledger()
    ledger.take(first, result(first), delete(1, parent_order=[seq(5)]), decision(0, ERASE))
    before = ledger.version(0)
    ledger.take(result(again, Outcome.QUARANTINED, extractor="2", work=90), again)  # the result is quicker
    (kept,) = ledger.state.versions
    ours = msgspec.structs.replace(before, erased=["text-1", "text-2"])
    assert msgspec.structs.replace(kept, valid_to=ours.valid_to) == ours


def test_children_that_only_a_late_result_tells_of_follow_their_erased_container() -> None:
    first = up(0, "Z")
    child = Child(source_id=f"{ID}!a.txt", path="a.txt")
    ledger = Ledger()
    ledger.take(first, delete(1), decision(0, ERASE))
    ledger.take(msgspec.structs.replace(result(first, Outcome.SKIPPED, canon=False), children=[child]))
    assert [(told.source_id, told.operation) for told in ledger.told] == [(child.source_id, Operation.DELETE)]
    before = ledger.state
    ledger.take(msgspec.structs.replace(result(first, Outcome.SKIPPED, canon=False, work=9), children=[child]))
    assert (ledger.state, len(ledger.told)) == (before, 1)


def test_what_is_created_again_lives_and_is_extracted_anew() -> None:
    ledger = erased_document()
    again = up(3, "A")
    ledger.take(again)
    assert ledger.state.status is Status.LIVE
    assert (ledger.canon, ledger.version(3).outcome) == (None, Outcome.PENDING)  # nothing is borrowed from the erased
    ledger.take(result(again, work=99))
    assert ledger.published == 3
    seen = list(ledger.visible)
    ledger.take(decision(1, ERASE, "the person asked for it"))
    assert ledger.visible == seen
    ledger.take(delete(4), decision(4, ERASE, "again"))
    assert [version.erased_at is None for version in ledger.state.versions] == [False, False, False]
    assert {found.content_hash for found in ledger.deletions[-1].erased} == {sha("A")}


def test_only_what_is_deleted_can_be_erased_and_only_all_of_it() -> None:
    first, second = up(0, "A"), up(2, "B")
    ledger = Ledger()
    with pytest.raises(DecisionRefused, match=r"it is unknown, and only what is deleted .* Delete it at its source"):
        ledger.take(decision(0, ERASE))
    ledger.take(first, result(first))
    with pytest.raises(DecisionRefused, match="it is live"):
        ledger.take(decision(0, ERASE))
    ledger.take(delete(1), second, delete(3))
    with pytest.raises(DecisionRefused, match="versions after 0"):
        ledger.take(decision(0, ERASE))
    assert ledger.state.erasures == []
