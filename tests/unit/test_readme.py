"""The README's examples are the code that tests run, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams.cli import Commands

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = [
    ROOT / "tests" / "unit" / "connectors" / "test_example.py",
    ROOT / "tests" / "integration" / "consumers" / "test_example.py",
]


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_an_example_is_run_by_a_test(block: str) -> None:
    assert any(block.strip() in path.read_text(encoding="utf-8") for path in EXAMPLES)


def test_there_is_an_example_of_each_kind() -> None:
    assert len(re.findall(r"```python\n", README)) == 2


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bcanonry ([a-z][a-z-]*)\b", README))))
def test_a_command_that_is_named_exists(name: str) -> None:
    assert name in Commands.LAZY


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)\b", README))))
def test_a_make_target_that_is_named_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_a_file_that_is_linked_exists(link: str) -> None:
    assert (ROOT / link).exists()
