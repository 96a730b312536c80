"""Every part as a process of its own: workers of single stages, consumers, and events published with the SDK."""

from __future__ import annotations

import contextlib
import hashlib
import signal
from datetime import UTC, datetime
from pathlib import Path

from streams.blobs import open_store, original_key
from streams.consumers.catalog_rows import DocumentRow
from streams.log.publisher import Publisher
from streams.records import ChangeEvent, Content, Failure, Manifest, Operation
from streams.settings import Settings, SourceSettings
from tests.integration.consumers.log import open_log, read_all
from tests.integration.way import Way, running, until

TEXT = "Minutes of the meeting about the {0}: everybody agreed that it needs paint before the winter.\n"


def event(
    name: str, operation: Operation, content: Content | None = None, failure: Failure | None = None
) -> ChangeEvent:
    now = datetime.now(UTC)
    manifest = Manifest(path=name, file_name=name, source="app", native_id=name, observed_at=now, ingested_at=now)
    return ChangeEvent(
        source_id=f"app:{name}", operation=operation, manifest=manifest, content=content, failure=failure
    )


async def test_parts_hosted_apart_and_messages_that_are_no_records(settings: Settings, tmp_path: Path) -> None:
    settings = settings.model_copy(update={"sources": {"app": SourceSettings(kind="sdk")}})
    way = Way(settings, tmp_path / "unused")
    store = open_store(settings)
    parts = (["worker", "decode"], ["worker", "extract", "screen"], ["worker", "ledger"], ["consumer"])
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(running(way.start(*part))) for part in parts]
        async with open_log(settings) as log, Publisher(settings, settings.broker, name="app") as publisher:
            for partition in range(4):
                await log.raw("raw-arrived", f"app:bad{partition}".encode(), b"no record", partition)
            for name in ("bridge", "lighthouse", "crane"):
                data = TEXT.format(name).encode()
                sha256 = hashlib.sha256(data).hexdigest()
                store.put(original_key(sha256), data)
                content = Content(sha256=sha256, size=len(data))
                await publisher.publish(event(f"{name}.txt", Operation.UPSERT, content))
            missing = Content(sha256="0" * 64, size=5)
            await publisher.publish(event("lost.txt", Operation.UPSERT, missing))
            gone = Failure(code="vanished", message="It was listed and gone.")
            await publisher.publish(event("vanished.txt", Operation.FAILED, failure=gone))
            await publisher.publish(event("crane.txt", Operation.DELETE))
        rows = until(lambda: settled(way), 90, "all outcomes")
        assert rows["bridge.txt"].outcome == "ready"
        assert rows["vanished.txt"].problems == ["vanished"]
        assert rows["lost.txt"].problems == ["corrupt"]
        assert rows["crane.txt"].status == "deleted"
        until(lambda: way.found("lighthouse paint") == ["lighthouse.txt"], 30, "the index")
        assert way.found("crane paint") == []
        # decode and ledger both read raw-arrived: each says that it can't read them.
        letters = await read_all(settings, "dead-letter", 8)
        assert {letter.value for letter in letters} == {b"no record"}
        assert {dict(letter.headers)["stage"] for letter in letters} == {b"decode", b"ledger"}
        assert {dict(letter.headers)["reason_code"] for letter in letters} == {b"undecodable_message"}
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process, part in zip(processes, parts, strict=True):
            _, err = process.communicate(timeout=40)
            assert process.returncode == 0, (part, err.decode())


def settled(way: Way) -> dict[str, DocumentRow] | None:
    """All documents, once the last one has its outcome."""
    rows = way.documents()
    ended = {path for path, row in rows.items() if row.status == "deleted" or row.outcome not in (None, "pending")}
    wanted = {"bridge.txt", "lighthouse.txt", "crane.txt", "lost.txt", "vanished.txt"}
    return rows if wanted <= ended and rows["crane.txt"].status == "deleted" else None
