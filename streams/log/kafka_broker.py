"""Apache Kafka on this machine without a container: one KRaft node on loopback, jars from Maven, data on disk."""

from __future__ import annotations

import base64
import glob
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from streams.errors import BrokerNotInstallable, SettingsError
from streams.log.local_process import (
    HOST,
    STOP_TIMEOUT_S,
    BrokerInfo,
    OnSpawn,
    StartFailed,
    free_ports,
    is_running,
    kill,
    last_lines,
    spawn,
    terminate,
    wait_until_ready,
)

KAFKA_VERSION = "4.3.1"
SLF4J_VERSION = "1.7.36"  # the API that Kafka 4.3 is built against
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0"
OLDEST_JAVA = 17  # Kafka 4's brokers, KIP-1013
MAVEN_TIMEOUT_S = 600
PORT_ATTEMPTS = 3

JAVA_PLACES = [
    "/usr/lib/jvm/*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/usr/local/opt/openjdk*/bin/java",
]

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>canonry</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>{SLF4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.dirs": "kafka-data",  # relative: the JVM can't open a non-ASCII path under LANG=C
    "auto.create.topics.enable": "false",
    # One node has one replica of everything, and one partition is plenty for the offsets of a few groups.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    # After a kill the controller of this node lets the old session run out before it takes the broker back.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",  # nobody else is about to join
    # A small heap: the cleaner's map is 128 MiB by default, and each index file maps 10 MiB of address space.
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.io.buffer.size": "262144",
    "log.index.size.max.bytes": "1048576",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.segment.delete.delay.ms": "1000",
}

_JVM = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # a broker of one machine is up sooner, and never busy enough to miss C2
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
]


class LocalKafka:
    """A single-node Kafka whose data is in `directory`; starts again from it, after a kill too.

    Args:
        directory: for configuration, log file and data (`kafka-data`).
        heap_mb: the JVM's heap in MiB; 128 is the least that works.
        overrides: entries of server.properties that win over ours.
        java_options: more options for the JVM.
        start_timeout_s: seconds from the start of the process to its first answer.
    """

    def __init__(
        self,
        directory: Path,
        *,
        heap_mb: int = 256,
        overrides: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        start_timeout_s: float = 60.0,
    ) -> None:
        self.directory = directory.absolute()
        self.info: BrokerInfo | None = None
        self._heap_mb = heap_mb
        self._overrides = dict(overrides or {})
        self._java_options = list(java_options)
        self._start_timeout_s = start_timeout_s

    @property
    def data(self) -> Path:
        return self.directory / "kafka-data"

    @property
    def address(self) -> str:
        """`host:port` of the running broker."""
        if self.info is None:
            raise RuntimeError("The broker was not started.")
        return self.info.address

    def start(self, on_spawn: OnSpawn | None = None) -> BrokerInfo:
        """Starts the broker and waits until it answers; does nothing when it runs already.

        Args:
            on_spawn: called with the process as soon as there is one, before it answers.

        Raises:
            BrokerNotInstallable: Java, or Kafka's jars and Maven, are not to be had.
            StartFailed: it ended or did not answer in time; it is not left running.
        """
        if self.info is not None and is_running(self.info):
            return self.info
        java, jars = find_java(), install()
        self.directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, PORT_ATTEMPTS + 1):
            info = self.info = self._spawn(java, jars, self._configure(java, jars))
            try:
                if on_spawn is not None:
                    on_spawn(info)
                wait_until_ready(info, self._start_timeout_s)
                break
            except StartFailed as error:
                terminate(info)
                # Another process took the port between our look and Kafka's bind: look again.
                if "Address already in use" not in error.message or attempt == PORT_ATTEMPTS:
                    raise
            except BaseException:  # Ctrl-C: nobody knows of this process, so it must not stay
                terminate(info)
                raise
        return info

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Ends the broker cleanly, or by force when that takes longer than `timeout_s`."""
        if self.info is not None:
            terminate(self.info, timeout_s)

    def kill(self) -> None:
        """Ends the broker as a power failure of the process would: SIGKILL at once."""
        if self.info is not None:
            kill(self.info)

    def _configure(self, java: str, jars: Path) -> int:
        """Writes server.properties and formats the storage once; returns the port for clients."""
        file = self.directory / "server.properties"
        port, controller_port = free_ports(_ports(file))
        properties = {
            **_PROPERTIES,
            "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
            "controller.quorum.voters": f"1@{HOST}:{controller_port}",
            **self._overrides,
        }
        temporary = file.with_suffix(".tmp")
        temporary.write_text("".join(f"{key}={_escaped(value)}\n" for key, value in properties.items()), "ascii")
        temporary.replace(file)
        if not (self.data / "meta.properties").exists():
            self._format(java, jars)
        return port

    def _format(self, java: str, jars: Path) -> None:
        command = [java, *_JVM, "-cp", f"{jars}/*", "kafka.tools.StorageTool", "format"]
        command += ["--ignore-formatted", "-t", _cluster_id(), "-c", "server.properties"]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StartFailed(
                f"Kafka's storage in {self.data} can't be formatted: {last_lines(done.stdout + done.stderr, 8)}"
            )

    def _spawn(self, java: str, jars: Path, port: int) -> BrokerInfo:
        marker = f"-Dcanonry.broker={self.directory} "
        command = [java, f"-Xmx{self._heap_mb}m", *_JVM, *self._java_options]
        command += [marker.strip(), "-cp", f"{jars}/*", "kafka.Kafka", "server.properties"]
        return spawn(
            "kafka",
            command,
            cwd=self.directory,
            address=f"{HOST}:{port}",
            log_file=self.directory / "kafka.log",
            marker=marker,
        )


def find_java() -> str:
    """A Java that can run Kafka: of JAVA_HOME, else of PATH, else where systems keep theirs.

    Raises:
        BrokerNotInstallable: none, or all too old; names each.
    """
    tried: list[str] = []
    seen: set[str] = set()
    for path in _java_candidates():
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        version = _java_version(path)
        if version is not None and version >= OLDEST_JAVA:
            return path
        tried.append(f"{path} is {'no working Java' if version is None else f'Java {version}'}")
    found = f" ({'; '.join(tried)})" if tried else ""
    raise BrokerNotInstallable(f"Kafka needs Java {OLDEST_JAVA} or newer, and there is none{found}.")


def cache_dir() -> Path:
    """Where Kafka's jars are kept for all projects of this user."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(root) if os.path.isabs(root) else Path.home() / ".cache") / "canonry" / f"kafka-{KAFKA_VERSION}"


