"""What this machine lacks, and the command that mends it."""

from __future__ import annotations

import importlib
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from streams.errors import CanonryError
from streams.settings import Settings, config_path


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    what: str
    state: str  # ok, warning, missing
    detail: str
    remedy: str = ""

    @property
    def ok(self) -> bool:
        return self.state != "missing"


def apt(package: str) -> str:
    """How to install a system package here."""
    if platform.system() == "Darwin":
        names = {
            "libarchive-tools": "libarchive",
            "tesseract-ocr": "tesseract",
            "libmagic1": "libmagic",
            "openjdk-17-jre-headless": "openjdk@17",
        }
        return f"brew install {names.get(package, package)}"
    return f"sudo apt-get install -y {package}"


def examine(settings: Settings) -> list[Finding]:
    """Looks at everything Canonry needs on this machine."""
    return [finding for check in CHECKS for finding in check(settings)]


def _python(_: Settings) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", version)


def _configuration(settings: Settings) -> Iterator[Finding]:
    path = config_path()
    yield Finding("settings", "ok", f"{path} and CANONRY_*" if path.is_file() else "defaults and CANONRY_*")
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.data_dir):
            pass
    except OSError as error:
        yield Finding(
            "data directory",
            "missing",
            f"{settings.data_dir} can't be written: {error.strerror}",
            "Set CANONRY_DATA_DIR to a folder of yours.",
        )
        return
    free = shutil.disk_usage(settings.data_dir).free / 2**30
    state = "ok" if free >= 1 else "warning"
    yield Finding("data directory", state, f"{settings.data_dir.absolute()}, {free:.1f} GiB free")


def _rar(_: Settings) -> Iterator[Finding]:
    from streams.decode.unpack.rar import PROGRAMS

    found = next(filter(shutil.which, PROGRAMS), None)
    if found is None:
        yield Finding("rar", "warning", "compressed members of RAR archives can't be read", apt("libarchive-tools"))
    else:
        yield Finding("rar", "ok", f"compressed members are read with {found}")


def _recognition(settings: Settings) -> Iterator[Finding]:
    from streams.extract.recognise.engine import EngineUnavailable
    from streams.extract.tools.tesseract import MODELS, Tesseract

    if not settings.recognition.enabled:
        yield Finding("recognition", "ok", "switched off ([recognition] enabled)")
        return
    engine = Tesseract()
    try:
        installed = engine.languages()
    except EngineUnavailable as error:
        yield Finding("recognition", "warning", f"{error}", apt("tesseract-ocr"))
        return
    registered = [source.language for source in settings.sources.values() if source.language]
    configured = sorted({*settings.recognition.languages, *registered})
    detail = f"{engine.name} {engine.version}; installed: {', '.join(sorted(installed))}"
    yield Finding("recognition", "ok", detail + (f"; configured: {', '.join(configured)}" if configured else ""))
    for language in configured:
        if language not in MODELS:
            detail = f"{engine.name} has no model for the configured language {language}"
            yield Finding("recognition", "warning", detail, "Correct recognition.languages or the source's language.")
        elif language not in installed:
            detail = f"no model for the configured language {language}: its pages are held"
            yield Finding("recognition", "warning", detail, _install(MODELS[language]))
    if "osd" not in engine.models():
        detail = "no model that tells how pages lie: scripts are not told, turned pages take longer"
        yield Finding("recognition", "warning", detail, _install(("osd",)))


def _install(models: tuple[str, ...]) -> str:
    """How to install models of tesseract here."""
    if platform.system() == "Darwin":
        return "brew install tesseract-lang"
    return apt(" ".join(f"tesseract-ocr-{model.replace('_', '-')}" for model in models))


def _libmagic(_: Settings) -> Iterator[Finding]:
    try:
        magic = importlib.import_module("magic")
        yield Finding("libmagic", "ok", f"version {magic.version()}")
    except (ImportError, OSError, AttributeError) as error:
        yield Finding("libmagic", "missing", f"formats can't be identified: {error}", apt("libmagic1"))


LIBRARIES = ("pymupdf", "lxml.etree", "selectolax.lexbor", "charset_normalizer", "py3langid", "wordfreq", "faust")


def _libraries(_: Settings) -> Iterator[Finding]:
    broken = []
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except (ImportError, OSError) as error:
            broken.append(f"{name}: {error}")
    if broken:
        yield Finding("libraries", "missing", "; ".join(broken), "pip install --force-reinstall canonry")
    else:
        yield Finding("libraries", "ok", f"{len(LIBRARIES)} extraction libraries load")


def _broker(settings: Settings) -> Iterator[Finding]:
    import asyncio

    from streams.log import broker, kafka_broker, tansu_broker
    from streams.log.client import reachable

    if settings.broker:
        try:
            count = asyncio.run(reachable(settings, settings.broker))
        except CanonryError as error:
            yield Finding("broker", "missing", error.message, "Check CANONRY_BROKER and that the cluster is up.")
            return
        yield Finding("broker", "ok", f"{settings.broker}, {count} brokers")
        return
    info = broker.status(settings)
    if info is not None:
        yield Finding("broker", "ok", f"{info.kind} runs at {info.address}")
        return
    obstacles = kafka_broker.obstacles()
    if not obstacles:
        yield Finding("broker", "ok", "Apache Kafka can be started (`canonry broker start`)")
    elif not tansu_broker.obstacles():
        yield Finding(
            "broker",
            "warning",
            f"only the embedded broker, whose log lives in memory: {' '.join(obstacles)}",
            apt("openjdk-17-jre-headless") + " maven" * (shutil.which("mvn") is None),
        )
    else:
        yield Finding(
            "broker",
            "missing",
            " ".join(obstacles),
            apt("openjdk-17-jre-headless") + " maven  (or: pip install 'canonry[embedded]', or set CANONRY_BROKER)",
        )


def _blobs(settings: Settings) -> Iterator[Finding]:
    from streams.blobs import open_store

    where = settings.blobs.endpoint if settings.blobs.kind == "s3" else str(settings.blob_dir)
    try:
        open_store(settings).check()
    except CanonryError as error:
        yield Finding("blob store", "missing", error.message, error.remedy)
        return
    yield Finding("blob store", "ok", f"{settings.blobs.kind}: {where}")


def _slots(settings: Settings) -> Iterator[Finding]:
    import asyncio

    from streams.runtime.slots import Slots

    async def start() -> list[int]:
        slots = Slots(settings.worker.model_copy(update={"slots": 1}))
        try:
            await slots.warm_up()
            return slots.pids
        finally:
            await slots.stop()

    try:
        asyncio.run(start())
    except CanonryError as error:
        yield Finding("slots", "missing", error.message, "Raise worker.slot_memory_mb, or look at the system's limits.")
        return
    yield Finding("slots", "ok", f"{settings.worker.slots} processes, {settings.worker.slot_memory_mb} MiB each")


def _watching(settings: Settings) -> Iterator[Finding]:
    limit = Path("/proc/sys/fs/inotify/max_user_watches")
    if not limit.is_file():
        return
    watches = int(limit.read_text())
    if watches < 65536:
        yield Finding(
            "inotify",
            "warning",
            f"{watches} folders can be watched; beyond that `--watch` finds changes only by rescans",
            "sudo sysctl fs.inotify.max_user_watches=524288",
        )
    else:
        yield Finding("inotify", "ok", f"{watches} folders can be watched")


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    _python,
    _configuration,
    _libmagic,
    _rar,
    _recognition,
    _libraries,
    _broker,
    _blobs,
    _slots,
    _watching,
)
