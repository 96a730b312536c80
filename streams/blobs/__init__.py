"""Blob store: where originals and canons are kept, in a directory or on an S3 server."""

from streams.blobs.store import (
    BlobKeyInvalid,
    BlobStore,
    Found,
    Stored,
    canon_key,
    members_key,
    open_store,
    original_key,
)

__all__ = ["BlobKeyInvalid", "BlobStore", "Found", "Stored", "canon_key", "members_key", "open_store", "original_key"]
