"""Scores beside the limits that a policy sets them: what a person looks at to see why a document is held."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from streams.screen.policy import Thresholds


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One number of the screen. A limit that does not apply (to too few words, say) is shown all the same."""

    name: str
    value: float
    limit: float | None = None  # None: it is kept, and decides nothing
    limit_name: str | None = None  # in the policy
    code: str | None = None  # the problem that it stands for
    above: bool = True  # whether what is above the limit is damage; else what is below
    fired: bool = False


LIMITS: dict[str, tuple[str, str, bool]] = {
    "badness_per_1000": ("max_badness_per_1000", "mojibake", True),
    "broken_accents": ("max_broken_accents", "mojibake", True),
    "broken_words": ("max_broken_words", "low_dictionary_rate", True),
    "cid_per_1000": ("max_cid_per_1000", "cid_leak", True),
    "columns_across": ("max_columns_across", "reading_order", True),
    "confidence": ("min_ocr_confidence", "low_ocr_confidence", False),
    "control": ("max_control", "mojibake", True),  # of what has no pages
    "damaged_pages": ("max_damaged_pages", "cid_leak", True),
    "dictionary_rate": ("min_dictionary_rate", "low_dictionary_rate", False),
    "dictionary_rate_loose": ("min_dictionary_rate_loose", "low_dictionary_rate", False),
    "double_decoding": ("max_double_decoding", "mojibake", True),
    "image_only_pages": ("max_image_only_pages", "needs_recognition", True),
    "impossible_tables": ("max_impossible_tables", "impossible_table", True),
    "known_pairs": ("min_known_pairs", "low_dictionary_rate", False),
    "letters_and_digits": ("min_letters_and_digits", "low_letter_ratio", False),
    "near_empty_pages": ("max_near_empty_pages", "near_empty_pages", True),
    "misspelt": ("max_misspelt", "low_dictionary_rate", True),
    "no_language": ("max_no_language", "low_dictionary_rate", True),
    "odd_case_words": ("max_odd_case", "low_dictionary_rate", True),
    "private_use": ("max_private_use", "cid_leak", True),
    "rare_characters": ("max_rare_characters", "low_dictionary_rate", True),
    "reading_order": ("min_reading_order", "reading_order", False),
    "repeated_lines": ("max_repeated_lines", "too_repetitive", True),
    "repeated_ngrams": ("max_repeated_ngrams", "too_repetitive", True),
    "replacement_in_words": ("max_replacement", "replacement_chars", True),
    "space": ("max_space", "excessive_whitespace", True),
    "token_mean": ("max_token_mean", "token_length", True),
    "turned_around": ("max_turned_around", "low_dictionary_rate", True),
    "wrong_code_page": ("max_wrong_code_page", "mojibake", True),
}
"""Of each score that decides: the limit in the policy, the code, and the side on which the damage lies."""

_OF_PAGES = {
    "characters": ("near_empty_page_characters", "near_empty_pages", False),
    "broken_words": ("max_broken_words_on_page", "low_dictionary_rate", True),
    "control": ("max_control", "cid_leak", True),
}


def scored(scores: Mapping[str, float], limits: Thresholds, *, of_page: bool = False) -> list[Score]:
    """The scores with their limits: those that are beyond them first, then by name."""
    known = {**LIMITS, **_OF_PAGES} if of_page else LIMITS
    if "near_empty_pages" in scores:  # it has pages, and they decide
        known = {**known, "control": _OF_PAGES["control"]}
    found = []
    for name, value in scores.items():
        if name not in known:
            found.append(Score(name=name, value=value))
            continue
        limit_name, code, above = known[name]
        limit = float(getattr(limits, limit_name))
        fired = value > limit if above else value < limit
        found.append(
            Score(name=name, value=value, limit=limit, limit_name=limit_name, code=code, above=above, fired=fired)
        )
    return sorted(found, key=lambda score: (not score.fired, score.limit is None, score.name))
