"""FULL_TRANSITIVE: every committed version of a record reads what every other one wrote, in both directions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.errors import AvroException
from avro.schema import parse

from streams.records.codec import RECORD_TYPES, Registry


@dataclass(frozen=True)
class Incompatibility:
    """One thing that is wrong with the committed schemas."""

    record: str
    what: str

    def __str__(self) -> str:
        return f"{self.record}: {self.what}"


def check_schemas(registry: Registry) -> list[Incompatibility]:
    """All that is wrong: missing records, enums without a default symbol, and pairs that can't read each other."""
    found: list[Incompatibility] = []
    wanted = {cls.__name__ for cls in RECORD_TYPES}
    found += [Incompatibility(name, "has no schema") for name in sorted(wanted - registry.by_name.keys())]
    for name, versions in sorted(registry.by_name.items()):
        for one in versions:
            found += [
                Incompatibility(name, f"v{one.version}: enum {enum} has no default symbol")
                for enum in _enums_without_default(one.source)
            ]
        parsed = {v.version: parse(json.dumps(v.source)) for v in versions}
        for reader in parsed:
            for writer in parsed:
                if reader == writer:
                    continue
                try:
                    result = ReaderWriterCompatibilityChecker().get_compatibility(parsed[reader], parsed[writer])
                except AvroException as error:
                    found.append(Incompatibility(name, f"v{reader} against v{writer}: {error}"))
                    continue
                if result.compatibility is not SchemaCompatibilityType.compatible:
                    why = "; ".join(sorted(result.messages)) or "incompatible"
                    where = ", ".join(sorted(result.locations))
                    found.append(Incompatibility(name, f"v{reader} can't read v{writer}: {why} at {where}"))
    return found


def _enums_without_default(schema: Any) -> list[str]:
    found: list[str] = []
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if node.get("type") == "enum" and "default" not in node:
                found.append(node["name"])
            stack.extend(value for value in node.values() if isinstance(value, dict | list))
    return sorted(found)
