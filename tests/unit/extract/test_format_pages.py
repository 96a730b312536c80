"""The pages of the formats name what the code has: every extractor, and every warning that one can give."""

from __future__ import annotations

import re
from pathlib import Path

from streams.extract.registry import EXTRACTORS

ROOT = Path(__file__).parents[3]
PAGES = {page.name: page.read_text("utf-8") for page in (ROOT / "docs" / "formats").glob("*.md")}
CODE = "\n".join(file.read_text("utf-8") for file in sorted((ROOT / "streams").rglob("*.py")))
_GIVEN = re.compile(r'warn(?:ings)?(?:\.add|\.append)?\(\s*"([a-z_]+)"|warnings(?:=| \+= )\["([a-z_]+)"')


def test_every_extractor_has_a_row_that_leads_to_a_page() -> None:
    rows = [line for line in PAGES["README.md"].splitlines() if line.startswith("| [")]
    for spec in EXTRACTORS:
        assert f"`{spec.name}`" in PAGES["README.md"], spec.name
    targets = {target for row in rows for target in re.findall(r"\]\((\w[\w-]*\.md)\)", row)}
    assert targets == set(PAGES) - {"README.md"}


def test_every_page_says_what_is_kept_marked_and_lost() -> None:
    for name, text in PAGES.items():
        if name != "README.md":
            found = [line.strip("# ") for line in text.splitlines() if line.startswith("##")]
            assert {"Kept", "Marked", "Lost"} <= set(found), name


def test_warnings_of_extractors_are_on_a_page() -> None:
    given = set()
    for file in (ROOT / "streams" / "extract").rglob("*.py"):
        given |= {first or second for first, second in _GIVEN.findall(file.read_text("utf-8"))}
    assert len(given) > 50
    assert sorted(code for code in given if not any(code in text for text in PAGES.values())) == []


def test_codes_on_the_pages_are_in_the_code() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", "\n".join(PAGES.values())))
    assert sorted(code for code in named if code not in CODE) == []
