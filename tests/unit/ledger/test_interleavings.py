"""Any interleaving and any redelivery ends in the same state: that of the undisturbed run in the log's order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.ledger.transitions import Arrived, Event, Policy
from streams.records import Outcome, Screened, Status
from tests.unit.ledger.make import (
    Ledger,
    acl,
    at,
    broken,
    canon_of,
    delete,
    held_of,
    move,
    result,
    screen_failed,
    up,
    without_times,
)

READERS = st.sampled_from([["staff"], ["board"], None])
OUTCOMES = {"A": Outcome.READY, "B": Outcome.QUARANTINED, "C": Outcome.SKIPPED, "D": Outcome.READY}


@dataclass
class Story:
    """What happened to one document: its raw events in their order, and the results of each."""

    raw: list[Arrived] = field(default_factory=list)
    results: list[list[Screened]] = field(default_factory=list)  # of the raw event with the same index

    def undisturbed(self) -> list[Event]:
        events: list[Event] = []
        for arrived, results in zip(self.raw, self.results, strict=True):
            events += [arrived, *results]
        return events


@st.composite
def stories(draw: st.DrawFn) -> Story:
    story = Story()
    revisions = draw(st.sampled_from(["none", "names", "numbers", "some numbers"]))
    upgrade = draw(st.integers(0, 12))  # the event from which on a newer extractor works
    offset = 0
    for index in range(draw(st.integers(1, 9))):
        offset += draw(st.integers(1, 3))
        fields: dict[str, Any] = {
            "path": draw(st.sampled_from(["in/doc.txt", "in/other.txt"])),
            "readers": draw(READERS),
            "minute": draw(st.integers(0, 60)),  # clocks of connectors are not in order
        }
        number = draw(st.integers(1, 4))
        if revisions != "none":
            fields["native_revision"] = str(number)
        if revisions == "numbers" or (revisions == "some numbers" and draw(st.booleans())):
            fields["revision_order"] = number
        what = draw(st.sampled_from(["up", "up", "up", "up", "delete", "move", "acl", "failed"]))
        results: list[Screened] = []
        if what == "up":
            content = draw(st.sampled_from(sorted(OUTCOMES)))
            arrived = up(offset, content, **fields)
            version = "2" if index >= upgrade else "1"
            results = [result(arrived, OUTCOMES[content], extractor=version, work=1000 + index)]
            if draw(st.booleans()):  # extracted once more, after everything, by what is the newest then
                results.append(result(arrived, OUTCOMES[content], extractor="3", work=2000 + index))
            if draw(st.booleans()):  # screened once more, by a screen that could not do it
                results.append(screen_failed(arrived, extractor=draw(st.sampled_from("123")), work=3000 + index))
        elif what == "delete":
            arrived = delete(offset, **fields)
        elif what == "move":
            arrived = move(offset, fields.pop("path"), minute=fields["minute"])
        elif what == "acl":
            arrived = acl(offset, fields.pop("readers"), minute=fields["minute"])
        else:
            arrived = broken(offset, draw(st.sampled_from(["unreadable", "vanished"])), **fields)
        story.raw.append(arrived)
        story.results.append(results)
    return story


@st.composite
def shuffled(draw: st.DrawFn, story: Story) -> list[Event]:
    """Raw events in their order, the results anywhere (a stage may be quicker than the ledger), repeats of both."""
    places: list[tuple[float, Event]] = [(float(index), arrived) for index, arrived in enumerate(story.raw)]
    for results in story.results:
        # The ledger may be behind by any number of its raw events when a result of one of them arrives.
        places += [(draw(st.floats(-1, len(story.raw), allow_nan=False)), item) for item in results]
    events = [item for _, item in sorted(places, key=lambda entry: entry[0])]
    for _ in range(draw(st.integers(0, 6))):
        # Redelivery: a consumer goes back and reads on from there, so repeats follow what they repeat.
        source = draw(st.integers(0, len(events) - 1))
        target = draw(st.integers(source + 1, len(events)))
        events.insert(target, events[source])
    return events


def check(ledger: Ledger) -> None:
    """What must hold at every moment."""
    state = ledger.state
    assert ledger.canon == canon_of(state)
    assert ledger.held == held_of(state)
    if state.status is Status.DELETED:
        assert ledger.canon is None
        assert ledger.held is None
    valid = [version for version in state.versions if version.valid_to is None]
    assert len(valid) <= 1
    assert [version.sequence for version in valid] == ([state.current] if state.current else [])
    spans = sorted((v.valid_from, v.valid_to or at(10**6)) for v in state.versions if v.valid_from != v.valid_to)
    for (_, end), (begin, _) in itertools.pairwise(spans):
        assert end <= begin
    assert len({version.sequence for version in state.versions}) == len(state.versions)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_every_interleaving_ends_in_the_state_of_the_undisturbed_run(data: st.DataObject) -> None:
    story = data.draw(stories())
    policy = Policy(held_update=data.draw(st.sampled_from(["serve_stale", "withdraw"])))
    undisturbed = Ledger(policy)
    for item in story.undisturbed():
        undisturbed.take(item)
        check(undisturbed)
    disturbed = Ledger(policy)
    for item in data.draw(shuffled(story)):
        disturbed.take(item)
        check(disturbed)
    note(f"{len(story.raw)} events")
    assert without_times(disturbed.state) == without_times(undisturbed.state)
    assert disturbed.canon == undisturbed.canon
    assert disturbed.held == undisturbed.held
    deleted = [deletion.sequence for deletion in undisturbed.deletions]
    assert sorted(deletion.sequence for deletion in disturbed.deletions) == sorted(deleted)


@settings(max_examples=150, deadline=None)
@given(stories())
def test_all_events_once_more_change_nothing_and_have_no_effects(story: Story) -> None:
    ledger = Ledger()
    ledger.take(*story.undisturbed())
    before, seen = ledger.state, len(ledger.visible)
    ledger.take(*story.undisturbed())
    assert ledger.state == before
    assert len(ledger.visible) == seen


@settings(max_examples=100, deadline=None)
@given(stories())
def test_every_version_ends_settled_once_its_results_are_there(story: Story) -> None:
    ledger = Ledger()
    ledger.take(*story.undisturbed())
    assert all(version.outcome is not Outcome.PENDING for version in ledger.state.versions)
