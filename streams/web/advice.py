"""What a person can do about each problem: a sentence for somebody who sees its code for the first time."""

from __future__ import annotations

_BYTES = (
    "Nothing can be read from these bytes. Have its owner deliver a sound copy, which comes in by itself, or skip it."
)
_RECOGNISE = (
    "Compare page and text. If both say the same, accept it; else send it to recognition, and skip it if that fails."
)
_COMPARE = "Read the text beside the page. If it can be understood, accept it; if not, extract it again or skip it."

ADVICE: dict[str, str] = {
    "bomb": "It was not unpacked, for it would fill the disk. Skip it, unless somebody who knows it unpacks it first.",
    "broken_link": "Have the link at its source mended, or skip it.",
    "cid_leak": _RECOGNISE,
    "corrupt": _BYTES,
    "crashed": "Extract it again with another extractor, or skip it.",
    "empty_extraction": "If the page shows writing, send it to recognition; if it is blank, skip it.",
    "encrypted": "Nobody can read it without its password. Ask its owner for a copy without one, or skip it.",
    "excessive_whitespace": _COMPARE,
    "impossible_table": "Compare the table with the page. If its rows are right, accept it; else extract it again.",
    "language_policy": "If the language is right for this source, accept it; else skip it.",
    "low_dictionary_rate": _RECOGNISE,
    "low_letter_ratio": "Numbers and codes may be all there is: if the text is what the page shows, accept it.",
    "low_ocr_confidence": "Read the text beside the page. If it can be understood, accept it; else skip it.",
    "malware": "Leave it alone, and tell whoever is responsible for security. Skip it.",
    "mojibake": "If letters are wrong, extract it again or skip it; if they are meant so, accept it.",
    "near_empty_pages": _RECOGNISE,
    "needs_recognition": "Its pages are pictures. Send it to recognition.",
    "not_content": "This is what a site shows instead of the document. Mend the access at its source, or skip it.",
    "out_of_memory": "Extract it again where a slot has more memory (worker.slot_memory_mb), or skip it.",
    "parser_error": "Extract it again with another extractor, or have its owner deliver a sound copy, or skip it.",
    "reading_order": "Read some paragraphs. If sentences go on where they should, accept it; else extract it again.",
    "recognition_language_missing": "Install the language's model (see `canonry doctor`), then send it to recognition.",
    "replacement_chars": "If the lost characters matter, extract it again or skip it; else accept it.",
    "timeout": "Extract it again when the machine is less busy, or with another extractor, or skip it.",
    "token_length": _COMPARE,
    "too_large": "Raise the limit that it is beyond and replay it, or skip it.",
    "too_repetitive": "If a person would want to find it, accept it; if it is the same line for ever, skip it.",
    "too_short": "If these few words are all there is, accept it; else extract it again.",
    "truncated": _BYTES,
    "unreadable": "Let the source read it (its rights, the disk); it comes in by itself then. Else skip it.",
    "unsupported_format": "No extractor reads it. Skip it, or leave it held until one does.",
    "vanished": "If it comes back, it is read by itself. Else skip it.",
    "version_conflict": "Two sources claim it. Accept the version that is right, or skip it.",
}
"""By code (`streams.records.PROBLEMS`)."""
