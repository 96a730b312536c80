"""Which events of a replay would bring what they brought before: those a stage passes over.

What the ledger's states record of a version says it: which rules of decode answered, which extractor of which version
made its canon, under which policy it was judged. Where all three are those of now, the same bytes give the same result,
and doing it again would only tell the ledger what it knows. Whatever is in doubt is done again: documents whose process
died, that took too long or that an extractor failed on, those with a decision, erased ones.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

import msgspec

from streams.extract.registry import fingerprint, plan
from streams.ledger.children import ATTACHMENTS_NOT_READ
from streams.log.scan import scan
from streams.records import NEEDS_RECOGNITION, TERMINAL, Detection, Manifest, SourceState, Version
from streams.records.codec import decode
from streams.runtime.languages import languages_of
from streams.settings import Settings

log = logging.getLogger(__name__)

PAGE_FAILED = "page_failed"

IN_DOUBT = frozenset({"bomb", NEEDS_RECOGNITION, "too_large"})
"""What a setting or the machine decides, which no record names: a limit, an engine that was not there."""


class Now(msgspec.Struct, frozen=True):
    """What would work on an event now."""

    rules: str  # of decode
    policy: str  # of the screen
    way: Callable[[Detection, Manifest], str] | None = None
    """The first half of the fingerprint that recognised pages would have; None: nothing would be recognised."""


def unchanged(version: Version, now: Now) -> bool:
    """Whether the event that brought this version would bring the same again."""
    detection, screening = version.detection, version.screening
    if version.content is None or version.outcome not in TERMINAL or detection is None or screening is None:
        return False
    if IN_DOUBT.intersection(screening.problems):
        return False
    if version.decisions or version.overruled or version.contested or version.erased_at is not None:
        return False
    if detection.rules != now.rules or ATTACHMENTS_NOT_READ in detection.warnings:
        return False
    spec = plan(detection)
    if version.fingerprint:
        if screening.policy != now.policy or spec is None:
            return False
        return version.fingerprint == fingerprint(spec, detection) or _recognised_alike(version, detection, now)
    # Without a canon the end came from decode, if there was no extractor to fail.
    return spec is None


def _recognised_alike(version: Version, detection: Detection, now: Now) -> bool:
    """Whether its pages were recognised by the engine, the models and the settings of now. One that failed may not."""
    assert version.screening is not None
    if now.way is None or PAGE_FAILED in version.screening.warnings:
        return False
    return version.fingerprint.startswith(now.way(detection, version.manifest))


def way_of(settings: Settings) -> Callable[[Detection, Manifest], str] | None:
    """See `Now.way`; starts the engine to ask for its models."""
    from streams.extract.recognise import WAY_DIGITS, default_engine
    from streams.extract.recognise import fingerprint as recognised
    from streams.extract.recognise.engine import EngineUnavailable

    if not settings.recognition.enabled:
        return None
    engine = default_engine()
    try:
        engine.identity()
    except EngineUnavailable:
        return None

    def way(detection: Detection, manifest: Manifest) -> str:
        languages = languages_of(settings, manifest)
        limit = settings.recognition.max_pixels
        return recognised(detection, languages, max_pixels=limit, engine=engine)[:WAY_DIGITS]

    return way


async def unchanged_offsets(settings: Settings, broker: str, until: Mapping[int, int], now: Now) -> dict[int, set[int]]:
    """Offsets in raw-arrived, by partition, whose events would bring the same again.

    Args:
        until: of each partition that is asked about, the offset where its replay ends.

    Raises:
        BrokerUnavailable, NotFound: `versions` can't be read.
    """
    started = time.monotonic()
    found: dict[int, set[int]] = {partition: set() for partition in until}
    async for message in scan(settings, broker, "versions", numbers=until):
        if message.value is None:
            continue
        known = found[message.partition]
        for version in decode(SourceState, message.value).versions:
            at = version.sequence
            if at.epoch != settings.kafka.log_epoch or at.offset >= until[message.partition]:
                continue
            # A later record of the same document speaks last.
            if unchanged(version, now):
                known.add(at.offset)
            else:
                known.discard(at.offset)
    count = sum(map(len, found.values()))
    log.info("%d events would bring what they brought before (%.1f s).", count, time.monotonic() - started)
    return found
