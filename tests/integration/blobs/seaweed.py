"""A real S3 server for the tests: SeaweedFS in one process, on free loopback ports, with identities of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import urllib3
from minio import Minio
from minio.error import MinioException

ACCESS_KEY, SECRET_KEY = "writer", "writer-secret"
READER_KEY, READER_SECRET = "reader", "reader-secret"
START_S = 60.0

_IDENTITIES = {
    "identities": [
        {
            "name": "writer",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List"],
        },
        {
            "name": "reader",
            "credentials": [{"accessKey": READER_KEY, "secretKey": READER_SECRET}],
            "actions": ["Read", "List"],
        },
    ]
}
_PORTS = [
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
]


def weed_binary() -> str | None:
    """The server's binary, beside this interpreter or on the path."""
    return shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, all held open until the last is known."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class SeaweedServer:
    """Started, stopped and started again with the same data and ports."""

    def __init__(self, binary: str, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        self._ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "data").mkdir()
        (folder / "identities.json").write_text(json.dumps(_IDENTITIES))

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self._ports['s3.port']}"

    def start(self) -> None:
        """Returns when an object can really be written. Raises RuntimeError with the server's log when it can't."""
        command = [
            self._binary,
            "server",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-dir={self._folder / 'data'}",
            "-master.telemetry=false",
            "-master.volumeSizeLimitMB=64",
            "-volume.max=1000",
            "-filer",
            f"-filer.localSocket={self._folder / 'filer.sock'}",
            "-s3",
            f"-s3.config={self._folder / 'identities.json'}",
            "-s3.autoCreateBucket=false",
            "-s3.iam=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            *(f"-{name}={port}" for name, port in self._ports.items()),
        ]
        with (self._folder / "weed.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)
        client = self.client()
        deadline = time.monotonic() + START_S
        while True:
            try:
                if not client.bucket_exists("started"):
                    client.make_bucket("started")
                client.put_object("started", "probe", io.BytesIO(b"up"), 2)
            except (MinioException, urllib3.exceptions.HTTPError) as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError((self._folder / "weed.log").read_text()[-3000:]) from error
                time.sleep(0.1)  # between two looks at the condition
            else:
                return

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> Minio:
        """A plain client with all rights, which gives up at once."""
        pool = urllib3.PoolManager(timeout=5, retries=False)
        return Minio(self.endpoint, ACCESS_KEY, SECRET_KEY, secure=False, region="us-east-1", http_client=pool)
