"""The alert rules: what Prometheus' own tool says of them, and that each asks for metrics that exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.unit.runtime.test_metrics import exposition

FOLDER = Path(__file__).parents[3] / "monitoring"
METRIC = re.compile(r"\bcanonry_\w+")


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    if program is None:
        if os.environ.get("CANONRY_REQUIRE_KAFKA"):
            pytest.fail("promtool is not installed (apt: prometheus)")
        pytest.skip("promtool is not installed (apt: prometheus)")
    return subprocess.run([program, *arguments], capture_output=True, text=True, cwd=FOLDER, check=False)


def test_rules_are_sound_and_do_what_they_say() -> None:
    checked = promtool("check", "rules", "alerts.yml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", "alerts_test.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_each_alert_is_tested_silent_and_told_and_says_what_to_do() -> None:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    alerts = {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}
    silent: set[str] = set()
    told: set[str] = set()
    for test in yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]:
        for case in test["alert_rule_test"]:
            (told if case.get("exp_alerts") else silent).add(case["alertname"])
    assert set(alerts) == silent == told
    assert all({"summary", "action"} <= set(rule["annotations"]) for rule in alerts.values())


def test_rules_ask_for_metrics_that_exist() -> None:
    known = set(METRIC.findall(exposition()))
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    asked = {name for group in groups for rule in group["rules"] for name in METRIC.findall(rule["expr"])}
    assert asked
    assert asked <= known, asked - known
