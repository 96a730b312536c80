"""`canonry config` and `canonry doctor`: this machine and its settings."""

from __future__ import annotations

import json
import re
from typing import Any

import click
import msgspec

from streams.cli.output import EXIT_UNAVAILABLE, json_option, say, show_json, show_table
from streams.settings import Settings, config_path

SECRETS = ("password", "secret_key", "access_key", "token")
URL_PASSWORD = re.compile(r"(://[^/:@]*:)[^/]*@")  # of catalog_url


@click.group()
def config() -> None:
    """Settings: canonry.toml of this folder (or CANONRY_CONFIG), then CANONRY_* variables, which win."""


@config.command()
@json_option
def show(as_json: bool) -> None:
    """Show every setting with the value in force; secrets are hidden."""
    values = _hidden(Settings.load().model_dump(mode="json"))
    if as_json:
        show_json(values)
        return
    path = config_path()
    say(f"# from {path}" if path.is_file() else f"# {path} is not there: defaults and CANONRY_* only")
    rows = [(name, json.dumps(value, ensure_ascii=False), _variable(name)) for name, value in _flat(values)]
    show_table(["setting", "value", "variable"], rows)


def _hidden(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _hidden(value)
        if isinstance(value, dict)
        else "…"
        if value and any(key.endswith(secret) for secret in SECRETS)
        else URL_PASSWORD.sub(r"\1…@", value)
        if isinstance(value, str)
        else value
        for key, value in values.items()
    }


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((prefix + key, value))
    return found


def _variable(name: str) -> str:
    return "CANONRY_" + name.upper().replace(".", "__")


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Look at this machine: what is missing, and the command that mends it. Exit status 3 when something is."""
    from streams.ops.doctor import examine

    findings = examine(Settings.load())
    if as_json:
        show_json([msgspec.to_builtins(finding) for finding in findings])
    else:
        show_table(["", "what", "found"], [[finding.state, finding.what, finding.detail] for finding in findings])
        for finding in findings:
            if finding.remedy and finding.state != "ok":
                say(f"\n{finding.what}: {finding.remedy}")
    if not all(finding.ok for finding in findings):
        raise click.exceptions.Exit(EXIT_UNAVAILABLE)
