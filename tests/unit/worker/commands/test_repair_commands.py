"""The commands of repairs answer with one line of JSON, or with a sentence and exit code 1."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cluster.domain.states import OperationKind, OperationState
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import request_operation
from cluster.services.people.users import service_actor
from cluster.store.audit import add_audit_entry
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from tests.builders import add, an_administrator
from tests.machine.service_variables import service_variables
from worker.backups.drill import no_scratch_check
from worker.commands import repair_commands
from worker.commands.repair_commands import main

Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def run(light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, what it answered, what it said on stderr."""
    settings = light_cluster.settings
    (settings.state_dir / "database").mkdir()
    for name, value in service_variables(settings).items():
        monkeypatch.setenv(name, value)

    def command(*words: str) -> tuple[int, Any, str]:
        code = main(["-", *words])
        said = capsys.readouterr()
        return code, json.loads(said.out.splitlines()[-1]) if code == 0 else None, said.err

    return command


def test_a_backup_is_made_and_drilled(
    light_cluster: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_commands, "run_smoke_test", no_scratch_check)
    with light_cluster.store.write() as session:
        actor = service_actor(light_cluster)
        add_audit_entry(session, light_cluster.clock(), actor, "operation.retried", 1)
    code, room, _ = run("check-room")
    assert code == 0 and room["free"] > room["needed"] > 0
    code, made, _ = run("backup")
    assert (code, made["changed"]) == (0, True)
    code, proved, _ = run("prove-backup")
    assert (code, proved["name"]) == (0, made["name"])
    (backup,) = read_backups(light_cluster.settings.backups)
    assert backup.name == made["name"] and backup.restored_at is not None and backup.anchor is not None


def test_a_damaged_backup_is_said_in_a_sentence(
    light_cluster: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_commands, "run_smoke_test", no_scratch_check)
    _, made, _ = run("backup")
    with (light_cluster.settings.backups / made["name"]).open("r+b") as file:
        file.write(b"damage")
    code, answer, said = run("prove-backup")
    assert (code, answer) == (1, None) and made["name"] in said


def test_without_a_backup_there_is_nothing_to_drill(run: Run) -> None:
    code, answer, said = run("prove-backup")
    assert (code, answer) == (1, None) and said.count("\n") == 1


def test_the_audit_is_sealed_and_counted(light_cluster: Cluster, run: Run) -> None:
    for number in range(1, 4):
        with light_cluster.store.write() as session:
            actor = service_actor(light_cluster)
            add_audit_entry(session, light_cluster.clock(), actor, "operation.retried", number)
    code, answer, _ = run("verify-audit")
    assert (code, answer["changed"]) == (0, False)
    assert (answer["entries"], answer["checked"], answer["seals"]) == (3, 3, 1)


def test_operations_that_were_given_up_are_released_once(light_cluster: Cluster, run: Run) -> None:
    with light_cluster.store.write() as session:
        actor = service_actor(light_cluster)
        stuck = request_operation(session, OperationKind.BACKUP, None, actor, light_cluster.clock())
        stuck.state = OperationState.INTERRUPTED
    number = "1234567890123456"
    assert run("release-operations", number)[:2] == (0, {"changed": True, "operations": [stuck.id]})
    assert run("release-operations", number)[:2] == (0, {"changed": False, "operations": []})
    with light_cluster.store.read() as session:
        assert session.get_one(Operation, stuck.id).state is OperationState.REQUESTED


def test_only_what_a_run_listed_is_deleted(light_cluster: Cluster, run: Run) -> None:
    folder = light_cluster.settings.state_dir / "database"
    for number in range(4):
        (folder / f"before-0.1.0-{number}.db").write_bytes(b"x" * 10)
    _, listed, _ = run("list-leftovers")
    assert listed["changed"] is False and len(listed["files"]) == 2
    path, size = listed["files"][0]
    row = RepairRun(
        name="free-disk-space", target="master", host="lab-a", digest="0", reason="full",
        requested_by=an_administrator(light_cluster).id, requested_at=light_cluster.clock(),
        reclaimable_paths=[[path, size]],
    )  # fmt: skip
    add(light_cluster, row)
    assert run("delete-leftovers", str(row.id))[1] == {"changed": True, "files": 1, "bytes": 10}
    assert run("list-leftovers")[1]["files"] == listed["files"][1:]


def test_services_are_restarted_in_the_order_that_was_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarted: list[str] = []
    monkeypatch.setattr(
        repair_commands.SupervisorClient, "restart_service", lambda self, name: restarted.append(name)
    )
    answer = run("restart-services", "redis", "portal")[1]
    assert answer == {"changed": True, "names": ["redis", "portal"]} and restarted == ["redis", "portal"]


def test_another_command_is_none(run: Run) -> None:
    with pytest.raises(SystemExit):
        run("erase-everything")


def test_the_paths_are_those_of_the_settings_and_of_this_code(light_cluster: Cluster) -> None:
    paths = repair_commands.installation_paths(light_cluster)
    settings = light_cluster.settings
    assert (paths.state_dir, paths.cache_dir) == (settings.state_dir, settings.cache_dir)
    assert (paths.clone / "worker" / "commands" / "repair_commands.py").samefile(repair_commands.__file__)
