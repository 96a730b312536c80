"""The blob store on any S3 server, through `minio`: conditional writes keep it write-once between processes as well."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

import certifi
from minio import Minio
from minio.error import MinioException, S3Error
from urllib3 import BaseHTTPResponse, PoolManager, Retry, Timeout
from urllib3.exceptions import HTTPError

from streams.blobs.store import (
    CHUNK_BYTES,
    KINDS_WITH_NAME,
    Found,
    Key,
    Stored,
    check_sha256,
    original_key,
    parse_key,
    verify,
    wrong_size,
)
from streams.errors import BlobCorrupt, BlobNotFound, BlobStoreUnavailable, SettingsError
from streams.settings import BlobSettings

logger = logging.getLogger(__name__)

PART_BYTES = 16 << 20
"""Size of one part of a big object, and so the memory of an upload. S3 allows 10 000 parts of 5 MiB and more."""

CONNECT_S = 3.0
READ_S = 20.0
"""Longest silence of the server inside one request, in seconds."""

LEFTOVER_S = 24 * 3600.0
"""Age at which a scratch file belongs to a process that died."""

_HASH = "x-amz-meta-sha256"
_PREFIX = "canonry-blob-"
_PROBE = "probe/write-once"
_WRITE_ONCE = re.compile(r"/(?:originals|canons|pages|probe)/")
_DENIED = frozenset({"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed"})
_ABSENT = frozenset({"NoSuchKey", "NoSuchObject"})
_CONFLICT_TRIES = 3


class _WriteOncePool(PoolManager):
    """Makes every request that creates one of our objects conditional: `If-None-Match: *` (RFC 9110, 13.1.2).

    minio turns unknown headers into user metadata; the condition needs no signature, so it is added below minio.
    """

    def urlopen(self, method: str, url: str, redirect: bool = True, **kw: Any) -> BaseHTTPResponse:  # type: ignore[override]  # as urllib3's own
        parts = urlsplit(url)
        single = method == "PUT" and "partNumber=" not in parts.query
        completes = method == "POST" and "uploadId=" in parts.query
        if (single or completes) and _WRITE_ONCE.search(parts.path):
            kw["headers"] = {**dict(kw.get("headers") or {}), "If-None-Match": "*"}
        return super().urlopen(method, url, redirect, **kw)


class S3Store:
    """See `BlobStore`. The hash of an object that is not in its key is kept as user metadata.

    The bucket is made at first use when it is missing; one that vanishes later is an error and never made again.
    A server that ignores conditional writes is asked before each write instead: there, two writers at the same instant
    can both believe to be the first (originals don't mind, their bytes are equal), and a warning says so.
    """

    def __init__(self, settings: BlobSettings, *, scratch: Path) -> None:
        """Does not talk to the server yet: it may start later than we do.

        Args:
            settings: `[blobs]`.
            scratch: folder for originals on their way in and out; made when missing.

        Raises:
            SettingsError: endpoint, bucket or keys are missing or malformed.
            BlobStoreUnavailable: the scratch folder can't be used.
        """
        missing = [n for n in ("endpoint", "bucket", "access_key", "secret_key") if not getattr(settings, n)]
        if missing:
            names = ", ".join(f"blobs.{name} (CANONRY_BLOBS__{name.upper()})" for name in missing)
            raise SettingsError(f"The S3 blob store needs {names}.")
        self._bucket = settings.bucket
        self._where = f"{'https' if settings.secure else 'http'}://{settings.endpoint}/{settings.bucket}"
        self._scratch = scratch.absolute()
        self._ready = threading.Lock()
        self._is_ready = False
        self._conditional = True
        pool = _WriteOncePool(
            maxsize=32,
            timeout=Timeout(connect=CONNECT_S, read=READ_S),
            retries=Retry(total=2, read=1, backoff_factor=0.2, status_forcelist=(500, 502, 503, 504)),
            cert_reqs="CERT_REQUIRED",
            ca_certs=os.environ.get("SSL_CERT_FILE") or certifi.where(),
        )
        try:
            self._minio = Minio(
                settings.endpoint,
                settings.access_key,
                settings.secret_key,
                secure=settings.secure,
                region=settings.region,
                http_client=pool,
            )
            self._minio_checks_names()
        except ValueError as error:
            raise SettingsError(f"blobs.endpoint, blobs.bucket or blobs.region can't be used: {error}.") from error
        with self._scratch_errors():
            self._scratch.mkdir(parents=True, exist_ok=True)
            _clean_leftovers(self._scratch)

    # --- writing -------------------------------------------------------------------------------------------------

    def put_file(self, stream: BinaryIO) -> Stored:
        with self._scratch_file() as path:
            digest, size = hashlib.sha256(), 0
            with path.open("r+b") as file:
                while chunk := stream.read(CHUNK_BYTES):
                    digest.update(chunk)
                    size += len(chunk)
                    with self._scratch_errors():
                        file.write(chunk)
                with self._scratch_errors():
                    file.seek(0)  # flushes
                sha256 = digest.hexdigest()
                key = original_key(sha256)
                held = self.find(key)  # saves the upload of a duplicate
                created = held is None and self._put(key, file, size, sha256)
                if not created:
                    held = held or self.find(key)
                    if held is not None and held.size != size:
                        raise wrong_size(f"{self._where}/{key}", held.size, size)
        return Stored(sha256, size, created)

    def put(self, key: str, data: bytes) -> bool:
        parts, sha256 = parse_key(key), hashlib.sha256(data).hexdigest()
        if parts.name is None and parts.sha256 != sha256:
            raise BlobCorrupt(f"Data with the hash {sha256} can't be stored as {key}.")
        return self._put(key, io.BytesIO(data), len(data), sha256)

    def delete(self, key: str) -> bool:
        if self.find(key) is None:
            return False
        with self._errors(key):
            self._minio.remove_object(self._bucket, key)
        return True

    def erase(self, content_hash: str) -> list[str]:
        original = original_key(content_hash)
        had_original = self.delete(original)
        erased = []
        for kind in sorted(KINDS_WITH_NAME):
            prefix = f"{kind}/{content_hash}/"
            with self._errors(prefix):
                keys = [str(o.object_name) for o in self._minio.list_objects(self._bucket, prefix, recursive=True)]
            erased += [key for key in keys if self.delete(key)]
        return [*erased, original] if had_original else erased

    def _put(self, key: str, data: BinaryIO, size: int, sha256: str) -> bool:
        self._prepare()
        if not self._conditional and self.find(key) is not None:
            return False
        with self._errors(key):
            return self._put_conditional(key, data, size, sha256)

    def _put_conditional(self, key: str, data: BinaryIO, size: int, sha256: str) -> bool:
        for attempt in range(1, _CONFLICT_TRIES + 1):
            data.seek(0)
            try:
                self._minio.put_object(
                    self._bucket,
                    key,
                    data,
                    size,
                    metadata={"sha256": sha256},
                    part_size=PART_BYTES if size > PART_BYTES else 0,
                    num_parallel_uploads=1,  # documents run side by side already
                )
            except S3Error as error:
                if error.code == "PreconditionFailed":
                    return False
                if error.code != "ConditionalRequestConflict" or attempt == _CONFLICT_TRIES:
                    raise  # a conflict: another write or delete was under way at the same time
            else:
                return True
        raise AssertionError("unreachable: the last attempt returns or raises")

    # --- reading -------------------------------------------------------------------------------------------------

    def get(self, key: str, *, sha256: str) -> bytes:
        parse_key(key)
        check_sha256(sha256)
        with self._response(key) as response:
            data = response.read()
        verify(key, sha256, hashlib.sha256(data).hexdigest())
        return data

    def find(self, key: str) -> Found | None:
        parts = parse_key(key)
        self._prepare()
        try:
            with self._errors(key):
                held = self._minio.stat_object(self._bucket, key)
        except BlobNotFound:
            return None
        return Found(_hash_of(key, parts, dict(held.metadata or {})), held.size or 0)

    def exists(self, key: str) -> bool:
        parse_key(key)
        self._prepare()
        try:
            with self._errors(key):
                self._minio.stat_object(self._bucket, key)
        except BlobNotFound:
            return False
        return True

    @contextmanager
    def local_copy(self, key: str, *, sha256: str) -> Iterator[Path]:
        parse_key(key)
        check_sha256(sha256)
        with self._scratch_file() as path:
            digest = hashlib.sha256()
            with path.open("r+b") as file, self._response(key) as response:
                for chunk in response.stream(CHUNK_BYTES):
                    digest.update(chunk)
                    with self._scratch_errors():
                        file.write(chunk)
                with self._scratch_errors():
                    file.flush()
            verify(key, sha256, digest.hexdigest())
            yield path

    @contextmanager
    def _response(self, key: str) -> Iterator[BaseHTTPResponse]:
        self._prepare()
        with self._errors(key):
            response = self._minio.get_object(self._bucket, key)
            try:
                yield response
            finally:
                response.close()  # a body that was not read to its end must not go back to the pool
                response.release_conn()

    # --- the server ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Asks the server for the bucket and writes the probe."""
        self._prepare(again=True)

    def _minio_checks_names(self) -> None:
        """Lets minio judge the bucket's name without a request. Raises ValueError."""
        self._minio.get_presigned_url("GET", self._bucket, "originals")

    def _prepare(self, *, again: bool = False) -> None:
        """Once per process: the bucket is there, we may write, and the server honours conditional writes."""
        if self._is_ready and not again:
            return
        with self._ready:
            if self._is_ready and not again:
                return
            with self._errors(_PROBE):
                if not self._minio.bucket_exists(self._bucket):
                    if self._is_ready:
                        raise self._no_bucket()
                    self._make_bucket()
                self._conditional = self._honours_conditions()
            self._is_ready = True

    def _make_bucket(self) -> None:
        try:
            self._minio.make_bucket(self._bucket)
        except S3Error as error:
            if error.code not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):  # another process was quicker
                raise

    def _honours_conditions(self) -> bool:
        """Writes the same small object twice; the second write must be refused (mostly the first one is, already)."""
        for _ in range(2):
            if not self._put_conditional(_PROBE, io.BytesIO(b"canonry"), 7, hashlib.sha256(b"canonry").hexdigest()):
                return True
        logger.warning("%s ignores If-None-Match: two simultaneous writers of one canon may both win", self._where)
        return False

    def _no_bucket(self) -> BlobStoreUnavailable:
        return BlobStoreUnavailable(
            f"The bucket of {self._where} has vanished.",
            remedy="Restore it, or correct blobs.bucket (CANONRY_BLOBS__BUCKET); nothing is made in its place.",
        )

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Errors of minio and the network, as ours."""
        try:
            yield
        except S3Error as error:
            if error.code in _ABSENT:
                raise BlobNotFound(f"{key} is not in the blob store {self._where}.") from error
            if error.code == "NoSuchBucket":
                raise self._no_bucket() from error
            if error.code in _DENIED:
                raise BlobStoreUnavailable(
                    f"{self._where} refuses {key}: {error.code} ({error.message}).",
                    remedy="Check blobs.access_key and blobs.secret_key (CANONRY_BLOBS__ACCESS_KEY, __SECRET_KEY), "
                    "this machine's clock, and that the key may read, write, delete and list in the bucket.",
                ) from error
            raise BlobStoreUnavailable(f"{self._where} failed on {key}: {error.code} ({error.message}).") from error
        except (MinioException, HTTPError, ParseError, ValueError) as error:  # the last two: minio on nonsense
            raise BlobStoreUnavailable(
                f"{self._where} can't be reached or answers nonsense: {str(error)[:300]}.",
                remedy="Check blobs.endpoint and blobs.secure (CANONRY_BLOBS__ENDPOINT, __SECURE) and that the server "
                "is running; work goes on by itself when it is back.",
            ) from error

    # --- scratch -------------------------------------------------------------------------------------------------

    @contextmanager
    def _scratch_file(self) -> Iterator[Path]:
        with self._scratch_errors():
            self._scratch.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=self._scratch)
            os.close(descriptor)
        path = Path(name)
        try:
            yield path
        finally:
            with suppress(OSError):
                path.unlink()

    @contextmanager
    def _scratch_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BlobStoreUnavailable(
                f"The scratch folder {self._scratch} can't be written to: {error.strerror or error}.",
                remedy="Free space on its file system or correct data_dir (CANONRY_DATA_DIR).",
            ) from error


def _clean_leftovers(scratch: Path) -> None:
    horizon = time.time() - LEFTOVER_S
    for path in scratch.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # another process cleans too
            if path.stat().st_mtime < horizon:
                path.unlink()


def _hash_of(key: str, parts: Key, headers: dict[str, str]) -> str:
    if parts.name is None:
        return parts.sha256
    sha256 = next((value for name, value in headers.items() if name.lower() == _HASH), "")
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise BlobCorrupt(
            f"{key} has no {_HASH}: Canonry did not write it, or it was copied without its metadata.",
            remedy="Delete the key and let it be made again.",
        )
    return sha256
