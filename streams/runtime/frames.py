"""How a slot and its parent talk: frames of a JSON head and raw bytes, each with its length. Never pickles."""

from __future__ import annotations

import struct
from typing import Annotated, Any, BinaryIO

import msgspec

LENGTHS = struct.Struct(">II")
MAX_FRAME = 1 << 31
STEP_EVERY_S = 1.0
"""Seconds between two steps that a slot tells."""


class Call(msgspec.Struct, frozen=True):
    """What a slot is asked: a job by name, its arguments as JSON, and limits. The body follows as raw bytes."""

    job: str
    args: msgspec.Raw
    cpu_seconds: float


class Step(msgspec.Struct, frozen=True, tag=True):
    """How far a job is, told before its answer: pages done, of pages."""

    done: Annotated[int, msgspec.Meta(ge=0)]
    total: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class Answer(msgspec.Struct, frozen=True, tag=True):
    """What came of it. `problem` is a code of PROBLEMS when the document is at fault, else the result is there."""

    seconds: float
    result: msgspec.Raw = msgspec.Raw(b"null")  # with null among its types, msgspec would refuse any other value
    problem: str | None = None
    message: str | None = None
    exhausted: bool = False  # the process ran out of memory and should be replaced
    bug: bool = False  # an exception that no one foresaw; `message` has it


def pack(head: Any, body: bytes = b"") -> bytes:
    data = msgspec.json.encode(head)
    return LENGTHS.pack(len(data), len(body)) + data + body


def read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    """`size` bytes, or None at the end of the stream."""
    parts = bytearray()
    while len(parts) < size:
        part = stream.read(size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
