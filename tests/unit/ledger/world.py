"""A log, a decode and a ledger for any number of documents, containers among them, as they work on Kafka.

Every document has a partition of its own, so nothing is in order between documents; within one, each topic is read in
its order, and from any earlier place again. What decode and the ledger publish is there before their position moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from streams.ledger.children import child_path, order_below
from streams.ledger.transitions import Arrived, DecisionRefused, Event, Policy, apply
from streams.records import Child, Decision, Operation, Outcome, Screened
from tests.unit.ledger.make import Ledger, result, sha, up

MEMBERS: dict[str, dict[str, str]] = {
    "Z1": {"a.txt": "A", "b.txt": "B"},
    "Z2": {"a.txt": "D"},
    "Z3": {"c.txt": "A", "inner.zip": "Z1"},
    "Z4": {"c.txt": "A", "inner.zip": "Z2"},
    "Z5": {},
}
"""Containers: their members by path."""
OUTCOMES = {
    "A": Outcome.READY,
    "B": Outcome.QUARANTINED,
    "C": Outcome.SKIPPED,
    "D": Outcome.READY,
    **dict.fromkeys(MEMBERS, Outcome.SKIPPED),
}
CONTENT = {sha(name): name for name in OUTCOMES}


def child_id(parent: str, path: str) -> str:
    return f"{parent}!{path}"


@dataclass
class Document:
    """One partition's worth: what stands in the topics, and up to where decode and the ledger have read."""

    ledger: Ledger
    raw: list[Arrived] = field(default_factory=list)
    screened: list[Screened] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=lambda: {"decode": 0, "raw": 0, "screened": 0, "decisions": 0})

    def topic(self, reader: str) -> list[Any]:
        return self.raw if reader == "decode" else getattr(self, reader)

    def pending(self) -> list[str]:
        return [reader for reader in self.read if self.read[reader] < len(self.topic(reader))]


class World:
    """All documents. `step` lets one reader of one document handle its next event."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self.documents: dict[str, Document] = {}
        self.minute = 0.0
        self.extractor = "1"
        self.breaks: set[str] = set()  # contents that the extractor of now can't read
        self.refused = 0

    def document(self, source_id: str) -> Document:
        if source_id not in self.documents:
            self.documents[source_id] = Document(Ledger(self.policy, source_id))
        return self.documents[source_id]

    def publish(self, arrived: Arrived) -> None:
        """A connector's event; its offset is that of its document's partition."""
        document = self.document(arrived.event.source_id)
        place = type(arrived.sequence)(epoch=1, offset=len(document.raw))
        document.raw.append(Arrived(arrived.event, place))

    def step(self, source_id: str, reader: str, *, crash: bool = False) -> None:
        """Handles the next event; with `crash`, everything is published and neither state nor position is kept."""
        document = self.documents[source_id]
        event = document.topic(reader)[document.read[reader]]
        if reader == "decode":
            self._decode(event)
        else:
            self._take(document, event, crash)
        if not crash:
            document.read[reader] += 1

    def again(self, source_id: str, reader: str, back: int) -> None:
        """The reader goes back, and reads what it had read once more."""
        document = self.documents[source_id]
        document.read[reader] = max(0, document.read[reader] - back)

    def drain(self) -> None:
        """Until nobody has anything to do."""
        while busy := [(name, reader) for name, doc in self.documents.items() for reader in doc.pending()]:
            for name, reader in busy:
                self.step(name, reader)

    def tell(self, *arrived: Arrived) -> None:
        for event in arrived:
            self.publish(event)
            self.drain()

    def _decode(self, arrived: Arrived) -> None:
        event = arrived.event
        if event.operation is not Operation.UPSERT or event.content is None:
            return
        self.minute += 1
        content = CONTENT[event.content.sha256]
        children = []
        for path, member in sorted(MEMBERS.get(content, {}).items()):
            child = Child(source_id=child_id(event.source_id, path), path=path)
            children.append(child)
            full = child_path(event.manifest.path, child)
            born = up(0, member, source_id=child.source_id, path=full, file_name=path, source=event.manifest.source)
            manifest = msgspec.structs.replace(
                born.event.manifest,
                observed_at=event.manifest.observed_at,
                ingested_at=event.manifest.ingested_at,
                readers=event.manifest.readers,
                parent_source_id=event.source_id,
                revision_order=event.manifest.revision_order,
                parent_order=order_below(event.manifest.parent_order, arrived.sequence),
            )
            self.publish(Arrived(msgspec.structs.replace(born.event, manifest=manifest), arrived.sequence))
        broken = content in self.breaks
        screened = result(
            arrived,
            Outcome.QUARANTINED if broken else OUTCOMES[content],
            extractor=self.extractor,
            work=10_000 + self.minute,
            canon=not broken,
        )
        self.documents[event.source_id].screened.append(msgspec.structs.replace(screened, children=children))

    def _take(self, document: Document, event: Event, crash: bool) -> None:
        ledger = document.ledger
        told = len(ledger.told)
        try:
            if crash:
                _, effects = apply(ledger.state, event, now=ledger.now, policy=ledger.policy)
                children = effects.children
            else:
                ledger.take(event)
                children = ledger.told[told:]
        except DecisionRefused:
            self.refused += 1
            return
        for event_of_child in children:
            self.publish(Arrived(event_of_child, ledger.state.high_water))
