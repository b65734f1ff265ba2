"""Folders of old runs go, those of runs under way never; logs are copied through no link."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_runs import new_offline_run
from worker.adapters import playbooks
from worker.repairs import playbook_runs
from worker.repairs.broker_protocol import probe_variables
from worker.repairs.playbook_runs import (
    copy_log,
    probe_request_of,
    prune_run_folders,
    remove_stale_run_folder,
    request_end,
)


def test_only_the_newest_ended_runs_keep_their_folders(tmp_path: Path) -> None:
    for number in range(1, 6):
        end = tmp_path / str(number) / "exit.json"
        end.parent.mkdir()
        end.touch()
        os.utime(end, (number, number))
    (tmp_path / "6").mkdir()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "exit.json").touch()
    assert prune_run_folders(tmp_path, shutil.rmtree, kept=2) == ["1", "2", "3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4", "5", "6", "records"]
    assert prune_run_folders(tmp_path, shutil.rmtree, kept=2) == []


def test_what_a_run_before_a_restore_has_left_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts" / "log").write_text("of another run")
    remove_stale_run_folder(folder)
    assert list(tmp_path.iterdir()) == []
    remove_stale_run_folder(folder)


@pytest.mark.parametrize("kind", ["link", "second name"])
def test_the_log_of_a_run_is_copied_through_no_link(tmp_path: Path, kind: str) -> None:
    """The folder of logs belongs to other services than the one that watches repairs."""
    run, target, elsewhere = tmp_path / "run", tmp_path / "operation-1.log", tmp_path / "elsewhere"
    elsewhere.write_text("of somebody else")
    target.symlink_to(elsewhere) if kind == "link" else target.hardlink_to(elsewhere)
    source = playbooks.log_file(run)
    source.parent.mkdir(parents=True)
    source.write_text("TASK [one]\n")
    copy_log(run, target)
    assert elsewhere.read_text() == "of somebody else"
    assert target.read_text() == "TASK [one]\n" and not target.is_symlink()
    source.write_text("TASK [one]\nTASK [two]\n")
    copy_log(run, target)
    assert target.read_text() == "TASK [one]\nTASK [two]\n"


def test_a_run_on_this_machine_is_asked_to_end_in_its_folder(
    light_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[Path] = []
    monkeypatch.setattr(playbooks, "kill_run_processes", killed.append)
    assert request_end(light_cluster, tmp_path, is_forced=False)
    assert [path.name for path in tmp_path.glob("cancel")] == ["cancel"] and killed == []
    assert request_end(light_cluster, tmp_path, is_forced=True)
    assert killed == [tmp_path]


@pytest.mark.parametrize(("is_forced", "verb"), [(False, "cancel"), (True, "end")])
def test_the_broker_is_asked_to_end_a_run_on_servers(
    light_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_forced: bool, verb: str
) -> None:
    asked: list[tuple[Path, dict[str, object]]] = []
    settings = replace(light_cluster.settings, repair_broker=tmp_path / "socket")
    cluster = replace(light_cluster, settings=settings)
    monkeypatch.setattr(playbook_runs, "ask_broker", lambda door, words: asked.append((door, words)))
    assert request_end(cluster, tmp_path / "12", is_forced)
    assert asked == [(tmp_path / "socket", {"do": verb, "number": "12"})]
    monkeypatch.undo()
    assert not request_end(cluster, tmp_path / "12", is_forced), "nobody listens"


def test_a_probe_changes_nothing_and_holds_no_lock(
    light_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        playbook_runs.ansible_environment, "check_ansible", lambda folder: folder / "ansible-playbook"
    )
    settings = replace(light_cluster.settings, ansible_programs=tmp_path / "bin")
    cluster = replace(light_cluster, settings=settings)
    entry = find_catalogue_entry(cluster, "verify-access-log")
    run = new_offline_run(cluster, entry, "lab-a", "pages hang", "root")
    request = probe_request_of(cluster, entry, run, tmp_path / "probe")
    assert (request.folder, request.playbook.name) == (tmp_path / "probe", "look.yml")
    assert (request.python, list(request.hosts)) == (tmp_path / "bin" / "python", ["lab-a"])
    assert list(request.locks) == [] and request.variables == probe_variables(
        entry.repair.checks, settings.port
    )
