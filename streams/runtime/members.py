"""Members of containers on their way: opened in a slot, kept as originals, told as events of documents of their own."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import msgspec

from streams.blobs import BlobStore
from streams.connectors.names import MEMBER, display_path, file_name
from streams.decode.unpack import Limits, Member, Unpacked, is_archive, may_have_members
from streams.errors import DocumentError, SlotFailure
from streams.ledger.children import ATTACHMENTS_NOT_READ, order_below
from streams.records import ChangeEvent, Child, Content, Detection, Failure, Manifest, Operation, Sequence
from streams.runtime.jobs import UnpackAnswer, UnpackArgs, path_text
from streams.runtime.scratch import unavailable
from streams.runtime.slots import Slots
from streams.settings import LimitSettings, Settings

log = logging.getLogger(__name__)

MAX_ID = 700
"""Characters of a member's id beyond its source; a key of Kafka and of every table has to hold it."""
_STILL_OPENED = frozenset({"container", "unsupported_format", "truncated", "corrupt"})
"""Ends of a container after which its members may be read nonetheless."""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A document whose members were looked for: what that says of itself, and the members."""

    detection: Detection
    failure: Failure | None
    members: list[Member] = []


def carries(detection: Detection | None, failure: Failure | None) -> bool:
    """Whether members have to be looked for in what was detected."""
    if detection is None or not may_have_members(detection.media_type):
        return False
    return failure is None or failure.code in _STILL_OPENED


async def open_members(
    slots: Slots,
    settings: Settings,
    path: Path,
    name: str,
    detection: Detection,
    failure: Failure | None,
    *,
    depth: int,
    into: Path,
) -> Opened:
    """Looks for members in a slot.

    Args:
        name: of the file, as its source has it.
        failure: why decode ended with the container itself; an archive is skipped by the rule `container`.
        depth: how many containers it lies in.
        into: an empty folder for the members' bytes.

    Raises:
        ScratchUnavailable: the folder can't be written to. Transient.
    """
    limits = settings.limits
    levels = limits.max_container_depth - depth
    if levels <= 0:
        message = f"It lies in {depth} containers; the limit is {limits.max_container_depth}."
        return _merged(detection, failure, Unpacked(failure=Failure(code="bomb", message=message)))
    args = UnpackArgs(
        path=path_text(path),
        file_name=name,
        media_type=detection.media_type,
        into=path_text(into),
        limits=_limits(limits, levels),
    )
    try:
        answer, _, _ = await slots.run("unpack", args, UnpackAnswer)
    except (DocumentError, SlotFailure) as error:
        found = Unpacked(failure=Failure(code=error.problem, message=error.message))
    else:
        if answer.unavailable is not None:
            raise unavailable(answer.unavailable)
        found = answer.unpacked
    return _merged(detection, failure, found)


def _limits(limits: LimitSettings, levels: int) -> Limits:
    return Limits(
        depth=levels,
        members=limits.max_container_members,
        size=limits.max_container_bytes,
        ratio=limits.max_container_ratio,
    )


def _merged(detection: Detection, failure: Failure | None, found: Unpacked) -> Opened:
    """What the members, or their lack, say of the document that carries them."""
    warnings, members, said = [*detection.warnings, *found.warnings], found.members, found.failure
    unreadable = {member.failure.code for member in members if member.failure is not None}
    if is_archive(detection.media_type):
        if said is None and len(unreadable) == 1 and all(member.failure is not None for member in members):
            (code,) = unreadable
            said = Failure(code=code, message=f"None of its {len(members)} members can be read: {_first(members)}")
            members = []
        if said is not None and (failure is None or failure.skip or said.code == "bomb"):
            failure = said
    elif said is not None:
        # Its own text is worth having all the same.
        log.info("Members of a document can't be read: %s: %s", said.code, said.message)
        warnings.append(ATTACHMENTS_NOT_READ)
    if unreadable:
        warnings.append("members_unreadable")
    changed = msgspec.structs.replace(detection, warnings=list(dict.fromkeys(warnings)))
    return Opened(detection=changed, failure=failure, members=members)


def _first(members: list[Member]) -> str:
    failure = members[0].failure
    return failure.message if failure is not None else ""


def keep(store: BlobStore, folder: Path, members: list[Member]) -> None:
    """Stores the members' bytes as originals.

    Raises:
        BlobStoreUnavailable: as the store.
    """
    for member in members:
        if member.file is not None:
            with (folder / member.file).open("rb") as file:
                store.put_file(file)


def child_events(change: ChangeEvent, sequence: Sequence, members: list[Member]) -> list[tuple[Child, ChangeEvent]]:
    """What is said of each member on `raw-arrived`, and how the container lists it.

    Args:
        change: the event that brought the container.
        sequence: of that event; the members' facts stand in its place, see `Manifest.parent_order`.
    """
    parent = change.manifest
    order = order_below(parent.parent_order, sequence)
    told = []
    for member in members:
        source_id = member_id(change.source_id, member.key)
        path = f"{parent.path}/{member.path}"
        manifest = Manifest(
            path=path,
            file_name=file_name(path),
            source=parent.source,
            native_id=source_id.removeprefix(f"{parent.source}:"),
            source_updated_at=member.modified_at or parent.source_updated_at,
            observed_at=parent.observed_at,
            ingested_at=parent.ingested_at,
            owner=parent.owner,
            readers=parent.readers,
            language_hint=parent.language_hint,
            parent_source_id=change.source_id,
            child_index=member.index,
            parent_order=order,
        )
        content = None
        if member.file is not None:
            content = Content(sha256=member.sha256, size=member.size, declared_media_type=member.media_type)
        event = ChangeEvent(
            source_id=source_id,
            operation=Operation.UPSERT if content is not None else Operation.FAILED,
            manifest=manifest,
            content=content,
            failure=member.failure,
        )
        told.append((Child(source_id=source_id, path=member.path), event))
    return told


def member_id(source_id: str, key: str) -> str:
    """The id of a member: the same in each version of its container, as long as it keeps its place there.

    No id of a connector holds the separator, and no key keeps it: else a member could be named into another's place.
    """
    found = source_id + MEMBER + display_path(key.encode("utf-8", "surrogatepass"))
    if len(found) <= MAX_ID:
        return found
    return source_id[: MAX_ID - 70] + MEMBER + hashlib.sha256(found.encode()).hexdigest()


def container_of(source_id: str) -> str | None:
    """The id of the container that this is a member of; None where it is none."""
    return source_id.rpartition(MEMBER)[0] or None


def listing_name(source_id: str, sequence: Sequence, told: list[tuple[Child, ChangeEvent]]) -> str:
    """Names what an event of a container has told of its members: looked at again with the same result, the same."""
    parts = [source_id, sequence.epoch, sequence.offset, *((event.source_id, _bytes_of(event)) for _, event in told)]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def _bytes_of(event: ChangeEvent) -> str:
    return event.content.sha256 if event.content is not None else event.failure.code if event.failure else ""
