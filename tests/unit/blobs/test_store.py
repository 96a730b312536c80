"""Keys, and the choice of the implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.blobs import BlobKeyInvalid, canon_key, open_store, original_key
from streams.blobs.directory import DirectoryStore
from streams.blobs.s3 import S3Store
from streams.errors import SettingsError
from streams.settings import BlobSettings, Settings
from tests.unit.blobs.contract import CONTENT


def test_keys() -> None:
    assert original_key(CONTENT) == f"originals/{CONTENT}"
    assert canon_key(CONTENT, "pdf-1_a") == f"canons/{CONTENT}/pdf-1_a"


@pytest.mark.parametrize("sha256", ["", "abc", CONTENT + "0", CONTENT[:-1] + "g", "../" * 21 + "a"])
def test_hash_must_be_one(sha256: str) -> None:
    with pytest.raises(BlobKeyInvalid):
        original_key(sha256)
    with pytest.raises(BlobKeyInvalid):
        canon_key(sha256, "fp")


def test_directory_is_the_default(tmp_path: Path) -> None:
    store = open_store(Settings.load(data_dir=tmp_path))
    assert isinstance(store, DirectoryStore)
    assert store.root == tmp_path / "blobs"


def test_s3_needs_no_server_to_be_opened(tmp_path: Path) -> None:
    blobs = BlobSettings(kind="s3", endpoint="127.0.0.1:1", access_key="k", secret_key="s", secure=False)
    assert isinstance(open_store(Settings.load(data_dir=tmp_path, blobs=blobs)), S3Store)


@pytest.mark.parametrize(
    ("blobs", "says"),
    [
        (BlobSettings(kind="s3", access_key="k", secret_key="s"), "CANONRY_BLOBS__ENDPOINT"),
        (BlobSettings(kind="s3", endpoint="h:1"), "CANONRY_BLOBS__ACCESS_KEY"),
        (BlobSettings(kind="s3", endpoint="http://h:1/x", access_key="k", secret_key="s"), "blobs.endpoint"),
        (BlobSettings(kind="s3", endpoint="h:1", bucket="A b", access_key="k", secret_key="s"), "blobs.bucket"),
    ],
)
def test_unusable_s3_settings(tmp_path: Path, blobs: BlobSettings, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        open_store(Settings.load(data_dir=tmp_path, blobs=blobs))
