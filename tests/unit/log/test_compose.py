"""docker-compose.yml as far as it can be checked without a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from streams.log.kafka_broker import KAFKA_VERSION
from streams.settings import Settings
from streams.topology import STAGES

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "docker-compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("canonry:")}


def is_setting(variable: str) -> bool:
    """Whether a CANONRY_* variable sets a field of Settings."""
    model: type[BaseModel] = Settings
    parts = variable.removeprefix("CANONRY_").lower().split("__")
    for depth, part in enumerate(parts):
        field = model.model_fields.get(part)
        if field is None:
            return False
        if depth < len(parts) - 1:
            if not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
                return False
            model = field.annotation
    return True


def test_unknown_variables_are_seen() -> None:
    assert is_setting("CANONRY_BLOBS__KIND")
    assert not is_setting("CANONRY_BLOBS__KINDS")
    assert not is_setting("CANONRY_BLOB__KIND")
    assert not is_setting("CANONRY_BROKER__KIND")


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_is_a_setting(name: str) -> None:
    variables = [key for key in SERVICES[name].get("environment", {}) if key.startswith("CANONRY_")]
    assert [key for key in variables if not is_setting(key)] == []
    assert bool(variables) == (name in OURS)


def test_settings_accept_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for key, value in OURS["ledger"]["environment"].items():
        monkeypatch.setenv(key, re.sub(r"\$\{.*\}", "secret", value))
    settings = Settings.load()
    assert (settings.broker, settings.blobs.kind, settings.blobs.secure) == ("kafka:9092", "s3", False)
    assert settings.blobs.secret_key == "secret"


def test_keys_come_from_outside() -> None:
    for name, service in SERVICES.items():
        for key, value in service.get("environment", {}).items():
            if key.endswith(("_KEY", "_KEY_ID", "PASSWORD")):
                assert re.fullmatch(r"\$\{\w+:\?.+\}", value), f"{name}: {key}"


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_pinned(name: str) -> None:
    tag = SERVICES[name]["image"].partition(":")[2]
    assert re.fullmatch(r"\d+(\.\d+)+", tag), SERVICES[name]["image"]


def test_the_image_of_the_build_is_pinned_and_not_root() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert images
    assert all(re.search(r":\d+\.\d+\.\d+", image) for image in images)
    assert [line.split()[1] for line in lines if line.startswith("USER ")][-1] not in ("root", "0")


def test_kafka_is_the_version_that_the_tests_run() -> None:
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"
    assert SERVICES["kafka"]["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


@pytest.mark.parametrize("name", SERVICES)
def test_nobody_waits_for_what_does_not_say_when_it_is_ready(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_completed_successfully":
            assert SERVICES[other]["restart"].startswith("on-failure")
        else:
            assert how["condition"] == "service_healthy"
            assert SERVICES[other]["healthcheck"]["test"]


def test_there_is_one_worker_for_each_stage_and_each_waits_for_its_topics() -> None:
    workers = {name: service for name, service in OURS.items() if service["command"][0] == "worker"}
    assert {name: service["command"][1:] for name, service in workers.items()} == {stage: [stage] for stage in STAGES}
    for service in workers.values():
        assert set(service["depends_on"]) == {"kafka", "object-store", "topics"}


def test_a_worker_gets_more_time_to_stop_than_it_takes() -> None:
    grace = int(OURS["decode"]["stop_grace_period"].removesuffix("s"))
    assert grace > Settings().worker.shutdown_s


@pytest.mark.parametrize("name", OURS)
def test_our_containers_have_no_rights_to_lose(name: str) -> None:
    service = OURS[name]
    assert service["user"].split(":")[0] not in ("", "0", "root")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["restart"]


def test_nothing_is_published_beyond_this_machine() -> None:
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_docker_compose_accepts_it() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no docker compose")
    done = subprocess.run(
        [docker, "compose", "-f", str(COMPOSE), "config", "-q"],
        env={"PATH": "/usr/bin:/bin", "CANONRY_BLOBS__ACCESS_KEY": "a", "CANONRY_BLOBS__SECRET_KEY": "b"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
