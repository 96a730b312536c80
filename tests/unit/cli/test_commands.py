"""Every command: help that loads and teaches, one JSON value, an exit status that means something, errors in a line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from streams.cli import Commands, canonry
from tests.unit.cli.conftest import Canonry, Said

NO_BROKER = {"CANONRY_BROKER": "127.0.0.1:1"}
HEAVY = ("pymupdf", "faust", "lxml", "aiokafka", "sqlalchemy", "selectolax", "wordfreq", "fastavro")


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all commands."""
    found = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


ALL = commands(canonry)


def one_line(said: Said) -> str:
    """The only line on stderr, where nothing is a traceback."""
    assert "Traceback" not in said.err + said.out
    (line,) = said.err.splitlines()
    return line


def test_every_command_that_the_readme_of_the_group_names_is_there() -> None:
    assert {path[0] for path in ALL} == set(Commands.LAZY)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_says_what_a_command_does_and_what_each_option_is_for(path: tuple[str, ...], canonry: Canonry) -> None:
    said = canonry(*path, "--help")
    assert said.status == 0
    assert said.out.startswith(f"Usage: canonry {' '.join(path)}")
    command: click.Command = click.Group("x")
    group: click.Command = __import__("streams.cli", fromlist=["canonry"]).canonry
    for name in path:
        assert isinstance(group, click.Group)
        found = group.get_command(click.Context(group), name)
        assert found is not None
        command = group = found
    assert command.help
    assert len(command.help) > 20
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.help, f"{path}: {parameter.name} has no help"


def test_help_names_the_exit_statuses_and_where_to_start(canonry: Canonry) -> None:
    said = canonry("--help")
    assert "Exit status:" in said.out
    assert "canonry run DIR" in said.out
    assert canonry("--version").out.startswith("canonry, version ")


def test_no_command_and_help_load_no_library_of_the_log_or_of_documents() -> None:
    code = (
        "import sys, streams.cli as c; sys.argv = ['canonry', '--help']\n"
        f"try: c.main()\nexcept SystemExit: pass\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("args", "variables", "toml", "expected"),
    [
        (["nope"], {}, None, "No such command 'nope'"),
        (["run", "not-there"], {}, None, "not-there"),
        (["run"], {}, None, "FOLDER"),
        (["triage", "not-there"], {}, None, "not-there"),
        (["search"], {}, None, "WORDS"),
        (["search", "x", "--limit", "0"], {}, None, "--limit"),
        (["worker", "nostage"], {}, None, "'decode', 'extract', 'screen', 'recognize', 'ledger'"),
        (["consumer", "nothing"], {}, None, "'catalog', 'search'"),
        (["config", "show"], {"CANONRY_CONFIG": "missing.toml"}, None, "missing.toml"),
        (["config", "show"], {}, b"a = [", "canonry.toml can't be read"),
        (["config", "show"], {}, b"\xff\xfe", "canonry.toml can't be read"),
        (["config", "show"], {}, b'colour = "red"\n', "colour: there is no such setting"),
        (["config", "show"], {}, b"[worker]\ncolour = 1\n", "worker.colour: there is no such setting"),
        (["config", "show"], {"CANONRY_WORKER__SLOTS": "zero"}, None, "worker.slots"),
        (["config", "show"], {"CANONRY_WORKER__SLOTS": "0"}, None, "worker.slots"),
        (["config", "show"], {"CANONRY_WORKER": "zero"}, None, 'field "worker"'),
        (["config", "show"], {"CANONRY_LOG_LEVEL": "loud"}, None, "log_level"),
        (["config", "show"], {"CANONRY_WORKERS__SLOTS": "1"}, None, "no setting CANONRY_WORKERS__SLOTS"),
        (["config", "show"], {"CANONRY_KAFKA__TOPIC_PREFIX": "a b"}, None, "kafka.topic_prefix"),
        (["topics", "check"], {"CANONRY_BROKER": "nonsense"}, None, "host:port"),
        (["schemas", "check", "--folder", "not-there"], {}, None, "not-there"),
        (["erase", "a.txt", "--yes", "--reason", " "], {}, None, "An erasure needs a reason"),
    ],
)
def test_a_wrong_call_or_setting_is_one_line_and_status_2(
    args: list[str], variables: dict[str, str], toml: bytes | None, expected: str, canonry: Canonry, tmp_path: Path
) -> None:
    if toml is not None:
        (tmp_path / "canonry.toml").write_bytes(toml)
    said = canonry(*args, **variables)
    assert said.status == 2
    line = one_line(said)
    assert line.startswith("canonry: ")
    assert expected in line
    assert said.out == ""


