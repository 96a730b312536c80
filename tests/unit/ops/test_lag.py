"""A stage that the settings have paused is no alarm, one that nobody has started is one all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.log.freshness import GroupLook, PartitionLook
from streams.ops.lag import ALARMING, Judge, State, paused_groups
from streams.settings import RecognitionSettings, Settings
from streams.topology import group_id

RECOGNIZE, SCREEN = group_id("recognize", ""), group_id("screen", "")


def look(group: str, members: int = 1) -> GroupLook:
    at = PartitionLook(
        topic="recognize", partition=0, position=3, end=9, records=6, seconds=900.0, oldest_at=1.0, started=True,
        member="worker" if members else None,
    )  # fmt: skip
    return GroupLook(group=group, topics=["recognize"], kafka_state="Stable", members=members, partitions=[at])


@pytest.mark.parametrize("clock", [0.0, 60.0])
def test_a_paused_stage_is_not_stalled(clock: float) -> None:
    judge = Judge(300, 30, {RECOGNIZE})
    judge.judge([look(RECOGNIZE), look(SCREEN)], 0.0)
    paused, other = judge.judge([look(RECOGNIZE), look(SCREEN)], clock)
    assert paused.state is State.PAUSED
    assert paused.state not in ALARMING
    assert other.state is (State.STALLED if clock else State.BEHIND)


def test_a_paused_stage_that_nobody_runs_is_dead() -> None:
    (judged,) = Judge(300, 30, {RECOGNIZE}).judge([look(RECOGNIZE, members=0)], 0.0)
    assert judged.state is State.DEAD


@pytest.mark.parametrize(
    ("enabled", "paused", "groups"), [(True, True, {RECOGNIZE}), (True, False, set()), (False, True, set())]
)
def test_the_settings_say_what_is_paused(tmp_path: Path, enabled: bool, paused: bool, groups: set[str]) -> None:
    settings = Settings(data_dir=tmp_path, recognition=RecognitionSettings(enabled=enabled, paused=paused))
    assert paused_groups(settings) == {settings.kafka.topic_prefix + group for group in groups}
