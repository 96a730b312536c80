"""A whole connector in twenty lines: what R-IN-4 promises, and what the README shows."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

from streams.connectors.base import Change, Checkpoint, Connector, Document, Failed, Gone, run_connector
from streams.settings import Settings, SourceSettings
from tests.unit.connectors.worlds import MemoryLog, MemoryStore


class JsonLines(Connector):
    """Documents of a file that a ticket system appends to: one JSON object a line."""

    def __init__(self, path: Path, source: str) -> None:
        self.source, self.path, self.mark = source, path, path.with_suffix(".mark")

    async def changes(self) -> AsyncGenerator[Change | Checkpoint, None]:
        done = int(self.mark.read_text()) if self.mark.exists() else 0
        for number, line in enumerate(self.path.read_text().splitlines()[done:], done + 1):
            try:
                ticket = json.loads(line)
                native_id, body = ticket["id"], ticket.get("body")
                data = None if body is None else base64.b64decode(body, validate=True)
            except (ValueError, KeyError, TypeError) as error:
                yield Failed(native_id=f"line {number}", path=f"line {number}", code="corrupt", message=str(error))
                continue
            if data is None:
                yield Gone(native_id=native_id, path=ticket["title"], reason="ticket closed")
            else:
                yield Document(native_id=native_id, path=ticket["title"], open=partial(io.BytesIO, data))
            yield Checkpoint(value=str(number))

    async def checkpoint(self, value: str) -> None:
        self.mark.write_text(value)


async def test_example(tmp_path: Path) -> None:
    path = tmp_path / "tickets.jsonl"
    lines = [
        {"id": "T1", "title": "printer.txt", "body": base64.b64encode(b"It burns.").decode()},
        {"id": "T2", "title": "no base64", "body": "%"},
        {"id": "T1", "title": "printer.txt"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    settings = Settings(data_dir=tmp_path, sources={"tickets": SourceSettings()})
    log, store = MemoryLog(), MemoryStore()

    summary = await run_connector(JsonLines(path, "tickets"), store, log, settings)

    said = [(event.operation.value, event.source_id) for event in log.events]
    assert said == [("upsert", "tickets:T1"), ("failed", "tickets:line 2"), ("delete", "tickets:T1")]
    assert summary.checkpoint == "3"
    assert list(store.held.values()) == [b"It burns."]
    await run_connector(JsonLines(path, "tickets"), store, log, settings)
    assert len(log.events) == 3