@pytest.mark.parametrize("args", [("run", "."), ("topics", "check"), ("topics", "apply"), ("worker",), ("consumer",)])
def test_a_broker_that_is_away_is_one_line_and_status_3(args: tuple[str, ...], canonry: Canonry) -> None:
    started = time.monotonic()
    said = canonry(*args, **NO_BROKER)
    assert said.status == 3
    assert "No Kafka broker answers at 127.0.0.1:1" in one_line(said)
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("args", [("status",), ("search", "x"), ("doc", "x"), ("canon", "x"), ("broker", "start")])
def test_a_data_directory_that_cannot_be_is_one_line_and_status_3(args: tuple[str, ...], canonry: Canonry) -> None:
    said = canonry(*args, CANONRY_DATA_DIR="/dev/null/x")
    assert said.status == 3
    assert "/dev/null/x" in one_line(said)


def test_what_nobody_knows_is_status_1(canonry: Canonry) -> None:
    assert canonry("doc", "contract.pdf").status == 1
    assert "'contract.pdf'" in one_line(canonry("doc", "contract.pdf"))
    assert canonry("canon", "contract.pdf").status == 1
    assert canonry("search", "anything").status == 1
    assert canonry("broker", "status").status == 1


def test_json_is_one_value(canonry: Canonry, tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "a.txt").write_text("A short note about the harvest and the weather of the valley.\n")
    for args, status in [
        (["status"], 0),
        (["search", "anything"], 1),
        (["schemas", "check"], 0),
        (["config", "show"], 0),
        (["broker", "status"], 1),
        (["broker", "stop"], 0),
        (["triage", "some"], 0),
    ]:
        said = canonry(*args, "--json")
        assert said.status == status, args
        json.loads(said.out)
        assert said.err == "", args
    doctor = canonry("doctor", "--json", **NO_BROKER)
    assert doctor.status == 3
    found = {finding["what"]: finding for finding in json.loads(doctor.out)}
    assert found["broker"]["state"] == "missing"
    assert found["broker"]["remedy"]
    assert doctor.err == ""
    status = json.loads(canonry("status", "--json", **NO_BROKER).out)
    assert "127.0.0.1:1" in status["broker"]["error"]


def test_secrets_are_hidden(canonry: Canonry, tmp_path: Path) -> None:
    secrets = {
        "CANONRY_KAFKA__SASL_PASSWORD": "hunter-two",
        "CANONRY_BLOBS__SECRET_KEY": "hunter-three",
        "CANONRY_BLOBS__ACCESS_KEY": "hunter-four",
        "CANONRY_CATALOG_URL": "postgresql://me:hunter-five@db/canonry",
    }
    for args in (["config", "show"], ["config", "show", "--json"]):
        said = canonry(*args, **secrets)
        assert said.status == 0
        assert "hunter" not in said.out
        assert "db/canonry" in said.out
    (tmp_path / "canonry.toml").write_text('[kafka]\nsasl_password = "hunter"\ncolour = 1\n')
    assert "hunter" not in canonry("config", "show").err
    (tmp_path / "canonry.toml").write_text('[blobs]\nsecret_key = 17171717\nkind = "s3"\n')
    assert "17171717" not in canonry("config", "show").err


def test_config_show_names_variables_that_work(canonry: Canonry) -> None:
    rows = canonry("config", "show").out
    assert "CANONRY_WORKER__JOB_TIMEOUT_S" in rows
    assert (
        json.loads(canonry("config", "show", "--json", CANONRY_WORKER__JOB_TIMEOUT_S="7").out)["worker"][
            "job_timeout_s"
        ]
        == 7.0
    )
