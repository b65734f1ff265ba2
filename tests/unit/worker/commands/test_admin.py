"""The commands of the installer: safe to repeat, and one line of JSON that says whether anything changed."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.domain.images import DefaultImage
from cluster.domain.states import JobState, UnitKind
from cluster.services.context import Cluster
from cluster.services.images.default_images import read_default_image
from cluster.store.nodes import Node
from tests.builders import a_job, a_node, a_training, a_workspace, an_administrator, holding
from tests.machine.service_variables import service_variables
from worker.commands import admin
from worker.commands.admin import main

Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def run(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, what it answered, what it said on stderr."""
    settings = light_cluster.settings
    for name, value in service_variables(settings).items():
        monkeypatch.setenv(name, value)

    def command(*words: str, said: str = "") -> tuple[int, Any, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
        code = main(list(words))
        printed = capsys.readouterr()
        return code, json.loads(printed.out.splitlines()[-1]) if code == 0 else None, printed.err

    return command


def test_the_version_is_installed_once(run: Run) -> None:
    code, first, _ = run("version")
    assert code == 0 and first["changed"] and not first["database"]["changed"]
    assert Path(first["runtime"]["path"]).is_dir()
    assert run("version")[1]["changed"] is False


def test_the_first_administrator_gets_a_secret_until_there_is_one(light_cluster: Cluster, run: Run) -> None:
    assert run("first-administrator", "--known")[1] == {"changed": False, "needed": True, "secret": None}
    first, second = run("first-administrator")[1], run("first-administrator")[1]
    assert first["changed"] and first["secret"] and second["secret"] != first["secret"]
    an_administrator(light_cluster)
    assert run("first-administrator")[1] == {"changed": False, "needed": False, "secret": None}


def test_a_nodes_token_stays_while_it_is_good(run: Run) -> None:
    made = run("node-token", "gpu02")[1]
    assert made["changed"] and made["token"]
    kept = {"changed": False, "token": None}
    assert run("node-token", "gpu02", said=made["token"] + "\n")[1] == kept
    assert run("node-token", "gpu03", said=made["token"])[1]["changed"], "it is another node's"
    assert run("forget-node", "gpu02")[1] == {"changed": True}
    assert run("forget-node", "gpu02")[1] == {"changed": False}
    assert run("node-token", "gpu02", said=made["token"])[1]["changed"], "it was revoked"


def test_a_removed_host_is_forgotten_unless_it_answers(light_cluster: Cluster, run: Run) -> None:
    node = a_node(light_cluster, 2, name="gpu05")
    with light_cluster.store.write() as session:
        session.get_one(Node, node.id).heartbeat_at = datetime.now(UTC)
    code, _, told = run("forget-node", "gpu05")
    assert code == 1 and "Drain it first" in told
    assert run("forget-node", "--stopped", "gpu05")[1] == {"changed": True}
    assert run("forget-node", "--stopped", "gpu05")[1] == {"changed": False}


def test_a_stopped_host_with_a_job_loses_its_token_alone(light_cluster: Cluster, run: Run) -> None:
    node = a_node(light_cluster, 2, name="gpu06")
    run("node-token", "gpu06")
    job = a_job(light_cluster, a_training(light_cluster, a_workspace(light_cluster)), state=JobState.RUNNING)
    holding(light_cluster, job, node.units[:1])
    assert run("forget-node", "--stopped", "gpu06")[1] == {"changed": True}
    with light_cluster.store.read() as session:
        assert session.get_one(Node, node.id).forgotten_at is None


def test_a_host_is_drained_for_its_reboot_and_opened_again(light_cluster: Cluster, run: Run) -> None:
    node = a_node(light_cluster, 2, name="gpu02")

    def is_draining() -> bool:
        with light_cluster.store.read() as session:
            return session.get_one(Node, node.id).draining_since is not None

    states = []
    for verb in ("drain", "drain", "undrain", "undrain"):
        answer = run(verb, "gpu02")[1]
        states.append((answer["changed"], is_draining()))
    assert states == [(True, True), (False, True), (True, False), (False, False)]


def test_certificates_are_made_once_for_their_names(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    folder = str(tmp_path / "tls")
    assert run("certificates", "--folder", folder, "lab.example", "10.0.0.1")[1] == {"changed": True}
    assert run("certificates", "--folder", folder)[1] == {"changed": False}
    assert run("certificates", "--folder", folder, "other.example")[1] == {"changed": True}


def test_the_training_environment_is_asked_for_once(run: Run) -> None:
    first, second = run("environment")[1], run("environment")[1]
    assert first["changed"] and first["state"] == second["state"] == "building"


def test_what_is_refused_is_said_with_what_to_do(light_cluster: Cluster, run: Run) -> None:
    node = a_node(light_cluster, 2, name="gpu02")
    training = a_training(light_cluster, a_workspace(light_cluster, units=2))
    job = a_job(light_cluster, training, units=1, state=JobState.RUNNING)
    holding(light_cluster, job, node.units[:1])
    code, answer, said = run("drain", "gpu02", "--at-most", "0")
    assert (code, answer) == (1, None) and "gpu02" in said


def test_the_sites_images_are_recorded_once(
    light_cluster: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = DefaultImage("training", "cpu", "1", "sha256:0", 10, "debian-12", light_cluster.clock(), ())
    site = SimpleNamespace(registry=SimpleNamespace(address="master:5000"))
    monkeypatch.setattr(admin, "read_image_site", lambda file: site)
    monkeypatch.setattr(admin, "list_archives", lambda site: [(Path("cpu.tar"), image)])
    assert [run("images")[1] for _ in range(2)] == [{"changed": True}, {"changed": False}]
    with light_cluster.store.read() as session:
        assert read_default_image(session, UnitKind.CPU_SLOT) == "master:5000/training@sha256:0"
