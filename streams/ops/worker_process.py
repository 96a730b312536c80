"""A worker as a child process: ends with its parent, is started again when it fails, and leaves a log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from streams.errors import CanonryError
from streams.settings import NO_SETTINGS, Settings

RESTARTS = 5
HEALTHY_S = 120.0  # a worker that lived so long was no failed start
LOG_BYTES = 5 * 1024 * 1024
BACKOFF_S = 1.0


class WorkerFailed(CanonryError):
    """The worker ended again and again."""

    code = "worker_failed"
    remedy = "Read its log, then run the command again: nothing is lost, the log is where it was."


class WorkerProcess:
    """`canonry worker` with these settings, from the moment when it is wanted; use it as an async context manager."""

    def __init__(self, settings: Settings, broker: str, stages: tuple[str, ...] = ()) -> None:
        self._settings = settings
        self._broker = broker
        self._stages = stages
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self.restarts = 0
        self.log_file = settings.data_dir.absolute() / "logs" / "worker.log"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def __aenter__(self) -> WorkerProcess:
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        self._supervisor = asyncio.create_task(self._supervise())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(self._settings.worker.shutdown_s + 5):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def want(self) -> None:
        """There is work for it: it is started, if it does not run already."""
        self._wanted.set()

    def check(self) -> None:
        """Raises WorkerFailed when the worker could not be kept running."""
        if self._supervisor is not None and self._supervisor.done() and not self._supervisor.cancelled():
            error = self._supervisor.exception()
            if error is not None:
                raise error

    async def _start(self) -> None:
        with self.log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "streams.cli",
                "worker",
                "--with-parent",
                *self._stages,
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=worker_environment(self._settings, self._broker),
                start_new_session=True,  # Ctrl-C reaches it through its parent, in order
            )

    async def _supervise(self) -> None:
        await self._wanted.wait()
        in_a_row = 0
        while True:
            started = time.monotonic()
            await self._start()
            assert self._process is not None
            status = await self._process.wait()
            self.restarts += 1
            in_a_row = 1 if time.monotonic() - started > HEALTHY_S else in_a_row + 1
            if in_a_row > RESTARTS:
                raise WorkerFailed(
                    f"The worker ended {in_a_row} times in a row, last with status {status}: {tail(self.log_file)} "
                    f"(log: {self.log_file})"
                )
            await asyncio.sleep(BACKOFF_S * in_a_row)


def worker_environment(settings: Settings, broker: str) -> dict[str, str]:
    """The variables that give a child exactly these settings, whether they came from a file, variables, or code.

    Variables win over canonry.toml, so each setting that has a value is one; what the environment itself says of
    settings is left out, for it is in them already (or was overruled).
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CANONRY_") or name == "CANONRY_CONFIG" or name.startswith(NO_SETTINGS)
    }
    values = settings.model_dump(mode="json") | {"broker": broker, "data_dir": str(settings.data_dir.absolute())}
    said = {
        f"CANONRY_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value not in (None, "")
    }
    return inherited | said


def tail(file: Path, lines: int = 3) -> str:
    """The last lines of a log."""
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return ""
    return " | ".join(text.strip().splitlines()[-lines:])[-600:]
