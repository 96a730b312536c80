"""Policies: exceptions by format, language and source; files; ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import SettingsError
from streams.screen import Policy, Thresholds, load_policy, read_policy
from streams.settings import ScreenSettings, Settings


def test_built_in() -> None:
    policy = load_policy(Settings.load())
    assert policy.id == Policy().id
    assert policy.id.startswith("default-1-")
    assert policy.thresholds(media_type="text/plain") == Thresholds()
    assert not policy.thresholds(media_type="message/rfc822").require_text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "p.toml",
            'name = "mill"\nversion = "3"\n[defaults]\nmax_space = 0.9\n[formats."text/*"]\nmax_space = 0.8\n'
            "[languages.fi]\nmax_token_mean = 18.0\n[sources.scans]\nmax_space = 1.0\n",
        ),
        (
            "p.yaml",
            'name: mill\nversion: "3"\ndefaults: {max_space: 0.9}\nformats: {"text/*": {max_space: 0.8}}\n'
            "languages: {fi: {max_token_mean: 18.0}}\nsources: {scans: {max_space: 1.0}}\n",
        ),
    ],
)
def test_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    policy = load_policy(Settings.load(screen=ScreenSettings(policy_file=tmp_path / name)))
    assert policy.id.startswith("mill-3-")
    assert policy.thresholds(media_type="application/pdf").max_space == 0.9
    assert policy.thresholds(media_type="text/csv").max_space == 0.8
    finnish = policy.thresholds(media_type="text/csv", language="fi", source="scans")
    assert (finnish.max_space, finnish.max_token_mean) == (1.0, 18.0)
    assert not policy.thresholds(media_type="message/rfc822").require_text


@pytest.mark.parametrize(
    "media_type",
    [
        "application/vnd.ms-powerpoint",
        "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
        "application/vnd.oasis.opendocument.presentation-flat-xml",
    ],
)
def test_slides_may_be_nearly_empty(media_type: str) -> None:
    assert Policy().thresholds(media_type=media_type).max_near_empty_pages == 1.0


def test_forks_name_what_is_installed_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def after(*tried: str, problem: str = "parser_error") -> str | None:
        return Policy().next_tool(media_type="application/msword", problems=[problem], tried=tried)

    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    assert after("doc") == "libreoffice"
    assert after("doc", "libreoffice") is None
    assert after("doc", problem="too_short") is None
    monkeypatch.setattr("shutil.which", lambda program: None)
    assert after("doc") is None


def test_same_content_same_id(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[defaults]\nmax_space = 0.9\nmax_badness_per_1000 = 11.0\n")
    (tmp_path / "b.yaml").write_text("defaults: {max_badness_per_1000: 11, max_space: 0.9}\n")
    assert read_policy(tmp_path / "a.toml").id == read_policy(tmp_path / "b.yaml").id != Policy().id


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("p.toml", "[defaults]\nmax_spaec = 0.9\n", "max_spaec"),
        ("p.toml", '[formats."text/*"]\nmax_spaec = 0.9\n', "formats.text/"),
        ("p.toml", '[defaults]\nmax_space = "much"\n', "max_space"),
        ("p.toml", "= nonsense", "p.toml"),
        ("p.yaml", "a: [", "p.yaml"),
        ("p.yaml", "- a list", "p.yaml"),
        ("p.yaml", "formats: 3", "formats"),
        ("p.toml", "\udcff", "p.toml"),
    ],
)
def test_unusable_files(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=says):
        read_policy(tmp_path / name)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        read_policy(tmp_path / "nowhere.toml")
