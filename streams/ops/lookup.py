"""One document by what a person calls it: its id, its path, the end of its path, or its name."""

from __future__ import annotations

from typing import Any

from streams.blobs import open_store
from streams.consumers.catalog import Catalog
from streams.consumers.catalog_rows import DocumentRow, Story
from streams.errors import NotFound, UsageError
from streams.records import CanonBody
from streams.records.codec import decode
from streams.settings import Settings

MOST_CANDIDATES = 10


def one_document(catalog: Catalog, name: str) -> DocumentRow:
    """The document that `name` means.

    Raises:
        NotFound: none is called so.
        UsageError: several are; names them.
    """
    found = catalog.find(name, limit=MOST_CANDIDATES + 1)
    if not found:
        raise NotFound(
            f"No document is called {name!r}.",
            remedy="`canonry search WORDS` finds by content; `canonry status` tells what the catalog holds.",
        )
    if len(found) > 1:
        some = ", ".join(row.source_id for row in found[:MOST_CANDIDATES])
        more = " and more" if len(found) > MOST_CANDIDATES else ""
        raise UsageError(f"{name!r} may mean {some}{more}.", remedy="Give the whole id.")
    return found[0]


def canon_of(settings: Settings, catalog: Catalog, row: DocumentRow) -> tuple[CanonBody, dict[str, Any]]:
    """The canon that consumers see of a document, else the one that is held or was skipped; verified.

    Returns:
        The body, and where it stands: `published` (bool) and the payload's key and hash.

    Raises:
        NotFound: there is none, with the reason.
        BlobCorrupt, BlobNotFound, BlobStoreUnavailable: as the store.
    """
    story = catalog.document(row.source_id)
    where = story.canon or story.held or (_newest(story) if row.status == "live" else None)
    if where is None or not where.get("payload_key"):
        why = ", ".join(row.problems) or row.rule or row.status
        raise NotFound(f"{row.source_id} has no canon: {row.outcome or row.status} ({why}).")
    data = open_store(settings).get(where["payload_key"], sha256=where["payload_sha256"])
    return decode(CanonBody, data), {
        "published": story.canon is not None,
        "key": where["payload_key"],
        "sha256": where["payload_sha256"],
    }


def _newest(story: Story) -> dict[str, Any] | None:
    """Where the newest canon of the current version stands, which nobody sees."""
    current = (story.document.current_epoch, story.document.current_offset)
    version = next((each for each in story.versions if (each["epoch"], each["offset"]) == current), None)
    if version is None or not version["canons"]:
        return None
    payload = version["canons"][-1]["payload"]
    return {"payload_key": payload["key"], "payload_sha256": payload["sha256"]}