def installed() -> bool:
    """Whether the cache holds all of Kafka's jars."""
    jars = cache_dir()
    try:
        names = (jars / "complete").read_text("utf-8").split()
    except OSError:
        return False
    return bool(names) and all((jars / name).is_file() for name in names)


def install() -> Path:
    """The folder of Kafka's jars; fetched by Maven when they are not cached. Safe in several processes at once.

    Raises:
        BrokerNotInstallable: there is no Maven, or it failed; carries its words.
    """
    jars = cache_dir()
    if installed():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokerNotInstallable(f"Kafka's jars are not in {jars}, and there is no Maven (`mvn`) to fetch them.")
    java_home = Path(os.path.realpath(find_java())).parent.parent
    try:
        jars.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jars.parent, prefix=f"{jars.name}.") as temporary:
            new = Path(temporary) / "jars"
            _fetch(maven, java_home, Path(temporary), new)
            names = sorted(path.name for path in new.glob("*.jar"))
            (new / "complete").write_text("\n".join(names), "utf-8")
            if not installed():  # or another process was quicker
                if jars.exists():
                    jars.replace(Path(temporary) / "broken")
                new.replace(jars)
    except OSError as error:
        raise BrokerNotInstallable(f"Kafka's jars can't be put into {jars}: {error}.") from error
    return jars


def obstacles() -> list[str]:
    """What keeps Kafka from running here, in words for a person; empty: nothing does."""
    found = []
    try:
        find_java()
    except BrokerNotInstallable as error:
        found.append(error.message)
    if not installed() and shutil.which("mvn") is None:
        found.append(f"Kafka's jars are not in {cache_dir()}, and there is no Maven (`mvn`) to fetch them.")
    return found


def _fetch(maven: str, java_home: Path, work: Path, into: Path) -> None:
    pom = work / "pom.xml"
    pom.write_text(_POM, "utf-8")
    command = [maven, "-q", "-B", "-f", str(pom), f"{DEPENDENCY_PLUGIN}:copy-dependencies"]
    command += [f"-DoutputDirectory={into}", "-DincludeScope=runtime"]
    environment = {**os.environ, "JAVA_HOME": str(java_home)}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BrokerNotInstallable(f"Maven did not fetch Kafka within {MAVEN_TIMEOUT_S} s.") from error
    if done.returncode or not any(into.glob("kafka_2.13-*.jar")):
        raise BrokerNotInstallable(f"Maven could not fetch Kafka: {last_lines(done.stdout + done.stderr, 8)}")


def _java_candidates() -> Iterator[str]:
    folders = os.environ.get("PATH", "").split(os.pathsep)
    if home := os.environ.get("JAVA_HOME"):
        folders.insert(0, os.path.join(home, "bin"))
    for folder in filter(None, folders):
        if path := shutil.which("java", path=folder):
            yield path
    for place in JAVA_PLACES:
        yield from sorted(glob.glob(place), reverse=True)


def _java_version(path: str) -> int | None:
    """The feature release of a Java, or None when it does not run (as macOS's placeholder)."""
    try:
        shown = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    return int(match[1]) if match and shown.returncode == 0 else None


def _ports(properties: Path) -> list[int]:
    """The ports of the last start, for clients and controller; 0 where there was none."""
    try:
        found = re.search(
            r"^listeners=\D*[\d.]+\\?:(\d+)\D*[\d.]+\\?:(\d+)$", properties.read_text("ascii"), re.MULTILINE
        )
    except (OSError, UnicodeDecodeError):
        found = None
    return [int(found[1]), int(found[2])] if found else [0, 0]


def _escaped(value: str) -> str:
    """A value as java.util.Properties reads it."""
    if "\n" in value or "\r" in value:
        raise SettingsError(f"A broker's setting can't hold a line break: {value!r}.")
    text = value.replace("\\", "\\\\")
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)


def _cluster_id() -> str:
    """A random id as Kafka makes them; one with a dash in front would pass for an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text
