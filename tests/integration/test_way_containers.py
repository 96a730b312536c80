"""Archives in a folder, the whole way: members are found, changed, deleted and replayed as documents of their own."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

from streams.consumers.catalog import Catalog
from streams.settings import Settings
from tests.integration.test_way_replay import apply, working
from tests.integration.way import Way

TEXT = "The {0} page of the keeper's log tells of wind, waves and the ships that passed in the night.\n"


def zipped(**members: str | bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name.replace("__", "/").replace("_", "."), data)
    return out.getvalue()


def text(about: str) -> str:
    return TEXT.format(about) * 3


def test_members_live_and_die_with_their_container(settings: Settings, tmp_path: Path) -> None:
    way = Way(settings, tmp_path / "share")
    inner = zipped(storm_txt=text("storm"), empty_txt=b"")
    way.write("box.zip", zipped(page_txt=text("calm"), logs__inner_zip=inner, odd_bin=b"\x00\x01\x02" * 100))
    way.write("plain.txt", text("plain"))
    report = way.run()
    assert report["scan"]["new"] == 2
    assert report["settled"] == {"ready": 3, "skipped": 3, "quarantined": 1}
    assert report["pending"] == []
    rows = way.documents()
    assert {path: (row.outcome, row.rule or row.problems) for path, row in rows.items()} == {
        "box.zip": ("skipped", "container"),
        "box.zip/page.txt": ("ready", []),
        "box.zip/logs/inner.zip": ("skipped", "container"),
        "box.zip/logs/inner.zip/storm.txt": ("ready", []),
        "box.zip/logs/inner.zip/empty.txt": ("skipped", "empty_file"),
        "box.zip/odd.bin": ("quarantined", ["unsupported_format"]),
        "plain.txt": ("ready", []),
    }
    assert sorted(rows["box.zip"].children) == [
        "share:box.zip!/logs/inner.zip",
        "share:box.zip!/odd.bin",
        "share:box.zip!/page.txt",
    ]
    assert rows["box.zip/logs/inner.zip/storm.txt"].parent_source_id == "share:box.zip!/logs/inner.zip"
    assert way.found("storm ships") == ["box.zip/logs/inner.zip/storm.txt"]
    story = json.loads(way.ask("doc", "share:box.zip!/page.txt", "--json").out)
    assert story["document"]["parent_source_id"] == "share:box.zip"

    # Another version of the container: one member changed, one gone, one new; the same text elsewhere stays.
    way.write("box.zip", zipped(page_txt=text("quiet"), logs__inner_zip=inner, fog_txt=text("fog")))
    report = way.run()
    assert report["settled"] == {"ready": 3, "skipped": 3}
    assert way.found("calm ships") == []
    assert way.found("quiet ships") == ["box.zip/page.txt"]
    assert way.found("storm ships") == ["box.zip/logs/inner.zip/storm.txt"]
    assert way.documents()["box.zip/odd.bin"].status == "deleted"

    # Moved, they move along; everything once more tells nobody anything new.
    (way.folder / "box.zip").rename(way.folder / "chest.zip")
    way.run()
    assert way.found("fog ships") == ["chest.zip/fog.txt"]
    assert way.found("storm ships") == ["chest.zip/logs/inner.zip/storm.txt"]
    before = way.ends("raw-arrived", "canon-ready", "quarantine", "deleted")
    apply(way, "decode", "--earliest")
    with working(way):
        pass
    assert way.ends("raw-arrived", "canon-ready", "quarantine", "deleted") == before

    (way.folder / "chest.zip").unlink()
    way.run("--approve-deletes")
    assert [way.found(f"{word} ships") for word in ("quiet", "fog", "storm")] == [[], [], []]
    assert way.found("plain ships") == ["plain.txt"]
    with Catalog(settings) as catalog:
        living = {row.path for row in catalog.list_documents(limit=100)}
    assert living == {"plain.txt"}
