"""Compound files made by code: messages of Outlook, objects of Office."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Union

from streams.decode.unpack.compound_writer import Node, bytes_node, written

Tree = Mapping[str, Union[bytes, "Tree"]]


def compound(tree: Tree) -> bytes:
    """A compound file of these streams (bytes) and storages (trees)."""
    return b"".join(written(_node("Root Entry", tree)))


def _node(name: str, tree: Tree) -> Node:
    nodes = [bytes_node(n, below) if isinstance(below, bytes) else _node(n, below) for n, below in tree.items()]
    return Node(name, nodes=nodes)


def properties(values: Mapping[int, int], header: int) -> bytes:
    """A property stream with these whole numbers."""
    return bytes(header) + b"".join(struct.pack("<HHIII", 3, n, 6, value, 0) for n, value in values.items())


def package(name: str, data: bytes, *, unicode_name: str = "", kind: int = 0x00030000) -> bytes:
    """An Ole10Native stream as the Object Packager writes it."""
    label = name.encode("cp1252", "replace") + b"\x00"
    path = b"C:\\temp\\" + label
    body = b"\x02\x00" + label + path + struct.pack("<II", kind, len(path)) + path
    body += struct.pack("<I", len(data)) + data
    if unicode_name:
        for text in ("C:\\temp\\" + unicode_name, unicode_name, unicode_name):
            body += struct.pack("<I", len(text)) + text.encode("utf-16-le")
    return struct.pack("<I", len(body)) + body


def attachment(numbers: Mapping[int, int], texts: Mapping[int, str | bytes], data: bytes | Tree | None) -> Tree:
    """The storage of an attachment in a message."""
    out: dict[str, bytes | Tree] = {"__properties_version1.0": properties(numbers, 8)}
    for number, text in texts.items():
        kind, raw = ("001F", text.encode("utf-16-le")) if isinstance(text, str) else ("001E", text)
        out[f"__substg1.0_{number:04X}{kind}"] = raw
    if isinstance(data, bytes):
        out["__substg1.0_37010102"] = data
    elif data is not None:
        out["__substg1.0_3701000D"] = data
    return out


def message(*attachments: Tree, numbers: Mapping[int, int] | None = None, subject: str = "s", header: int = 32) -> Tree:
    """A message of Outlook; `header` 24: one that is embedded in another."""
    out: dict[str, bytes | Tree] = {
        "__properties_version1.0": properties(numbers or {}, header),
        "__substg1.0_001A001F": "IPM.Note".encode("utf-16-le"),
        "__substg1.0_0037001F": subject.encode("utf-16-le"),
    }
    if header == 32:
        names = {"__substg1.0_00020102": bytes(16), "__substg1.0_00030102": bytes(8), "__substg1.0_00040102": bytes(4)}
        out["__nameid_version1.0"] = names
    for number, found in enumerate(attachments):
        out[f"__attach_version1.0_#{number:08X}"] = found
    return out
