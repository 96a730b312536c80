"""The screen's thresholds: defaults in code, a versioned file for what a site knows better (R-SCR-4)."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import yaml

from streams.errors import SettingsError
from streams.extract import registry
from streams.settings import Settings


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is no damage yet. Shares are 0..1; each limit belongs to the problem code that is named beside it."""

    require_text: bool = True  # empty_extraction; False where attachments may carry everything
    near_empty_page_characters: int = 50  # a page with less is nearly empty
    max_near_empty_pages: float = 0.5  # near_empty_pages: share of pages
    min_pages_for_near_empty: int = 3  # a short letter is one nearly empty page, and complete
    min_page_characters: int = 10  # near_empty_pages: of all pages together; a page of five marks is a broken font
    min_image_area: float = 0.5  # needs_recognition: a page nearly without text under images of this share of it
    max_image_only_pages: float = 0.0  # needs_recognition: share of such pages
    max_cid_per_1000: float = 5.0  # cid_leak: "(cid:12)" and glyph names in 1000 characters
    max_private_use: float = 0.1  # cid_leak
    max_control: float = 0.02  # cid_leak on pages, mojibake elsewhere: control characters that are no white space
    max_replacement: float = 0.005  # replacement_chars: share of U+FFFD in words; a lone one is a lost bullet
    max_replacement_on_page: float = 0.2  # cid_leak: so much U+FFFD on a page is a font without a way back
    max_double_decoding: float = 0.3  # mojibake: share of non-ASCII characters; clean word lists below 0.2
    max_badness_per_1000: float = 10.0  # mojibake: ftfy's count; clean text is at 0.0
    min_letters_and_digits: float = 0.5  # low_letter_ratio: share of what is no space, in prose
    min_characters: int = 50  # below, shares of characters say nothing
    min_dictionary_rate: float = 0.5  # low_dictionary_rate: good text 0.96, bad OCR 0.76, shifted font 0.2
    min_dictionary_tokens: int = 30  # from here on that limit counts
    min_dictionary_rate_short: float = 0.4  # from 8 words on
    min_dictionary_rate_loose: float = 0.25  # for tables and code, on pages
    max_no_language: float = 0.6  # low_dictionary_rate, where no word list exists: probability of "no language"
    doubtful_dictionary_rate: float = 0.85  # below: the warning `doubtful_words`
    max_broken_words: float = 0.06  # low_dictionary_rate, token_length: words that no language has, beyond the usual
    max_broken_words_on_page: float = 0.25  # the same of a single page
    min_broken_words: int = 6  # fewer are a few names
    min_broken_accents: int = 6
    max_odd_case: float = 0.06  # low_dictionary_rate: known words "wRiTTen" as nobody does
    max_broken_accents: float = 0.2  # mojibake: of the words with letters beyond ASCII, those that no language has
    min_undone: int = 3  # words; of those two below
    max_turned_around: float = 0.12  # low_dictionary_rate: unknown words that are common ones backwards; clean: 0.0
    max_wrong_code_page: float = 0.02  # mojibake: special words that are words in another code page; clean: below 0.019
    min_known_pairs: float = 0.0  # low_dictionary_rate, zh ja ko: characters that stand as in words of the language
    max_rare_characters: float = 0.03  # low_dictionary_rate, zh ja ko: characters that the language hardly uses
    max_misspelt: float = 0.01  # low_dictionary_rate, th: letters and marks that stand where none can
    min_token_mean: float = 1.8  # token_length: "l e t t e r s"
    max_token_mean: float = 14.0  # token_length: "wordswithoutspaces"
    max_long_tokens: float = 0.3  # token_length: share of letters in words of more than 40
    max_repeated_lines: float = 0.7  # too_repetitive: share of characters in lines that came before
    max_repeated_ngrams: float = 0.8  # too_repetitive: share of the runs of ten words that came before
    max_space: float = 0.75  # excessive_whitespace: share of all characters, in prose
    max_damaged_pages: float = 0.1  # a code found on pages alone holds the document from this share on
    min_ocr_confidence: float = 0.6  # low_ocr_confidence
    max_impossible_tables: float = 0.0  # impossible_table: share of tables whose cells overlap or lie outside
    min_reading_order: float = 0.15  # reading_order: a page of whose order the layout is less sure
    max_columns_across: float = 5.0  # reading_order: evidence of columns read across; undamaged text below 4.8


_DATA: dict[str, Any] = {"max_repeated_lines": 1.0, "max_repeated_ngrams": 1.0, "min_dictionary_rate": 0.25}
_BUILT_IN_FORMATS: dict[str, dict[str, Any]] = {
    "application/json": _DATA,
    "application/x-ndjson": _DATA,
    "application/xml": _DATA,
    "message/*": {"require_text": False},
    "application/vnd.ms-outlook": {"require_text": False},
    **{
        media_type: {"max_near_empty_pages": 1.0}
        for spec in registry.EXTRACTORS
        if spec.name in ("odp", "ppt", "pptx")
        for media_type in spec.media_types
    },
}
"""Slides with six words are slides; a mail may be nothing but its attachment; data repeats its names, and they are no
words."""


