"""Which languages a document is likely to be in, before anybody has read it."""

from __future__ import annotations

from streams.records import Manifest
from streams.settings import Settings


def languages_of(settings: Settings, manifest: Manifest | None) -> list[str]:
    """Likely languages, the best guess first: what the event says, its source, the installation."""
    registered = settings.sources.get(manifest.source) if manifest else None
    hint = manifest.language_hint if manifest else None
    likely = [hint, registered.language if registered else None, *settings.recognition.languages]
    return list(dict.fromkeys(language for language in likely if language))
