"""What the comparison with other converters calls kept, and that Canonry keeps what its files hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import peer_checks as c
from bench import peers
from bench.peer_checks import Said, Verdict
from bench.peer_features import FEATURES, make_samples
from bench.peer_reader import CONVERTERS

KEPT, PARTLY, LOST, WRONG = Verdict.KEPT, Verdict.PARTLY, Verdict.LOST, Verdict.WRONG
PIPES = "| Region | Sum |\n|---|---|\n| North | 410 |"
SPANS = '<table><tr><th>Region</th><th colspan="2">Both</th></tr><tr><td>North</td><td>4</td></tr></table>'


@pytest.mark.parametrize(
    ("check", "main", "more", "verdict"),
    [
        (c.levels("Up", "Low"), "# Up\n\n## Low", "", KEPT),
        (c.levels("Up", "Low"), "## Up\n\n### Low", "", KEPT),
        (c.levels("Up", "Low"), "# Up\n\n# Low", "# Up\n## Low", KEPT),
        (c.levels("Up", "Low"), "# Up\n\n# Low", "", PARTLY),
        (c.levels("Up", "Low"), "<h2>Up</h2><h3>Low</h3>", "", KEPT),
        (c.levels("Up", "Low"), "Up", "", LOST),
        (c.heading("Up"), "### 1. Up", "", KEPT),
        (c.numbered("point", "5"), "5. point", "", KEPT),
        (c.numbered("point", "5"), "2. point", "", WRONG),
        (c.numbered("point", "5"), "- point", "", PARTLY),
        (c.numbered("point", "5"), "- point", "5. point", KEPT),
        (c.item("point"), "  * point", "", KEPT),
        (c.item("point"), "point", "", PARTLY),
        (c.row("North", "410"), PIPES, "", KEPT),
        (c.row("North", "4"), SPANS, "", KEPT),
        (c.row("Region", "4"), SPANS, "", PARTLY),
        (c.row("North", "410"), "North\n410", "", PARTLY),
        (c.row("410", "North"), PIPES, "", PARTLY),
        (c.header_row("Region"), PIPES, "", KEPT),
        (c.header_row("North"), PIPES, "", PARTLY),
        (c.header_row("Both"), SPANS, "", KEPT),
        (c.span("Both"), SPANS, "", KEPT),
        (c.span("Region"), SPANS, "", PARTLY),
        (c.once("Both"), "| Both | Both |", "", WRONG),
        (c.once("Both"), "| Both | Both |", SPANS, KEPT),
        (c.once("Both"), "| Both | |", "", KEPT),
        (c.once("Both"), "", "", LOST),
        (c.bound("claim", "proof"), "the claim[^1] stands\n\n[^1]: proof", "", KEPT),
        (c.bound("claim", "proof"), "the claim stands\n\nproof", "", PARTLY),
        (c.bound("claim", "proof"), "the claim", "[footnote 1] proof [of: the claim stands]", KEPT),
        (c.labelled("doubt", "comment"), "", "[comment] Ann: doubt", KEPT),
        (c.labelled("doubt", "comment"), "<!-- comment: doubt -->", "", KEPT),
        (c.labelled("doubt", "note"), "### Notes:\ndoubt", "", KEPT),
        (c.labelled("doubt", "comment"), "doubt", "", PARTLY),
        (c.hidden("ghost"), "", "[hidden] ghost", KEPT),
        (c.hidden("ghost"), "ghost", "", PARTLY),
        (c.furniture("head"), "text", "[page_header] head", KEPT),
        (c.furniture("head"), "head\ntext", "[page_header] head", PARTLY),
        (c.furniture("head"), "text", "", LOST),
        (c.quoted("asked"), "answer\n> asked", "", KEPT),
        (c.quoted("asked"), "answer\nasked", "", PARTLY),
        (c.revised("new", "old"), "new", "", KEPT),
        (c.revised("new", "old"), "new old", "", PARTLY),
        (c.revised("new", "old"), "old", "", WRONG),
        (c.revised("new", "old"), "", "", LOST),
        (c.shown("12.5%", r"0\.125"), "12.5%", "", KEPT),
        (c.shown("12.5%", r"0\.125"), "0.125", "", WRONG),
        (c.link("the page", "https://e.org"), "[the page](https://e.org)", "", KEPT),
        (c.link("the page", "https://e.org"), "the page", "", PARTLY),
        (c.order("a1", "b1"), "a1 b1", "", KEPT),
        (c.order("a1", "b1"), "b1 a1", "", WRONG),
        (c.left_out("ghost"), "ghost", "", WRONG),
        (c.joined("divided", "divi-\nded"), "divi-\nded", "", PARTLY),
    ],
)
def test_verdicts(check: c.Check, main: str, more: str, verdict: Verdict) -> None:
    assert check(Said(main, more)) is verdict


def test_canonry_keeps_every_feature_of_the_files_made_without_other_programs(tmp_path: Path) -> None:
    formats = ["docx", "pptx", "xlsx", "html", "epub", "eml", "msg", "csv", "json", "xml", "md", "txt", "ipynb", "pdf"]
    _, say = CONVERTERS["canonry"]()
    answers = {name: Said(*say(str(path))) for name, path in make_samples(tmp_path, formats).items()}
    assert len(answers) == len(formats) + 1
    found = {f"{one.file}: {one.name}": one.check(answers[one.file]) for one in FEATURES if one.file in answers}
    assert len(found) > 100
    dropped = "html: hidden text marked"  # what no browser shows is counted, not kept
    assert {name for name, verdict in found.items() if verdict is not KEPT} <= {dropped}


def test_a_converter_that_is_gone_is_told_from_one_that_cannot_read_a_file(tmp_path: Path) -> None:
    reader = peers.Reader("canonry", tmp_path)
    try:
        nothing = tmp_path / "nothing.txt"
        nothing.write_bytes(b"")
        assert "empty_file" in reader.ask({"say": str(nothing)})["failed"]
        answer = reader.ask({"time": [str(nothing)]})
        assert list(answer["failed"]) == ["nothing.txt"]
        assert reader.ask({})["memory"] > 10
        assert reader.ask({"say": str(nothing)}) == {}
        assert reader.failed == "died"
    finally:
        reader.close()


def test_without_a_network_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert peers.main(["txt", "--only", "kreuzberg", "--peers", str(tmp_path / "peers")]) == 2
    assert "could not be installed (no network?): kreuzberg" in capsys.readouterr().err
