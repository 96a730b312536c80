"""Commits and positions on Faust's consumer, past Faust: its own commit believes in failures (#316) and ends the app.

The consumer lives in a thread with a loop of its own; these run there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata

TIMEOUT_S = 5.0


async def commit(app: Any, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> set[TopicPartition]:
    """Commits the next offsets to read: what was committed. Partitions that are not assigned any more are left out.

    Raises:
        KafkaError, TimeoutError: nothing is known to be committed.
    """
    if not offsets:
        return set()
    thread = app.consumer._thread
    async with asyncio.timeout(TIMEOUT_S):
        found: set[TopicPartition] = await thread.call_thread(_commit, thread, dict(offsets))
        return found


async def positions(app: Any, tps: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    """The next offset to fetch and the high watermark, where both are known.

    Raises:
        KafkaError, TimeoutError: nothing could be learnt.
    """
    thread = app.consumer._thread
    async with asyncio.timeout(TIMEOUT_S):
        found: dict[TopicPartition, tuple[int, int]] = await thread.call_thread(_positions, thread, list(tps))
        return found


async def committed(app: Any, tps: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
    """The committed offsets of the group, and what stands beside them; partitions without a commit are left out.

    Raises:
        KafkaError, TimeoutError: nothing could be learnt.
    """
    thread = app.consumer._thread
    async with asyncio.timeout(TIMEOUT_S):
        found: dict[TopicPartition, OffsetAndMetadata] = await thread.call_thread(_committed, thread, list(tps))
        return found


async def _commit(thread: Any, offsets: dict[TopicPartition, OffsetAndMetadata]) -> set[TopicPartition]:
    consumer = thread._consumer
    assigned = consumer.assignment()
    mine = {tp: offset for tp, offset in offsets.items() if tp in assigned}
    if mine:
        await consumer.commit(mine)
    return set(mine)


async def _positions(thread: Any, tps: list[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
    consumer = thread._consumer
    assigned = consumer.assignment()
    found = {}
    for tp in tps:
        if tp in assigned:
            state = consumer._subscription.subscription.assignment.state_value(tp)
            if state.has_valid_position and state.highwater is not None:
                found[tp] = (state.position, state.highwater)
    return found


async def _committed(thread: Any, tps: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
    found: dict[TopicPartition, OffsetAndMetadata] = await thread._consumer._coordinator.fetch_committed_offsets(tps)
    return {tp: at for tp, at in found.items() if at.offset >= 0}
