"""Every error of Canonry: one root; each says its code, whether trying again can help, and what to do about it."""

from __future__ import annotations

from typing import ClassVar


class CanonryError(Exception):
    """Root of all errors.

    `code` is the stable name (used in records, metrics and exit messages); `transient` says whether the same call can
    succeed later without anybody changing anything; `remedy` is the next step for a person.
    """

    code: ClassVar[str] = "error"
    transient: ClassVar[bool] = False
    remedy: str = ""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        if remedy:
            self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class SettingsError(CanonryError):
    """canonry.toml or a CANONRY_* variable holds a value that can't be used."""

    code = "settings"


class UsageError(CanonryError):
    """A command was called with something that can't be."""

    code = "usage"


class UnknownSource(CanonryError):
    """An event names a source that is not registered (R-IN-2)."""

    code = "unknown_source"
    remedy = "Register it under [sources.NAME] in canonry.toml."


class NotFound(CanonryError):
    """Nothing is known under this id."""

    code = "not_found"


# --- the log -----------------------------------------------------------------------------------------------------


class BrokerUnavailable(CanonryError):
    """No broker answers at the address, or not in time."""

    code = "broker_unavailable"
    transient = True
    remedy = "Run `canonry broker status`, or set CANONRY_BROKER."


class BrokerNotInstallable(CanonryError):
    """Neither Java with Maven (or cached jars) nor the embedded broker is to be had."""

    code = "broker_not_installable"
    remedy = "Run `canonry doctor`: it names what is missing and the command that mends it."


class TopicMismatch(CanonryError):
    """A topic on the broker differs from topics.yaml."""

    code = "topic_mismatch"
    remedy = "Run `canonry topics check` to see each difference and `canonry topics apply` to mend what can be mended."


class UndecodableMessage(CanonryError):
    """The bytes of a message are no record that any committed schema describes; the message is at fault."""

    code = "undecodable_message"


class SchemaError(CanonryError):
    """A committed schema is malformed, missing, or incompatible with another version."""

    code = "schema"


# --- the blob store ------------------------------------------------------------------------------------------------


class BlobStoreUnavailable(CanonryError):
    """The blob store does not answer; trying again later may help."""

    code = "blob_store_unavailable"
    transient = True
    remedy = (
        "Check [blobs] in `canonry config show` and that the store is running; work goes on by itself when it is back."
    )


class BlobNotFound(CanonryError):
    """The store answers, and has no such object."""

    code = "blob_not_found"


class BlobCorrupt(CanonryError):
    """What the store holds under a key is not what the key's hash says; the data is never returned."""

    code = "blob_corrupt"


# --- documents ------------------------------------------------------------------------------------------------------


class DocumentError(CanonryError):
    """The document is at fault: it ends quarantined with `problem`, one of the codes in `streams.records.PROBLEMS`."""

    code = "document"

    def __init__(self, problem: str, message: str) -> None:
        super().__init__(message)
        self.problem = problem


class SlotUnavailable(CanonryError):
    """The machine gives no process for a slot: it is out of processes, files or memory. No document is at fault."""

    code = "slot_unavailable"
    transient = True
    remedy = "Stop what else runs there or raise its limits (`ulimit -a`); work goes on by itself."


class SlotFailure(CanonryError):
    """A job's process ended without an answer: killed, out of memory, or out of time. Costs one attempt."""

    code = "slot_failure"

    def __init__(self, problem: str, message: str) -> None:
        super().__init__(message)
        self.problem = problem
