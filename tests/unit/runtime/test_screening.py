"""Whose turn it is after an attempt that the screen holds, and what becomes of all attempts."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streams.blobs import open_store
from streams.errors import DocumentError
from streams.ops.inspect import Declared, examine, line_of
from streams.records import CanonSummary, Content, Decoded, Detection, Extracted, Outcome, Screened, Screening
from streams.runtime.messages import Outputs
from streams.runtime.screening import ScreenStage, merit
from streams.runtime.slots import Slots
from streams.runtime.stages import ExtractStage, Workshop
from streams.settings import ScreenSettings, Settings
from tests.unit.ledger.make import result, up
from tests.unit.runtime.test_stages import CHILDREN, incoming

LOGIN = b"""<!doctype html><html lang=en><title>Sign in</title><body><form action=/login method=post>
<h1>Sign in</h1><label>User name <input name=user></label><label>Password <input type=password name=password></label>
<button>Sign in</button></form></body></html>"""

POLICY = """version = "2"
[[forks]]
problems = ["not_content"]
formats = ["text/html"]
tools = [{tools}]
"""


class Way:
    """Extract and screen over a store of their own, under a policy with a fork."""

    def __init__(self, folder: Path, *tools: str) -> None:
        policy = folder / "policy.toml"
        policy.write_text(POLICY.format(tools=", ".join(f'"{tool}"' for tool in tools)))
        self.settings = Settings(data_dir=folder, screen=ScreenSettings(policy_file=policy))
        self.slots = Slots(self.settings.worker)
        self._store = open_store(self.settings)
        workshop = Workshop(self.settings, self._store, self.slots)
        self._extract, self._screen = ExtractStage(workshop), ScreenStage(workshop)

    def decoded(self, data: bytes, tool: str | None = None) -> Decoded:
        put = self._store.put_file(io.BytesIO(data))
        document = result(up(0, "x")).document
        return Decoded(
            document=msgspec.structs.replace(document, content=Content(sha256=put.sha256, size=put.size)),
            detection=Detection(media_type="text/html", detected_by="markup:html", encoding="utf-8", rules="1"),
            tool=tool,
            children=CHILDREN,
        )

    async def through(self, decoded: Decoded) -> Outputs:
        event = incoming("decoded", decoded)
        try:
            (out,) = (await self._extract.handle(event)).first
        except DocumentError as error:
            (out,) = self._extract.give_up(event, error).first
        assert isinstance(out.record, Extracted)
        return await self._screen.handle(incoming("extracted", out.record))

    async def to_the_end(self, decoded: Decoded) -> list[Screened]:
        for _ in range(10):
            outputs = await self.through(decoded)
            if outputs.first[0].topic == "screened":
                return [out.record for out in outputs.first if isinstance(out.record, Screened)]
            (out,) = outputs.first
            assert (out.topic, out.key) == ("decoded", "share:doc")
            assert isinstance(out.record, Decoded)
            decoded = out.record
        raise AssertionError("it does not end")


@pytest.fixture
async def ways(tmp_path: Path) -> AsyncIterator[Any]:
    made: list[Way] = []

    def make(*tools: str) -> Way:
        made.append(Way(tmp_path, *tools))
        return made[-1]

    yield make
    for way in made:
        await way.slots.stop()


async def test_what_is_held_goes_to_the_extractor_that_the_policy_names(ways: Any) -> None:
    way = ways("code", "text")
    first, last = await way.to_the_end(way.decoded(LOGIN))
    assert (first.screening.outcome, first.screening.problems) == (Outcome.QUARANTINED, ["not_content"])
    assert (first.attempt.extractor, last.attempt.extractor) == ("html", "code")
    assert last.screening.outcome is Outcome.READY
    assert first.children == last.children == CHILDREN
    for each in (first, last):
        assert [timing.stage for timing in each.timings] == ["extract", "screen"]


async def test_a_decision_for_a_tool_is_no_first_attempt(ways: Any) -> None:
    way = ways("code")
    (end,) = await way.to_the_end(way.decoded(LOGIN, tool="html"))
    assert end.attempt.extractor == "html"
    assert end.screening.outcome is Outcome.QUARANTINED


async def test_attempts_are_bounded_and_the_best_one_is_told_last_and_is_the_newest(ways: Any) -> None:
    way = ways("json", "xml", "csv", "tex")
    *others, best = await way.to_the_end(way.decoded(LOGIN))
    assert len(others) == 2
    assert best.attempt is not None
    newest = max(timing.started_at for timing in best.timings)
    assert all(newest >= max(timing.started_at for timing in other.timings) for other in others)
    assert [(other.payload, other.screening.problems) for other in others] == [(None, ["parser_error"])] * 2


async def test_inspect_takes_the_same_turns(ways: Any, tmp_path: Path) -> None:
    way = ways("code")
    page = tmp_path / "page.html"
    page.write_bytes(LOGIN)
    line = line_of(await examine(page, str(page), way.settings, way.slots, Declared()))
    assert (line["outcome"], line["extractor"]) == ("ready", "code")
    assert [attempt["extractor"] for attempt in line["attempts"]] == ["html", "code"]


def test_the_better_attempt() -> None:
    def said(outcome: Outcome, *problems: str, rate: float = 0.0) -> Screening:
        return Screening(outcome=outcome, problems=list(problems), scores={"dictionary_rate": rate})

    text = CanonSummary(characters=100)
    ready = merit(said(Outcome.READY), text, 0)
    read = merit(said(Outcome.QUARANTINED, "low_dictionary_rate", rate=0.4), text, 0)
    worse = merit(said(Outcome.QUARANTINED, "low_dictionary_rate", rate=0.2), text, 1)
    nothing = merit(said(Outcome.QUARANTINED, "parser_error"), None, 2)
    assert ready > read > worse > nothing
    assert merit(said(Outcome.READY), text, 1) > ready
