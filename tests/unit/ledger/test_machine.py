"""Random worlds: documents, containers, lanes that overtake each other, redeliveries, crashes, decisions.

`CANONRY_TEST_MACHINE_EXAMPLES` makes the run longer.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from streams.ledger.children import living
from streams.ledger.timeline import as_of
from streams.ledger.transitions import Policy
from streams.records import Decision, DecisionKind, Operation, Outcome, Status
from streams.records.codec import decode, encode
from tests.unit.ledger.make import ID, NOW, Ledger, acl, at, broken, delete, move, up, without_times
from tests.unit.ledger.test_interleavings import check
from tests.unit.ledger.world import CONTENT, MEMBERS, OUTCOMES, Document, World, child_id

OTHER = "share:other"
"""Claimed by two sources, which count their revisions; `ID` has one source, and may be a container."""

READERS = st.sampled_from([["staff"], ["board"], None])
PLAIN = sorted(OUTCOMES.keys() - MEMBERS.keys())
JUDGED = ("outcome", "detection", "screening", "summary", "timings", "settled_at", "ready_at", "others", "fingerprint")
KINDS = [DecisionKind.ACCEPT, DecisionKind.SKIP, DecisionKind.UNDO, DecisionKind.RE_EXTRACT, DecisionKind.ERASE]


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """What differs, as paths; an assertion about two whole states is nothing that anybody could read."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            found
            for n, (a, b) in enumerate(zip(one, other, strict=True))
            for found in differences(a, b, f"{where}[{n}]")
        ]
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        names = one.__struct_fields__
        return [
            found
            for name in names
            for found in differences(getattr(one, name), getattr(other, name), f"{where}.{name}")
        ]
    return [] if one == other else [f"{where}: {one!r} -> {other!r}"]


