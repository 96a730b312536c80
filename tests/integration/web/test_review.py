"""The whole way of a reviewer: the real command, worker and log, and a keyboard."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import Iterator

import pytest
from playwright.async_api import Locator, Page

from streams.log.topics import apply_topics
from streams.records import Decision
from streams.settings import BlobSettings, KafkaSettings, Settings, SourceSettings, WorkerSettings
from tests.integration.conftest import delete_topics
from tests.integration.runtime.harness import records
from tests.integration.test_way_quarantine import Queue, repetitive
from tests.integration.way import running, until
from tests.integration.web.browser import needs_chromium, opened

DOCUMENTS = 20
GROUP = 22  # more than are published at once
MARKED = "# Paper {0}\n\n"
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def queue(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    folder = tmp_path_factory.mktemp("review")
    settings = Settings(
        broker=broker,
        data_dir=folder / "data",
        kafka=KafkaSettings(topic_prefix=f"w{uuid.uuid4().hex[:8]}-"),
        blobs=BlobSettings(fsync=False),
        sources={"app": SourceSettings(kind="sdk", owner="office@example.org", slo_s=3600)},
        worker=WorkerSettings(slots=1),
    )
    asyncio.run(apply_topics(settings))
    queue = Queue(settings, folder)
    plain = [queue.upsert(f"{number:02}.txt", repetitive(f"paper {number}")) for number in range(DOCUMENTS)]
    marked = [queue.upsert(f"old/{number:02}.md", MARKED.format(number) + repetitive("old")) for number in range(GROUP)]
    queue.hold(*plain, *marked)
    yield queue
    queue.close()
    asyncio.run(delete_topics(settings))


@pytest.fixture(scope="module")
def address(queue: Queue) -> Iterator[str]:
    with running(queue.way.start("web", "--port", "0", "--actor", "eva")) as process:
        yield _address(process)


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    assert line.startswith("Review pages: http://127.0.0.1:"), line
    return line.split()[-1].rstrip("/")


async def test_twenty_held_documents_with_the_keyboard_alone(queue: Queue, address: str) -> None:
    """`a` accepts, `s` skips, `e` extracts again with the tool that the arrow keys choose, `u` undoes."""
    keys: dict[str, str] = {}
    async with opened() as page:
        await page.goto(f"{address}/?format=text/plain")
        assert await page.locator("h1").inner_text() == f"{DOCUMENTS} held documents that fit"
        await page.keyboard.press("j")
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        for number in range(DOCUMENTS):
            name = await page.locator("h1").inner_text()
            assert name not in keys, (keys, await page.locator(".toast").all_inner_texts())
            keys[name] = "e" if number == 3 else "s" if number % 2 else "a"
            await page.keyboard.press(keys[name])
            if keys[name] == "e":
                await page.keyboard.press("ArrowDown")
                assert (await page.input_value("#reason")).endswith("may read it")
            elif number == 4:
                await page.keyboard.type("every copy is meant")
            async with page.expect_navigation():
                await page.keyboard.press("Enter")
        assert sorted(keys) == [f"{number:02}.txt" for number in range(DOCUMENTS)]
        done = page.locator(".toast:not([data-poll])")
        await done.wait_for()
        assert "is skipped" in await done.inner_text()
        async with page.expect_navigation():
            await page.keyboard.press("u")
        await page.locator(".toast:not([data-poll])").wait_for()
        assert f"{name} is held" in await page.locator(".toast").inner_text()
        await page.locator("form.decide input[name=kind]").first.wait_for(state="attached")  # and can be decided again

    wanted = {name: {"a": "ready", "s": "skipped", "e": "quarantined"}[key] for name, key in keys.items()}
    wanted[name] = "quarantined"  # the last one

    def settled() -> bool:
        rows = queue.way.documents()
        return {name: rows[name].outcome for name in wanted} == wanted

    await asyncio.to_thread(until, settled, 60, f"{wanted}")
    fifth, fourth = list(keys)[4], list(keys)[3]
    decisions = {each.source_id: each for each in await asyncio.to_thread(decided, queue)}
    made = decisions[f"app:{fifth}"]
    assert (made.kind.value, made.actor, made.reason) == ("accept", "eva", "every copy is meant")
    assert (decisions[f"app:{fourth}"].kind.value, decisions[f"app:{name}"].kind.value) == ("re_extract", "undo")
    assert await asyncio.to_thread(queue.dead_letters) == 0


def decided(queue: Queue) -> list[Decision]:
    """All that was published, in the order of each document's."""
    return [record for _, record in asyncio.run(records(queue.settings, "decisions"))]


async def test_what_was_replaced_meanwhile_is_not_decided(queue: Queue, address: str) -> None:
    name = "old/00.md"
    async with opened("409") as page:
        await page.goto(f"{address}/document?id=app:{name}")
        seen = queue.way.documents()[name].current_offset
        newer = queue.upsert(name, MARKED.format("anew") + repetitive("new"))

        def replaced() -> bool:
            row = queue.way.documents()[name]
            return row.current_offset != seen and row.outcome == "quarantined"

        await asyncio.to_thread(queue.publish, newer)
        await asyncio.to_thread(until, replaced)
        await page.keyboard.press("a")
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        assert "newer version" in await page.get_by_role("alert").inner_text()
    assert [each for each in await asyncio.to_thread(decided, queue) if each.source_id == f"app:{name}"] == []


