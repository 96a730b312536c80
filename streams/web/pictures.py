"""Images of pages: drawn in a slot, because documents are hostile, and kept in the blob store beside the original."""

from __future__ import annotations

import asyncio

from streams.blobs import original_key
from streams.blobs.store import BlobStore, page_key
from streams.records import Detection
from streams.runtime.jobs import PageArgs, path_text
from streams.runtime.slots import Slots
from streams.settings import Settings

DRAWING = 1
"""Raise it when pages are drawn in another way: what was kept is another picture."""

TIMEOUT_S = 30.0


class Pictures:
    """Draws pages, each once."""

    def __init__(self, settings: Settings, store: BlobStore) -> None:
        self._store = store
        self._slots = Slots(settings.worker.model_copy(update={"slots": 1}))

    async def page(self, content_hash: str, detection: Detection, number: int) -> bytes:
        """Page `number` (from 1) as a PNG.

        Raises:
            DocumentError, SlotFailure: it can't be drawn.
            BlobNotFound, BlobCorrupt, BlobStoreUnavailable: as the store.
        """
        key = page_key(content_hash, number, DRAWING)
        if (kept := await asyncio.to_thread(self._kept, key)) is not None:
            return kept
        copy = self._store.local_copy(original_key(content_hash), sha256=content_hash)
        path = await asyncio.to_thread(copy.__enter__)
        try:
            args = PageArgs(path=path_text(path), detection=detection, page=number)
            _, png, _ = await self._slots.run("page", args, type(None), timeout_s=TIMEOUT_S)
        finally:
            await asyncio.to_thread(copy.__exit__, None, None, None)
        await asyncio.to_thread(self._keep, key, content_hash, png)
        return png

    def _kept(self, key: str) -> bytes | None:
        found = self._store.find(key)
        return self._store.get(key, sha256=found.sha256) if found is not None else None

    def _keep(self, key: str, content_hash: str, png: bytes) -> None:
        self._store.put(key, png)
        if not self._store.exists(original_key(content_hash)):  # erased meanwhile
            self._store.delete(key)

    async def stop(self) -> None:
        await self._slots.stop()
