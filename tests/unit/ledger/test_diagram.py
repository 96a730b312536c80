"""The diagram in the README is what the code does."""

from __future__ import annotations

from streams.ledger.diagram import BEGIN, END, README, mermaid, section
from streams.ledger.transitions import RULES


def test_the_readme_has_the_diagram_of_now() -> None:
    text = README.read_text(encoding="utf-8")
    shown = text[text.index(BEGIN) : text.index(END) + len(END)]
    assert shown == section(), "Run `python -m streams.ledger.diagram`."


def test_the_diagram_has_every_event_and_every_end() -> None:
    text = section()
    for event in RULES:
        assert f"`{event}`" in text
    for kind in ("pending", "ready", "quarantined", "skipped", "in conflict", "deleted", "deleted and erased"):
        assert f'"{kind}"' in text
    assert mermaid() == mermaid()
