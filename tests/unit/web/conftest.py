"""Pages over a real catalog and blob store; documents are read by the real extractors, no log is there."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pymupdf
import pytest
from aiohttp.test_utils import TestClient, TestServer

from streams.blobs import original_key
from streams.records import CanonVersion, Content, Outcome, Payload
from streams.runtime.jobs import DecodeArgs, ExamineArgs, run_examine
from streams.settings import BlobSettings, Settings, SourceSettings, WebSettings, WorkerSettings
from streams.web.server import application
from streams.web.site import SITE, Site
from tests.unit.consumers.conftest import Applied
from tests.unit.consumers.make import NOW, at, held, state, version

HOSTILE = "<script>alert(1)</script>\"'>\u202egnp.txt"


def pdf(*pages: list[str]) -> bytes:
    """A PDF with these lines on its pages."""
    with pymupdf.open() as made:
        for lines in pages:
            page = made.new_page(width=595, height=842)
            page.insert_text((60, 80), lines[0], fontsize=20)
            for number, line in enumerate(lines[1:]):
                page.insert_text((60, 120 + 18 * number), line, fontsize=11)
        data: bytes = made.tobytes(no_new_id=True)
    return data


class Pages:
    """A catalog that tests fill, and the pages over it."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.applied = Applied(settings)
        self.app = application(settings, "eva")
        self.site: Site = self.app[SITE]
        self.number = 0

    def hold(
        self, name: str, data: bytes, *problems: str, since: int | None = None, decisions: Any = (), **fields: Any
    ) -> str:
        """A held document, with what the extractor of its format makes of it; `since` in minutes. Its id."""
        self.number += 1
        sha = hashlib.sha256(data).hexdigest()
        self.site.store.put(original_key(sha), data)
        path = self.folder / f"{self.number}.bin"
        path.write_bytes(data)
        args = DecodeArgs(path=str(path), file_name=name, max_bytes=1 << 30)
        found, body = run_examine(ExamineArgs(decode=args, content_hash=sha, size=len(data), max_pages=100))
        stored, attempt = None, found.attempt
        if attempt is not None:
            digest = hashlib.sha256(body).hexdigest()
            stored = Payload(key=f"canons/{sha}/{attempt.fingerprint}", sha256=digest, size=len(body))
            self.site.store.put(stored.key, body)
        screening = msgspec.structs.replace(found.screening, outcome=Outcome.QUARANTINED, problems=list(problems))
        one = version(
            self.number,
            Outcome.QUARANTINED,
            content=Content(sha256=sha, size=len(data)),
            screening=screening,
            detection=found.detection,
            canons=[CanonVersion(payload=stored, attempt=attempt, created_at=NOW)] if stored and attempt else [],
            attempt=None,
            fingerprint=attempt.fingerprint if attempt else "",
            decisions=list(decisions),
            settled_at=NOW,
        )
        self.applied(("versions", f"s:{name}", state(name, one)))
        values: dict[str, Any] = {
            "sequence": at(self.number),
            "content_hash": sha,
            "size": len(data),
            "media_type": found.detection.media_type if found.detection else None,
            "extractor": attempt.extractor if attempt else None,
            "extractor_version": attempt.extractor_version if attempt else None,
            "held_since": NOW + timedelta(minutes=self.number if since is None else since),
            "payload": stored,
            "scores": screening.scores,
            "pages": screening.pages,
        }
        self.applied(("quarantine", f"s:{name}", held(name, *problems, **{**values, **fields})))
        return f"s:{name}"

    def close(self) -> None:
        self.applied.catalog.close()
        self.applied.writer.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path / "data",
        broker="127.0.0.1:9",
        blobs=BlobSettings(fsync=False),
        worker=WorkerSettings(slots=1),
        web=WebSettings(port=0),
        sources={"s": SourceSettings(slo_s=60)},
    )


@pytest.fixture
async def pages(settings: Settings, tmp_path: Path) -> AsyncIterator[Pages]:
    made = Pages(settings, tmp_path)
    await made.applied.begin()
    yield made
    made.close()


@pytest.fixture
async def client(pages: Pages) -> AsyncIterator[TestClient[Any, Any]]:
    async with TestClient(TestServer(pages.app)) as found:
        yield found