async def test_a_group_is_decided_and_taken_back(queue: Queue, address: str) -> None:
    async with opened() as page:
        await page.goto(f"{address}/groups")
        await page.get_by_role("row", name="text/markdown").get_by_role("link", name="Decide all").click()
        await page.wait_for_url("**/plan*")
        await page.keyboard.press("s")
        for _ in ("look", "decide"):
            async with page.expect_navigation():
                await page.keyboard.press("Enter")
        await page.locator(".toast:not([data-poll])").wait_for()
        assert "answered" in await page.locator(".toast").inner_text()
        await page.goto(f"{address}/decided")
        async with page.expect_navigation():
            await page.get_by_role("button", name="Undo skip").first.click()
        await page.locator(".toast:not([data-poll])").wait_for()
        await page.goto(f"{address}/status")
        await page.get_by_text("ledger").first.wait_for()
        assert await page.get_by_role("cell", name="dead").count() == 0


async def shown(page: Page, address: str, what: Locator, times: int) -> None:
    """A page waits only a moment for the log, so a busy machine may show it at the second look."""
    for _ in range(20):
        await page.goto(address)
        if await what.count() == times:
            return
        await asyncio.sleep(0.5)
    raise AssertionError(f"{what} is not there {times} times: {await page.locator('main').inner_text()}")


async def test_what_waits_for_a_worker_is_known_as_decided_taken_back_and_not_decided_again(
    queue: Queue, address: str
) -> None:
    """Decided here or elsewhere, before this server began or after; in the browser or on the command line."""
    name, other, seen_by_two = "01.txt", "03.txt", "?format=text/plain"
    await asyncio.to_thread(queue.decide, "--undo", "--decided-by", "eva", "--yes", "--reason", "all of it again")
    await asyncio.to_thread(queue.settle)
    await asyncio.to_thread(queue.end_worker)
    async with opened("409", "400") as page, opened("400") as second:
        await second.goto(f"{address}/plan{seen_by_two}")
        await second.keyboard.press("s")
        async with second.expect_navigation():
            await second.keyboard.press("Enter")
        assert f"Decide {DOCUMENTS} documents" in await second.locator("main").inner_text()

        third = await second.context.new_page()
        await third.goto(second.url)
        await page.goto(f"{address}/document?id=app:{name}")
        await page.keyboard.press("s")
        for key in ("Enter", "u"):
            async with page.expect_navigation():
                await page.keyboard.press(key)
        assert await page.locator("h1").inner_text() == name
        assert f"Taking back {name}: waiting for the ledger" in await page.locator(".toast").inner_text()
        await shown(
            page, f"{address}/decided", page.get_by_role("row", name=name).get_by_text("not carried out yet"), 2
        )

        done = await asyncio.to_thread(queue.command, "quarantine", "decide", other, "--skip", "--reason", "here")
        assert "No worker runs" in done.out
        waiting = page.get_by_role("row", name=other).get_by_text("decided, waiting")
        await shown(page, f"{address}/?format=text/plain", waiting, 1)
        await page.goto(f"{address}/document?id=app:{other}")
        assert "The ledger has not carried it out yet" in await page.locator("main").inner_text()
        assert await page.locator("input[name=kind]").count() == 0
        await page.goto(f"{address}/plan{seen_by_two}")
        assert await page.locator("h1").inner_text() == f"Decide {DOCUMENTS - 2} documents at once"

        async with second.expect_navigation():
            await second.get_by_role("button", name=f"Decide {DOCUMENTS} documents").click()
        said = await second.locator(".toast.bad").inner_text()
        assert f"2 of the {DOCUMENTS} that you saw were decided already" in said
        async with third.expect_navigation():
            await third.get_by_role("button", name=f"Decide {DOCUMENTS} documents").click()
        assert "Nothing was decided: all" in await third.locator("h1").inner_text()
    again = await asyncio.to_thread(queue.json, "quarantine", "decide", other, "--skip", "--reason", "here")
    assert again["already"] == [other]
    await asyncio.to_thread(queue.restart_worker)
    await asyncio.to_thread(until, lambda: queue.outcome(other) == "skipped", 90, "it is carried out")
    await asyncio.to_thread(until, lambda: queue.outcome(name) == "quarantined", 60, "it is held again")
    await asyncio.to_thread(queue.settle)
    made = [each.kind.value for each in await asyncio.to_thread(decided, queue) if each.source_id == f"app:{name}"]
    assert made[-2:] == ["skip", "undo"]
    assert await asyncio.to_thread(queue.dead_letters) == 0


def test_an_address_that_others_reach_needs_a_token(queue: Queue) -> None:
    said = queue.way.ask("web", "--host", "192.0.2.1", "--port", "0")
    assert said.status == 2
    assert "CANONRY_WEB__TOKEN" in said.err
