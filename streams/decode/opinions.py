"""Other detectors' candidates: charset-normalizer and chardet name encodings, how they read is judged here."""

from __future__ import annotations

from streams.decode.labels import codec_of, resolve

SAMPLE = 4096
MOST = 4
"""Candidates that are taken of each detector."""


def second_opinions(sample: bytes) -> list[str]:
    """Encodings that charset-normalizer and chardet think possible, the likelier first; by the names used here."""
    import chardet
    from charset_normalizer import from_bytes

    piece = sample[:SAMPLE]
    names = [str(guess["encoding"]) for guess in chardet.detect_all(piece)[:MOST] if guess["encoding"]]
    names += [match.encoding for match in list(from_bytes(piece))[:MOST]]
    found = [name for label in names if (name := resolve(label)) is not None and _reads_ascii(name)]
    return list(dict.fromkeys("gb18030" if name == "gbk" else name for name in found))


def _reads_ascii(name: str) -> bool:
    """Whether ASCII is read as such: EBCDIC makes some text of every text, and UTF-16 is decided elsewhere."""
    return b"Az 09".decode(codec_of(name), "replace") == "Az 09"


__all__ = ["second_opinions"]
