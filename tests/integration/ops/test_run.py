"""When a run may give up on its events: what others do with its topics is none of its business."""

from __future__ import annotations

from pathlib import Path

from aiokafka import AIOKafkaConsumer

from streams.consumers.reader import consumer_group
from streams.log.client import connection
from streams.ops.lag import lag
from streams.ops.run import Run
from streams.settings import Settings
from tests.integration.runtime.harness import failed, publish


async def test_a_group_of_somebody_else_that_lags_keeps_no_run_waiting(settings: Settings, tmp_path: Path) -> None:
    topic = settings.kafka.topic_prefix + "dead-letter"
    await publish(settings, "dead-letter", [failed("share:a", "vanished")])
    group = consumer_group("archive", settings.kafka.topic_prefix)
    theirs = AIOKafkaConsumer(
        topic,
        **connection(settings, settings.broker),
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await theirs.start()
    try:
        await theirs.getone()  # it has its partitions now
        await theirs.commit(dict.fromkeys(theirs.assignment(), 0))
    finally:
        await theirs.stop()
    run = Run(tmp_path, settings, "share")
    run._broker = settings.broker
    groups = {group.group: group.records for group in await lag(settings, settings.broker)}
    assert groups[group] == 1
    assert not await run._stages_behind()
