"""Provenance: where one content lives, gathered from the links that the ledger publishes for each document.

`content-links` is keyed by content hash, so all links of one content are followed by one worker, in their order; the
state is what stands on `contents`.
"""

from __future__ import annotations

import msgspec

from streams.ledger.store import RecordStore
from streams.records import ContentLink, GoneLink, Provenance, ProvenanceLink
from streams.runtime.messages import Incoming, Outgoing, Outputs

MOST_LINKS = 200
MOST_CHARACTERS = 200_000
"""What one record holds, of living and gone ones. Every new copy writes the whole record, so without a bound a licence
text that lies in 20,000 folders would write gigabytes, and then no record at all."""


class ProvenanceStage:
    """content-links -> contents."""

    keeps_state = True

    def __init__(self, states: RecordStore[Provenance]) -> None:
        self._states = states

    async def assigned(self, partitions: set[int]) -> None:
        await self._states.restore(partitions)

    async def revoked(self) -> None:
        return None

    async def handle(self, event: Incoming) -> Outputs:
        link = event.record
        assert isinstance(link, ContentLink)
        before = self._states.get(event.partition, event.key)
        after = follow(before, link)
        if after is before:
            return Outputs()
        return Outputs(
            then=[Outgoing("contents", event.key, after)], settle=lambda: self._states.put(event.partition, after)
        )

    def give_up(self, event: Incoming, error: Exception) -> Outputs:
        """The message is at fault: it goes to dead-letter, and what is known of the content stays."""
        raise error


def follow(known: Provenance | None, link: ContentLink) -> Provenance:
    """The provenance after one more link: the same object when the link says nothing new.

    A link that is older than what is known of its source_id says nothing, however often and in whatever order it comes.
    """
    before = known or Provenance(content_hash=link.content_hash, size=link.size, links=[])
    links = {each.source_id: each for each in before.links}
    gone = {each.source_id: each for each in before.gone}
    seen = links.pop(link.source_id, None) or gone.pop(link.source_id, None)
    if seen is not None and seen.sequence is not None and link.sequence < seen.sequence:
        return before
    if link.living:
        links[link.source_id] = ProvenanceLink(
            source_id=link.source_id, path=link.path, owner=link.owner, readers=link.readers, sequence=link.sequence
        )
    else:
        gone[link.source_id] = GoneLink(source_id=link.source_id, sequence=link.sequence)
    whole = _bound(links, gone, link.source_id)
    after = msgspec.structs.replace(
        before,
        links=[links[name] for name in sorted(links)],
        gone=[gone[name] for name in sorted(gone)],
        complete=before.complete and whole,
    )
    return known if known is not None and after == known else after


def _bound(links: dict[str, ProvenanceLink], gone: dict[str, GoneLink], newest: str) -> bool:
    """Takes out what is too much, the oldest of the gone first; whether all living ones are still there."""
    while len(links) + len(gone) > MOST_LINKS or _characters(links, gone) > MOST_CHARACTERS:
        if not gone:
            # The others stay as they are, so that one more copy of what is everywhere costs no record at all.
            links.pop(newest if newest in links else max(links))
            return False
        del gone[min(gone, key=lambda name: gone[name].sequence)]
    return True


def _characters(links: dict[str, ProvenanceLink], gone: dict[str, GoneLink]) -> int:
    return sum(map(len, gone)) + sum(
        len(name) + len(link.path) + len(link.owner or "") + sum(map(len, link.readers or ()))
        for name, link in links.items()
    )
