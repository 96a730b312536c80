"""The claim check: a canon's bytes, whether they travel in a record or wait in the store."""

from __future__ import annotations

import hashlib

from streams.blobs.store import BlobStore
from streams.errors import BlobCorrupt
from streams.records import Payload


def payload_bytes(payload: Payload, store: BlobStore) -> bytes:
    """A canon body's bytes, verified. Reads the store only for what does not travel inline.

    Raises:
        BlobCorrupt: the bytes are not those that were announced.
        BlobNotFound: the store has no such object (any more).
        BlobStoreUnavailable: the store does not answer.
    """
    if payload.inline is None:
        return store.get(payload.key, sha256=payload.sha256)
    if (found := hashlib.sha256(payload.inline).hexdigest()) != payload.sha256:
        raise BlobCorrupt(f"{payload.key} travels inline with the hash {found} instead of {payload.sha256}.")
    return payload.inline