_BUILT_IN_LANGUAGES: dict[str, dict[str, Any]] = {
    "zh": {"min_known_pairs": 0.69},
    "ja": {"min_known_pairs": 0.725, "max_rare_characters": 0.01},
    "ko": {"min_known_pairs": 0.63},
    "th": {"max_columns_across": 8.0},
    "tr": {"max_wrong_code_page": 0.05},
}
"""Known pairs of undamaged texts are at 0.74, 0.76 and 0.66 in the worst case, columns across of Thai at 5 to 6 (its
letters stand for words), words of Turkish that another code page explains at 0.032 (its list lacks many forms)."""


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which extractors may try a document again, in this order, that was held for one of these codes."""

    problems: list[str]
    tools: list[str]
    formats: list[str] = []  # media types, `text/*` too; empty: all


_NOTHING_READ = ["crashed", "empty_extraction", "out_of_memory", "parser_error", "timeout"]
_BUILT_IN_FORKS = [
    Fork(problems=_NOTHING_READ, formats=["application/pdf"], tools=["pdf_pdfium"]),
    Fork(
        problems=[*_NOTHING_READ, "corrupt"],
        formats=["application/msword", "application/vnd.ms-powerpoint", "application/vnd.ms-excel", "text/rtf"],
        tools=["libreoffice"],
    ),
]
"""The fork follows the failure (R-SCR-3). Pages of PDF whose letters are broken have tried other libraries already."""

MOST_ATTEMPTS = 3


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Thresholds and their exceptions by media type (`text/*` too), language and source; the later of these wins."""

    name: str = "default"
    version: str = "1"
    defaults: Thresholds = Thresholds()
    formats: dict[str, dict[str, Any]] = msgspec.field(default_factory=lambda: dict(_BUILT_IN_FORMATS))
    languages: dict[str, dict[str, Any]] = msgspec.field(default_factory=lambda: dict(_BUILT_IN_LANGUAGES))
    sources: dict[str, dict[str, Any]] = {}
    forks: list[Fork] = msgspec.field(default_factory=lambda: list(_BUILT_IN_FORKS))

    @property
    def id(self) -> str:
        """Name, version and a hash of all that the policy says: two equal ids judge alike."""
        said = msgspec.json.encode(self, order="deterministic")
        return f"{self.name}-{self.version}-{hashlib.sha256(said).hexdigest()[:8]}"

    def thresholds(self, *, media_type: str, language: str | None = None, source: str | None = None) -> Thresholds:
        """What counts for one document."""
        family = media_type.partition("/")[0] + "/*"
        layers = (
            self.formats.get(family, {}),
            self.formats.get(media_type, {}),
            self.languages.get(language or "", {}),
            self.sources.get(source or "", {}),
        )
        changes = {key: value for layer in layers for key, value in layer.items()}
        return msgspec.structs.replace(self.defaults, **changes) if changes else self.defaults

    def next_tool(self, *, media_type: str, problems: Collection[str], tried: Collection[str]) -> str | None:
        """The extractor that may try it again; None when there is no other, or enough have tried.

        Args:
            problems: for which it is held.
            tried: names of the extractors that have tried already.
        """
        if len(tried) >= MOST_ATTEMPTS:
            return None
        family = media_type.partition("/")[0] + "/*"
        for fork in self.forks:
            if not set(fork.problems).intersection(problems):
                continue
            if fork.formats and media_type not in fork.formats and family not in fork.formats:
                continue
            for tool in fork.tools:
                spec = registry.named(tool)
                if tool not in tried and spec is not None and registry.is_installed(spec):
                    return tool
        return None


def load_policy(settings: Settings) -> Policy:
    """The policy that `[screen] policy_file` names (TOML or YAML), or the built-in one.

    Raises:
        SettingsError: the file is missing, malformed, or has a key or value that can't be.
    """
    path = settings.screen.policy_file
    return Policy() if path is None else read_policy(path)


def read_policy(path: Path) -> Policy:
    """Reads a policy file. Built-in exceptions stay unless the file names the same format or language.

    Raises:
        SettingsError: as `load_policy`.
    """
    try:
        text = path.read_text(encoding="utf-8")
        said = yaml.safe_load(text) if path.suffix in (".yaml", ".yml") else tomllib.loads(text)
        said = {} if said is None else said
        if isinstance(said, dict):
            said = dict(said)
            for kind, built_in in (("formats", _BUILT_IN_FORMATS), ("languages", _BUILT_IN_LANGUAGES)):
                if isinstance(said.get(kind, {}), dict):
                    said[kind] = {**built_in, **said.get(kind, {})}
        policy = msgspec.convert(said, Policy)
        for kind in ("formats", "languages", "sources"):
            for name, layer in getattr(policy, kind).items():
                _check_layer(f"{kind}.{name}", layer)
        for tool in (tool for fork in policy.forks for tool in fork.tools):
            if registry.named(tool) is None:
                raise ValueError(f"forks: no extractor is called {tool!r}")
    except (OSError, ValueError, yaml.YAMLError) as error:  # TOML, msgspec and Unicode errors are ValueErrors
        raise SettingsError(
            f"The screen's policy {path} can't be used: {error}.", remedy="Correct it, or unset screen.policy_file."
        ) from error
    return policy


def _check_layer(where: str, layer: dict[str, Any]) -> None:
    try:
        msgspec.convert(layer, Thresholds)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {error}") from error