class Worlds(RuleBasedStateMachine):
    """One world; at its end everything is read to the end, and compared with runs that nothing disturbed."""

    @initialize(
        held_update=st.sampled_from(["serve_stale", "withdraw"]),
        ranks=st.sampled_from([{}, {"crm": 1}, {"crm": 2, "share": 1}]),
        window=st.sampled_from([0, 5, 1000]),
    )
    def begin(self, held_update: Any, ranks: dict[str, int], window: int) -> None:
        policy = Policy(held_update=held_update, ranks=ranks, conflict_window=timedelta(minutes=window))
        self.world = World(policy)
        self.clock = 0
        self.erased: dict[Any, dict[str, Any]] = {}  # what was kept of each version when it was erased
        self.decided: set[str] = set()
        self.world.document(ID)
        self.world.document(OTHER)

    # --- what happens at the sources ------------------------------------------------------------------------------

    def fields(self, source_id: str, **more: Any) -> dict[str, Any]:
        self.clock += 1
        return {"source_id": source_id, "minute": self.clock, **more}

    @rule(content=st.sampled_from(sorted(OUTCOMES)), path=st.sampled_from(["in/x", "in/y"]), readers=READERS)
    def arrives(self, content: str, path: str, readers: Any) -> None:
        self.world.publish(up(0, content, **self.fields(ID, path=path, file_name=path[3:], readers=readers)))

    @rule(
        content=st.sampled_from(PLAIN),
        source=st.sampled_from(["share", "crm"]),
        revision=st.one_of(st.none(), st.integers(1, 4)),
    )
    def is_claimed(self, content: str, source: str, revision: int | None) -> None:
        name = str(revision) if revision else None
        fields = self.fields(OTHER, source=source, native_revision=name, revision_order=revision)
        self.world.publish(up(0, content, **fields))

    @rule(source_id=st.sampled_from([ID, OTHER]))
    def vanishes(self, source_id: str) -> None:
        self.world.publish(delete(0, **self.fields(source_id)))

    @rule(source_id=st.sampled_from([ID, OTHER]), path=st.sampled_from(["in/x", "out/z"]))
    def moves(self, source_id: str, path: str) -> None:
        self.world.publish(move(0, path, **self.fields(source_id)))

    @rule(source_id=st.sampled_from([ID, OTHER]), readers=READERS)
    def changes_rights(self, source_id: str, readers: Any) -> None:
        self.world.publish(acl(0, readers, **self.fields(source_id)))

    @rule(source_id=st.sampled_from([ID, OTHER]))
    def cannot_be_read(self, source_id: str) -> None:
        self.world.publish(broken(0, **self.fields(source_id)))

    # --- what happens to the stages -------------------------------------------------------------------------------

    @rule(breaks=st.sets(st.sampled_from(sorted(OUTCOMES)), max_size=2))
    def a_new_extractor_comes(self, breaks: set[str]) -> None:
        self.world.extractor = str(int(self.world.extractor) + 1)
        self.world.breaks = breaks

    @precondition(lambda self: self.busy())
    @rule(data=st.data(), count=st.integers(1, 25), crash=st.integers(0, 3))
    def somebody_works(self, data: st.DataObject, count: int, crash: int) -> None:
        for number in range(count):
            if busy := self.busy():
                name, reader = data.draw(st.sampled_from(busy))
                self.world.step(name, reader, crash=number == 0 and crash == 0)

    @rule(data=st.data(), back=st.integers(1, 9))
    def somebody_goes_back(self, data: st.DataObject, back: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.documents)))
        self.world.again(name, data.draw(st.sampled_from(["decode", "raw", "screened", "decisions"])), back)

    @rule(data=st.data(), kind=st.sampled_from(KINDS))
    def somebody_decides(self, data: st.DataObject, kind: DecisionKind) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.documents)))
        document = self.world.documents[name]
        state = document.ledger.state
        claims = [version.sequence for version in state.versions if version.contested]
        sequence = data.draw(st.sampled_from([*claims, state.current or state.high_water]))
        self.decided.add(name)
        self.clock += 1
        document.decisions.append(
            Decision(
                source_id=name,
                sequence=sequence,
                kind=kind,
                actor="eva",
                reason="looked at it",
                decided_at=NOW + timedelta(minutes=self.clock),
            )
        )

    def busy(self) -> list[tuple[str, str]]:
        return [(name, reader) for name, doc in sorted(self.world.documents.items()) for reader in doc.pending()]

    # --- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def every_document_is_sound(self) -> None:
        for document in getattr(self, "world", World()).documents.values():
            check(document.ledger)
            self.nothing_more_is_said_of_the_erased(document)

    def nothing_more_is_said_of_the_erased(self, document: Document) -> None:
        for version in document.ledger.state.versions:
            if version.erased_at is not None:
                kept = {name: getattr(version, name) for name in JUDGED}
                before = self.erased.setdefault((document.ledger.state.source_id, version.sequence), kept)
                changed = [name for name in JUDGED if kept[name] != before[name]]
                assert not changed, changed

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.world.drain()
        for name, document in self.world.documents.items():
            check(document.ledger)
            self.nothing_more_is_said_of_the_erased(document)
            assert all(v.outcome is not Outcome.PENDING or v.erased_at for v in document.ledger.state.versions), name
            assert decode(type(document.ledger.state), encode(document.ledger.state)) == document.ledger.state
            if name not in self.decided:
                self.same_as_undisturbed(document)
        self.children_follow()
        self.was_true_when()
        self.nothing_more_happens()

    def same_as_undisturbed(self, document: Document) -> None:
        ledger = Ledger(self.world.policy, document.ledger.state.source_id)
        ledger.take(*document.raw, *document.screened)
        found = differences(without_times(ledger.state), without_times(document.ledger.state))
        assert not found, found
        assert (ledger.canon, ledger.held) == (document.ledger.canon, document.ledger.held)

    def children_follow(self) -> None:
        """A child lives exactly where its container has it now, under its path and with its rights."""
        for name, document in self.world.documents.items():
            parent = document.ledger.state
            alive = set(living(parent))
            members = {child.source_id: child.path for version in parent.versions for child in version.children}
            for child, path in members.items():
                state = self.world.documents[child].ledger.state
                assert (state.status is Status.LIVE) == (child in alive), (name, child)
                if child in alive:
                    assert state.path == f"{parent.path}/{path}"
                    assert state.readers == parent.readers
                    assert child == child_id(name, path)

    def was_true_when(self) -> None:
        """Validity of the document with one source, by the plainest of models."""
        document = self.world.documents[ID]
        known: list[tuple[int, str | None]] = [(0, None)]
        for arrived in document.raw:
            event = arrived.event
            minute = int((event.manifest.ingested_at - at(0)).total_seconds() // 60)
            if event.operation is Operation.UPSERT:
                assert event.content is not None
                known.append((minute, CONTENT[event.content.sha256]))
            elif event.operation is Operation.FAILED:
                known.append((minute, "failed"))
            elif event.operation is Operation.DELETE:
                known.append((minute, None))
        for number, (minute, content) in enumerate(known):
            until = known[number + 1][0] if number + 1 < len(known) else minute + 10
            for moment in (minute, (minute + until) / 2, until - 0.01):
                version = as_of(document.ledger.state, at(moment))
                if content is None or version is None:
                    assert (version, content) == (None, None), moment
                else:
                    assert (CONTENT[version.content.sha256] if version.content else "failed") == content, moment

    def nothing_more_happens(self) -> None:
        """All of it once more: the same states, and no effect."""
        if self.world.refused:
            return  # a refused decision that is delivered again may fit by then
        states = {name: doc.ledger.state for name, doc in self.world.documents.items()}
        seen = {name: len(doc.ledger.visible) for name, doc in self.world.documents.items()}
        told = {name: len(doc.ledger.told) for name, doc in self.world.documents.items()}
        for name, document in self.world.documents.items():
            for reader in ("raw", "screened", "decisions"):
                self.world.again(name, reader, len(document.topic(reader)))
        self.world.drain()
        for name, document in self.world.documents.items():
            found = differences(states[name], document.ledger.state)
            assert not found, (name, found)
            again = document.ledger.visible[seen[name] :], document.ledger.told[told[name] :]
            assert again == ([], []), (name, again)


TestWorlds = Worlds.TestCase
TestWorlds.settings = settings(
    max_examples=int(os.environ.get("CANONRY_TEST_MACHINE_EXAMPLES", "60")), stateful_step_count=40, deadline=None
)
