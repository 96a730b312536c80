"""The wire format: round trips, framing, and what no schema describes."""

import copy
import json
import types
import typing
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

import msgspec
import pytest

from streams.errors import SchemaError, UndecodableMessage
from streams.records import (
    Block,
    BlockKind,
    BlockSource,
    CanonBody,
    ChangeEvent,
    Content,
    Manifest,
    Operation,
)
from streams.records.codec import RECORD_TYPES, data_path, decode, encode, load_registry, registry
from streams.records.compatibility import check_schemas

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
MANIFEST = Manifest(path="a.txt", file_name="a.txt", source="s", native_id="a.txt", observed_at=NOW, ingested_at=NOW)
EVENT = ChangeEvent(
    source_id="s:a.txt",
    operation=Operation.UPSERT,
    manifest=MANIFEST,
    content=Content(sha256="ab" * 32, size=3),
)


def test_round_trip_keeps_everything() -> None:
    assert decode(ChangeEvent, encode(EVENT)) == EVENT


def test_framing_is_single_object_encoding() -> None:
    data = encode(EVENT)
    assert data[:2] == b"\xc3\x01"
    assert data[2:10] == registry().newest("ChangeEvent").fingerprint


def test_a_canon_body_gives_the_same_bytes_each_time() -> None:
    def body() -> CanonBody:
        block = Block(kind=BlockKind.PARAGRAPH, text="x", source=BlockSource.MARKUP, bbox=(1.0, 2.0, 3.0, 4.0))
        return CanonBody(
            content_hash="c", fingerprint="f", extractor="e", extractor_version="1", media_type="m", blocks=[block]
        )

    assert encode(body()) == encode(body())
    assert decode(CanonBody, encode(body())) == body()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "without Avro single-object framing"),
        (b'{"source_id": "x"}', "without Avro single-object framing"),
        (b"\xc3\x01" + bytes(8) + b"x", "No committed schema has the fingerprint 0000000000000000"),
        (encode(EVENT)[:30], "The body is no ChangeEvent"),
        (encode(EVENT) + b"x", "1 bytes follow the ChangeEvent"),
        (encode(EVENT)[:10] + b"\xff" * 9 + b"\x01", "The body is no ChangeEvent"),
        (
            encode(CanonBody(content_hash="c", fingerprint="f", extractor="e", extractor_version="1", media_type="m")),
            "A CanonBody where a ChangeEvent was expected",
        ),
    ],
)
def test_what_no_schema_describes_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UndecodableMessage, match=reason):
        decode(ChangeEvent, data)


def test_an_old_version_stays_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = registry().newest("Decision").source
    old = copy.deepcopy(newest)
    old["fields"] = [f for f in old["fields"] if f["name"] != "tool"]
    (tmp_path / "Decision.v1.avsc").write_text(json.dumps(old))
    (tmp_path / "Decision.v2.avsc").write_text(json.dumps(newest))
    both = load_registry(tmp_path)
    assert len(both.by_fingerprint) == 2
    assert [v.version for v in both.by_name["Decision"]] == [1, 2]
    assert not [p for p in check_schemas(both) if "has no schema" not in p.what]


def avro_shape(schema: typing.Any, names: dict[str, typing.Any]) -> typing.Any:
    """A schema as the Python type it must have: nested dicts of fields, symbols of enums."""
    if isinstance(schema, str):
        return names.get(schema, schema)
    if isinstance(schema, list):
        return ("null", avro_shape(next(s for s in schema if s != "null"), names))
    kind = schema["type"]
    if kind == "record":
        shape: dict[str, typing.Any] = {}
        names[schema["name"]] = shape
        for field in schema["fields"]:
            default = ("default", field["default"]) if "default" in field else ("required",)
            shape[field["name"]] = (avro_shape(field["type"], names), default)
        return shape
    if kind == "enum":
        names[schema["name"]] = ("enum", tuple(schema["symbols"]))
        return names[schema["name"]]
    if kind in ("array", "map"):
        return (kind, avro_shape(schema["items" if kind == "array" else "values"], names))
    return schema.get("logicalType", kind)


def python_shape(kind: typing.Any) -> typing.Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return ("null", python_shape(next(a for a in args if a is not type(None))))
    plain = {str: "string", int: "long", float: "double", bool: "boolean", bytes: "bytes", datetime: "timestamp-micros"}
    if kind in plain:
        return plain[kind]
    if origin in (list, tuple):
        return ("array", python_shape(args[0]))
    if origin is dict:
        return ("map", python_shape(args[1]))
    if issubclass(kind, Enum):
        return ("enum", tuple(member.value for member in kind))
    hints = typing.get_type_hints(kind)
    shape = {}
    for field in msgspec.structs.fields(kind):
        if field.default is not msgspec.NODEFAULT:
            default: tuple[typing.Any, ...] = ("default", field.default)
        elif field.default_factory is not msgspec.NODEFAULT:
            default = ("default", field.default_factory())
        else:
            default = ("required",)
        shape[field.name] = (python_shape(hints[field.name]), default)
    return shape


@pytest.mark.parametrize("record", RECORD_TYPES, ids=lambda cls: cls.__name__)
def test_the_typed_record_is_the_newest_schema(record: type[msgspec.Struct]) -> None:
    assert avro_shape(registry().newest(record.__name__).source, {}) == python_shape(record)


def test_committed_schemas_are_compatible() -> None:
    assert check_schemas(registry()) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda s: s["fields"].append({"name": "new", "type": "string"}), "can't read"),
        (lambda s: s["fields"].pop(0), "can't read"),
        (lambda s: s["fields"][0].update(type="long"), "can't read"),
        (
            lambda s: s["fields"].append(
                {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}, "default": "A"}
            ),
            "enum E has no default symbol",
        ),
    ],
)
def test_an_incompatible_version_is_named(
    tmp_path: Path, change: typing.Callable[[typing.Any], object], complaint: str
) -> None:
    schema = registry().newest("Decision").source
    (tmp_path / "Decision.v1.avsc").write_text(json.dumps(schema))
    changed = copy.deepcopy(schema)
    change(changed)
    (tmp_path / "Decision.v2.avsc").write_text(json.dumps(changed))
    found = [str(p) for p in check_schemas(load_registry(tmp_path)) if p.record == "Decision"]
    assert any(complaint in text for text in found), found


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("Decision.v1.avsc", "{", "no valid Avro schema"),
        ("Decision.v1.avsc", '{"type": "record", "name": "Other", "fields": []}', "does not describe a record"),
        ("decision.avsc", "{}", "not named"),
        ("Decision.v2.avsc", '{"type": "record", "name": "Decision", "fields": []}', "none may be missing"),
    ],
)
def test_a_bad_schema_file_is_named(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SchemaError, match=complaint):
        load_registry(tmp_path)


def test_schemas_are_found_in_a_checkout() -> None:
    assert (data_path("schemas") / "ChangeEvent.v1.avsc").is_file()
