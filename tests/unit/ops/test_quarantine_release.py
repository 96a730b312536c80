"""The meter of a release."""

from __future__ import annotations

from streams.ops.quarantine_release import Meter


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_so_many_a_minute_go_and_a_pause_is_not_made_up_for() -> None:
    clock = Clock()
    meter = Meter(60, clock)
    gone = []
    for _ in range(5):
        clock.now += meter.wait_s()
        gone.append(clock.now)
        meter.gone()
    assert gone == [100.0, 101.0, 102.0, 103.0, 104.0]
    clock.now += 600  # live work went first
    waits = []
    for _ in range(4):
        waits.append(meter.wait_s())
        clock.now += meter.wait_s()
        meter.gone()
    assert waits == [0.0, 0.0, 1.0, 1.0]
