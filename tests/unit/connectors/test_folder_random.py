"""Whatever happens to a folder between scans, and wherever a scan dies: the log adds up to what stands there."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from streams.errors import BrokerUnavailable
from tests.unit.connectors.worlds import World

NAMES = ["a", "b", "c", "é", "e\u0301", "d%41", "dA"]
TEXTS = ["", "x", "y", "one", "two", "longer text"]
TIMES = [1_600_000_000, 1_600_000_001]


def disturb(root: Path, dice: random.Random) -> None:
    """One change, of the kinds that people and programs make."""
    files = [path for path in root.rglob("*") if path.is_file()]
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    target = dice.choice(folders) / dice.choice(NAMES)
    match dice.randrange(8):
        case 0 | 1 if not target.is_dir():
            target.write_text(dice.choice(TEXTS))
            if dice.random() < 0.7:
                os.utime(target, (time := dice.choice(TIMES), time))
        case 2 if files:
            dice.choice(files).unlink()
        case 3 if files and not target.is_dir():
            os.replace(dice.choice(files), target)
        case 4 if files and not target.exists():
            shutil.copy2(dice.choice(files), target)
        case 5 if len(folders) > 1 and not target.exists():
            folder = dice.choice(folders[1:])
            if not target.is_relative_to(folder):
                os.rename(folder, target)
        case 6 if len(folders) < 6 and not target.exists():
            target.mkdir()
        case 7 if len(folders) > 4:
            shutil.rmtree(dice.choice(folders[1:]))


# 1018, 1023, 1237: one name in both normal forms, each moved
@pytest.mark.parametrize("seed", [*range(16), 1018, 1023, 1237])
async def test_log_adds_up(world: World, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    for _ in range(12):
        for _ in range(dice.randrange(8)):
            disturb(world.root, dice)
        if dice.random() < 0.3:
            world.log.fail_after = len(world.log.events) + dice.randrange(4)
            with pytest.MonkeyPatch.context() as patch:
                if dice.random() < 0.5:  # and what was confirmed is lost, too

                    async def lost() -> None:
                        world.connector._confirmations.clear()

                    patch.setattr(world.connector, "flush", lost)
                with suppress(BrokerUnavailable):
                    await world.scan(approve_deletes=True)
            world.log.fail_after = None
            world.reopen()
            for _ in range(dice.randrange(4)):
                disturb(world.root, dice)
        await world.scan(approve_deletes=True)
        assert world.spelled() == world.log.documents()
        said = len(world.log.events)
        assert (await world.scan()).unchanged == len(world.standing())
        assert len(world.log.events) == said
