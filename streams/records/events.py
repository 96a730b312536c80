"""The records that travel on the topics, in the order of the way through. Each has a schema in `schemas/`."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from streams.records.canon import Method, Record

PROBLEMS: dict[str, str] = {
    "bomb": "expands beyond all measure",
    "broken_link": "a link whose target is missing",
    "cid_leak": "glyph numbers instead of characters",
    "corrupt": "damaged beyond reading",
    "crashed": "its process died while working on it, in every attempt",
    "empty_extraction": "nothing was extracted",
    "encrypted": "needs a password",
    "excessive_whitespace": "mostly white space",
    "impossible_table": "a table whose grid can't be",
    "language_policy": "a language that the policy does not expect",
    "low_dictionary_rate": "letters, but too few words, or too many spelt as none are",
    "low_letter_ratio": "hardly any letters",
    "low_ocr_confidence": "recognition was not sure",
    "malware": "marked as malicious",
    "mojibake": "decoded twice or with the wrong encoding",
    "near_empty_pages": "pages with hardly any text",
    "needs_recognition": "pages without a text layer; recognition is needed",
    "not_content": "a login, consent, error or empty page instead of the document",
    "out_of_memory": "needed more memory than a slot has, in every attempt",
    "parser_error": "the extractor failed on it",
    "reading_order": "the order of the text is doubtful",
    "recognition_language_missing": "no model that recognises its language is installed",
    "replacement_chars": "characters that could not be decoded",
    "timeout": "took longer than a job may, in every attempt",
    "token_length": "words of impossible length",
    "too_large": "larger than the limit",
    "too_repetitive": "the same lines over and over",
    "too_short": "too little text to judge",
    "truncated": "cut off",
    "unreadable": "the source could not read it",
    "unsupported_format": "no extractor for this format is installed",
    "vanished": "listed, then gone before it could be read",
    "version_conflict": "two sources claim it with different content",
}
"""Codes for what is wrong with a document (R-SCR-2 and the connectors' own), each with its meaning."""

NEEDS_RECOGNITION = "needs_recognition"

SKIP_RULES: dict[str, str] = {
    "container": "an archive whose members carry the content",
    "decision": "skipped by a person's decision",
    "empty_file": "zero bytes",
    "executable": "a program",
    "font": "a font",
    "image_without_text": "an image in which there is no text, or recognition found none",
    "media": "audio or video",
    "special_file": "no regular file: a device, a pipe or a socket",
    "symlink": "a link; its target, where it lies inside, is a document of its own",
    "system_file": "written by an operating system or a program for itself",
}
"""Rules by which a document is left out, each with its meaning. Nothing is skipped without one."""


class Sequence(Record, frozen=True, kw_only=True, order=True):
    """Position of an event: orders the versions of one source_id."""

    epoch: int  # of the log; grows when a lost log starts again from 0
    offset: int  # in raw-arrived


class Operation(StrEnum):
    """What a change event says."""

    UNKNOWN = "unknown"
    UPSERT = "upsert"
    DELETE = "delete"
    MOVE = "move"
    ACL = "acl"
    FAILED = "failed"  # the connector met a document it could not deliver (R-IN-7)


class Lane(StrEnum):
    """Why an event travels; only `live` counts for freshness."""

    UNKNOWN = "unknown"
    LIVE = "live"
    RECONCILE = "reconcile"
    REPLAY = "replay"
    BACKFILL = "backfill"


class Content(Record, frozen=True, kw_only=True):
    """The original bytes: where they are and how they were declared."""

    sha256: str
    size: int
    declared_media_type: str | None = None
    http_content_type: str | None = None


class Manifest(Record, frozen=True, kw_only=True):
    """What a source says about a document besides its bytes."""

    path: str  # as a person reads it; NFC, control and undecodable bytes escaped
    file_name: str
    source: str  # registered name
    native_id: str
    native_revision: str | None = None
    revision_order: int | None = None  # where the source's revisions count upwards
    source_updated_at: datetime | None = None
    observed_at: datetime
    ingested_at: datetime
    owner: str | None = None
    readers: list[str] | None = None  # null: unknown, which means nobody
    language_hint: str | None = None
    parent_source_id: str | None = None
    child_index: int | None = None
    parent_order: list[Sequence] = []  # of a child: the events of its containers that brought it, outermost first


class Failure(Record, frozen=True, kw_only=True):
    """What a connector or a stage could not do. `skip` names the rule when it is no fault."""

    code: str
    message: str
    skip: bool = False


class ChangeEvent(Record, frozen=True, kw_only=True):
    """`raw-arrived`: something changed at a source."""

    source_id: str
    operation: Operation
    manifest: Manifest
    content: Content | None = None  # of an upsert
    failure: Failure | None = None  # of a failed event
    actor: str | None = None
    reason: str | None = None


class DocumentRef(Record, frozen=True, kw_only=True):
    """Which document, which event of it, and which bytes: carried through all stages."""

    source_id: str
    sequence: Sequence
    content: Content
    manifest: Manifest


class Candidate(Record, frozen=True, kw_only=True):
    """An encoding that lost, and how sure the detector was of it."""

    encoding: str
    confidence: float


class Detection(Record, frozen=True, kw_only=True):
    """What the bytes are, and the rule that decided it (R-DEC)."""

    media_type: str
    declared_media_type: str | None = None
    mismatch: bool = False
    detected_by: str
    encoding: str | None = None
    encoding_source: str | None = None  # bom, http, xml, meta, detected, default
    encoding_confidence: float | None = None
    candidates: list[Candidate] = []
    warnings: list[str] = []
    rules: str = ""  # `streams.decode.rules`: the same rules say the same of the same bytes


class Timing(Record, frozen=True, kw_only=True):
    """Work of one stage on one document."""

    stage: str
    started_at: datetime
    seconds: float


class Child(Record, frozen=True, kw_only=True):
    """A member of a container or an attachment: a document of its own."""

    source_id: str
    path: str  # inside the container
    gone: bool = False  # found once, and not any more when the same bytes were looked at again


class Decoded(Record, frozen=True, kw_only=True):
    """`decoded`: what these bytes are, or why that is the end."""

    document: DocumentRef
    detection: Detection | None = None
    failure: Failure | None = None
    tool: str | None = None  # an extractor named by a decision, or by the policy after an attempt that failed
    timings: list[Timing] = []
    children: list[Child] = []
    earlier: list[Tried] = []


class Payload(Record, frozen=True, kw_only=True):
    """A canon body: always in the blob store, and inline as well when it is small (claim check)."""

    key: str  # canons/<content hash>/<fingerprint>
    sha256: str
    size: int
    inline: bytes | None = None


class Attempt(Record, frozen=True, kw_only=True):
    """One extractor's attempt at a document."""

    extractor: str
    extractor_version: str
    fingerprint: str
    method: Method
    problems: list[str] = []
    error: str | None = None
    seconds: float


class PageScores(Record, frozen=True, kw_only=True):
    """The screen's numbers for one page."""

    number: int
    scores: dict[str, float]


class Outcome(StrEnum):
    """State of a version. Three of them are terminal."""

    UNKNOWN = "unknown"
    PENDING = "pending"
    READY = "ready"
    QUARANTINED = "quarantined"
    SKIPPED = "skipped"


TERMINAL = frozenset({Outcome.READY, Outcome.QUARANTINED, Outcome.SKIPPED})


class Screening(Record, frozen=True, kw_only=True):
    """The screen's verdict with its numbers and the policy that judged."""

    outcome: Outcome
    problems: list[str] = []
    rule: str | None = None
    error: str | None = None  # for a person
    warnings: list[str] = []
    scores: dict[str, float] = {}
    pages: list[PageScores] = []
    policy: str = ""


class CanonSummary(Record, frozen=True, kw_only=True):
    """What the ledger and the catalog need to know of a canon without opening it."""

    title: str | None = None
    authors: list[str] = []
    created: str | None = None
    modified: str | None = None
    language: str | None = None
    page_count: int | None = None
    method: Method = Method.NATIVE
    confidence: float | None = None
    blocks: int = 0
    tables: int = 0
    characters: int = 0
    signature: bytes | None = None  # of the text, see `streams.screen.near`; null when it is too short


class Judged(Record, frozen=True, kw_only=True):
    """What the screen says of a canon, said by the slot that had just made it."""

    screening: Screening
    summary: CanonSummary
    seconds: float


class Tried(Record, frozen=True, kw_only=True):
    """An attempt that did not satisfy the screen, on the way to the next one."""

    tool: str | None = None  # null: the format's own extractor
    payload: Payload | None = None
    attempt: Attempt | None = None
    summary: CanonSummary | None = None
    screening: Screening
    timings: list[Timing] = []


class Extracted(Record, frozen=True, kw_only=True):
    """`extracted`: the canon, or why there is none."""

    document: DocumentRef
    detection: Detection | None = None
    payload: Payload | None = None
    attempt: Attempt | None = None
    failure: Failure | None = None
    timings: list[Timing] = []
    children: list[Child] = []
    judged: Judged | None = None  # counts for the same policy, and never in a replay
    unrecognised: str | None = None  # why recognition gave nothing, where it was asked for
    tool: str | None = None  # see Decoded
    earlier: list[Tried] = []


class Screened(Record, frozen=True, kw_only=True):
    """`screened`: a document at the end of its way through the stages."""

    document: DocumentRef
    detection: Detection | None = None
    payload: Payload | None = None
    attempt: Attempt | None = None
    summary: CanonSummary | None = None
    screening: Screening
    timings: list[Timing] = []
    children: list[Child] = []


class RecognitionRequest(Record, frozen=True, kw_only=True):
    """`recognize`: pages that need recognition, and the canon to which their text is added."""

    document: DocumentRef
    detection: Detection
    payload: Payload | None = None
    pages: list[int] = []  # empty: all
    languages: list[str] = []
    timings: list[Timing] = []
    attempt: Attempt | None = None  # that made the canon
    judged: Judged | None = None  # of the canon; stands if recognition gives nothing
    children: list[Child] = []
    earlier: list[Tried] = []


class CanonVersion(Record, frozen=True, kw_only=True):
    """One canon of a version, current or archived."""

    payload: Payload
    attempt: Attempt
    created_at: datetime
    archived_at: datetime | None = None


class DecisionKind(StrEnum):
    """What a person decided about a document."""

    UNKNOWN = "unknown"
    RE_EXTRACT = "re_extract"
    RECOGNIZE = "recognize"
    ACCEPT = "accept"
    SKIP = "skip"
    UNDO = "undo"
    ERASE = "erase"


class Decided(Record, frozen=True, kw_only=True):
    """A decision that was carried out."""

    kind: DecisionKind
    tool: str | None = None
    actor: str
    reason: str
    decided_at: datetime
    carried_out_at: datetime | None = None
    findings: str = ""  # digest of what the screen had found, for a decision about that; empty: about a conflict
    seen: Sequence | None = None  # the newest event that was known then
    answered_at: datetime | None = None  # of one that asks for work: when its result came


class Judgement(Record, frozen=True, kw_only=True):
    """What came of one attempt at a version, beside the one that counts."""

    fingerprint: str = ""  # of its canon among the version's; empty: nothing was extracted
    detection: Detection | None = None
    screening: Screening
    summary: CanonSummary | None = None
    timings: list[Timing] = []
    settled_at: datetime
    attempt: Attempt | None = None  # that gave no canon; of any other it stands with the canon


class Version(Record, frozen=True, kw_only=True):
    """One version of a source_id."""

    sequence: Sequence
    manifest: Manifest
    content: Content | None = None  # null: the connector could not deliver it
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: Sequence | None = None
    outcome: Outcome = Outcome.PENDING
    detection: Detection | None = None
    screening: Screening | None = None
    summary: CanonSummary | None = None
    canons: list[CanonVersion] = []
    timings: list[Timing] = []
    settled_at: datetime | None = None
    lane: Lane = Lane.UNKNOWN  # of the event that made it ready; until then, of the one that opened it
    ready_at: datetime | None = None  # when it became ready for the first time; a later judgement does not move it
    fingerprint: str = ""  # of the judgement above; empty: nothing was extracted
    others: list[Judgement] = []  # attempts that do not count, oldest first
    decisions: list[Decided] = []  # in the order in which they were carried out
    contested: bool = False  # another source claims the document with other content (rule 8)
    overruled: bool = False  # a decision or a conflict speaks in `screening`; what the screen said stands in `found`
    found: Screening | None = None
    found_at: datetime | None = None  # when the screen had said it; `settled_at` is when that was overruled
    children: list[Child] = []
    listed_at: datetime | None = None  # when its children were last looked for; null: not yet
    erased_at: datetime | None = None  # its text was erased; null: it is kept
    erased: list[str] = []  # fingerprints of the canons that were erased
    attempt: Attempt | None = None  # of the judgement above, where it gave no canon


class Change(Record, frozen=True, kw_only=True):
    """An event that changed a document without bringing content: move, acl, delete."""

    operation: Operation
    sequence: Sequence
    at: datetime
    path: str | None = None
    file_name: str | None = None
    readers: list[str] | None = None
    owner: str | None = None
    actor: str | None = None
    reason: str | None = None
    parent_order: list[Sequence] = []  # see Manifest


class Erasure(Record, frozen=True, kw_only=True):
    """A person had the text of all versions erased that ended before a delete."""

    sequence: Sequence  # of the newest delete that was known then
    erased_at: datetime
    actor: str
    reason: str


class Status(StrEnum):
    """Whether a document lives at its source."""

    UNKNOWN = "unknown"
    LIVE = "live"
    DELETED = "deleted"


class SourceState(Record, frozen=True, kw_only=True):
    """`versions`: all that is known of one source_id. A deleted source keeps its row."""

    source_id: str
    status: Status
    high_water: Sequence
    versions: list[Version] = []  # oldest first
    changes: list[Change] = []  # oldest first
    path: str = ""
    file_name: str = ""
    source: str = ""
    owner: str | None = None
    readers: list[str] | None = None
    parent_source_id: str | None = None
    children: list[str] = []
    conflict: bool = False
    current: Sequence | None = None  # version that is valid now
    published: Sequence | None = None  # version whose canon consumers see
    stale: bool = False  # consumers see an older version than the current one
    erasures: list[Erasure] = []


class Canon(Record, frozen=True, kw_only=True):
    """`canon-ready`: what an index may serve for one source_id. A null instead means: withdrawn or deleted."""

    source_id: str
    sequence: Sequence
    source: str
    path: str
    file_name: str
    owner: str | None = None
    readers: list[str] | None = None
    parent_source_id: str | None = None
    content_hash: str
    size: int
    media_type: str
    fingerprint: str
    valid_from: datetime
    stale: bool = False
    summary: CanonSummary
    problems: list[str] = []
    warnings: list[str] = []
    scores: dict[str, float] = {}
    pages: list[PageScores] = []
    source_updated_at: datetime | None = None
    ingested_at: datetime
    canon_ready_at: datetime
    payload: Payload


class ErasedContent(Record, frozen=True, kw_only=True):
    """A content whose text was erased."""

    content_hash: str
    fingerprints: list[str] = []  # of its canons


class Deletion(Record, frozen=True, kw_only=True):
    """`deleted`: what was deleted, by whom, why and when; with `erased_at`, the proof of an erasure after a delete."""

    source_id: str
    sequence: Sequence
    source: str
    path: str
    content_hash: str | None = None
    fingerprint: str | None = None
    parent_source_id: str | None = None
    actor: str | None = None
    reason: str | None = None
    deleted_at: datetime
    erased_at: datetime | None = None
    erased_by: str | None = None
    erased_why: str | None = None
    erased: list[ErasedContent] = []  # what the document had; others may still have the same bytes


class Quarantined(Record, frozen=True, kw_only=True):
    """`quarantine`: a document that is held, and everything a person needs to decide. A null means: resolved."""

    source_id: str
    sequence: Sequence
    source: str
    path: str
    file_name: str
    owner: str | None = None
    readers: list[str] | None = None
    content_hash: str | None = None
    size: int | None = None
    media_type: str | None = None
    problems: list[str]
    error: str | None = None
    extractor: str | None = None
    extractor_version: str | None = None
    scores: dict[str, float] = {}
    pages: list[PageScores] = []
    attempts: list[Attempt] = []
    payload: Payload | None = None
    held_since: datetime
    deadline: datetime | None = None


class ContentLink(Record, frozen=True, kw_only=True):
    """`content-links`: one source_id has one content now, or has it no longer. Published once for each real change."""

    content_hash: str
    source_id: str
    sequence: Sequence  # of the newest event that the ledger knew of this source_id
    living: bool
    size: int
    path: str = ""  # of a living one
    owner: str | None = None
    readers: list[str] | None = None  # null: unknown, which means nobody


class ProvenanceLink(Record, frozen=True, kw_only=True):
    """One living source_id of a content."""

    source_id: str
    path: str
    owner: str | None = None
    readers: list[str] | None = None
    sequence: Sequence | None = None  # of the ContentLink that said so


class GoneLink(Record, frozen=True, kw_only=True):
    """A source_id that had a content; nothing older than this brings it back."""

    source_id: str
    sequence: Sequence


class Provenance(Record, frozen=True, kw_only=True):
    """`contents`: the living source_ids of one content hash, each with its own rights. Without links nothing living
    refers to the content; such a record is kept, for a missing one says only that nothing is known."""

    content_hash: str
    size: int
    links: list[ProvenanceLink]
    gone: list[GoneLink] = []
    complete: bool = True  # false: more than a record holds; the catalog finds them all


class Decision(Record, frozen=True, kw_only=True):
    """`decisions`: an operator's decision about one version of a document; an erasure is about all that came before."""

    source_id: str
    sequence: Sequence
    kind: DecisionKind
    tool: str | None = None
    actor: str
    reason: str
    decided_at: datetime
