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


async def metadata(app: Any, tps: Iterable[TopicPartition]) -> dict[TopicPartition, str]:
    """What stands beside the committed offsets of the group; partitions without a commit are left out.

    Raises:
        KafkaError, TimeoutError: nothing could be learnt.
    """
    thread = app.consumer._thread
    async with asyncio.timeout(TIMEOUT_S):
        found: dict[TopicPartition, str] = await thread.call_thread(_metadata, thread, list(tps))
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


async def _metadata(thread: Any, tps: list[TopicPartition]) -> dict[TopicPartition, str]:
    found = await thread._consumer._coordinator.fetch_committed_offsets(tps)
    return {tp: committed.metadata for tp, committed in found.items()}
