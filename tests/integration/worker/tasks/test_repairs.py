"""A repair run by real Ansible on this machine: red before, green after; cancelled, killed, adopted, locked."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.backups.manifests import read_backups
from cluster.services.context import Cluster, utc_now
from cluster.services.operations import queries
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.repairs import previews
from cluster.services.repairs import repair_runs as repairs
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from tests.conftest import ANSIBLE
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import variables_for
from worker.adapters import playbooks
from worker.bootstrap.paths import find_installation_paths
from worker.repairs import driver
from worker.tasks.run import run_claimed

PWN = "/tmp/groundcrew-pwn"
SLOW = """---
- name: Slow
  hosts: all
  gather_facts: false
  tasks:
    - name: Restore it into a scratch database and compare
      ansible.builtin.command:
        argv: [/bin/sleep, "600"]
      changed_when: false
"""


@dataclass(frozen=True)
class Garage:
    """An installation with a catalogue of its own that a test may change."""

    cluster: Cluster
    chief: Actor

    def ask(self, name: str) -> RepairRun:
        etag = previews.preview_repair(self.cluster, self.chief, name).etag
        reason = "{{ lookup('pipe', 'touch " + PWN + "') }}"
        return repairs.request_repair(self.cluster, self.chief, name, etag, reason, "lab-a")

    def work(self, run: RepairRun) -> RepairRun:
        run_claimed(self.cluster, run.operation_id or 0)
        return self.read(run)

    def read(self, run: RepairRun) -> RepairRun:
        return repairs.read_repair_run(self.cluster, self.chief, run.id)

    def folder(self, run: RepairRun) -> Path:
        return self.cluster.settings.state_dir / "repairs" / str(run.id)

    def variables(self) -> dict[str, str]:
        """The environment of a task worker."""
        settings = self.cluster.settings
        return variables_for(settings) | {"GROUNDCREW_ANSIBLE_DIR": str(settings.ansible_dir)}

    def make_slow(self, name: str) -> None:
        folder = self.cluster.settings.ansible_dir
        assert folder is not None
        (folder / "playbooks" / "repair" / f"{name}.yml").write_text(SLOW)


@pytest.fixture
def garage(light_cluster: Cluster, tmp_path: Path) -> Iterator[Garage]:
    catalogue = tmp_path / "ansible"
    for kind in ("repairs", "playbooks/repair"):
        (catalogue / kind).mkdir(parents=True)
        for file in (ANSIBLE / kind).glob("*.yml"):
            (catalogue / kind / file.name).write_text(file.read_text())
    settings = replace(
        light_cluster.settings, ansible_dir=catalogue, cache_dir=find_installation_paths().cache_dir
    )
    for folder in ("run", "log", "database"):
        (settings.state_dir / folder).mkdir()
    (settings.state_dir / "environment").symlink_to(sys.prefix)
    lines = [
        f"{name}={value}" for name, value in variables_for(settings).items() if name.startswith("GROUNDCREW_")
    ]
    (settings.state_dir / "groundcrew.env").write_text("\n".join(lines) + "\n")
    cluster = replace(light_cluster, settings=settings, clock=utc_now)
    a_node(cluster, 2, name="lab-a")
    garage = Garage(cluster, actor_of(an_administrator(cluster)))
    yield garage
    for run in repairs.list_repair_runs(cluster, garage.chief):
        playbooks.kill_run_processes(garage.folder(run))


def at_work(garage: Garage, run: RepairRun) -> threading.Thread:
    """The task worker's part in a thread, once its playbook has begun."""
    thread = threading.Thread(target=garage.work, args=(run,))
    thread.start()
    until(lambda: sleeping(garage.folder(run)), 60, "the playbook at work")
    return thread


def sleeping(folder: Path) -> list[int]:
    return [pid for pid in playbooks.list_run_processes(folder) if is_sleep(pid)]


def runner_of(folder: Path) -> int:
    """The process that holds the run's locks."""
    (pid,) = [pid for pid in playbooks.list_run_processes(folder) if is_runner(pid)]
    return pid


def is_runner(pid: int) -> bool:
    """Ansible's short-lived processes end while they are looked through."""
    try:
        return str(playbooks.PROGRAM) in psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return False


def is_sleep(pid: int) -> bool:
    try:
        return psutil.Process(pid).name() == "sleep"
    except psutil.NoSuchProcess:
        return False


def test_a_backup_is_made_restored_and_counted_by_one_click(garage: Garage) -> None:
    Path(PWN).unlink(missing_ok=True)
    run = garage.work(garage.ask("back-up-now"))
    assert run.verdict is RepairVerdict.VERIFIED, (
        run.checks,
        run.tasks,
        run.operation and run.operation.error_data,
    )
    assert [check["is_ok"] for check in run.before] == [False, False]
    assert [task["hosts"] for task in run.tasks] == [
        {"lab-a": "ok"},
        {"lab-a": "changed"},
        {"lab-a": "changed"},
    ]
    (backup,) = read_backups(garage.cluster.settings.backups)
    assert backup.restored_at is not None and backup.rows["repair_runs"] == 1
    assert not Path(PWN).exists()
    assert playbooks.list_run_processes(garage.folder(run)) == []
    assert "[WARNING]" not in playbooks.log_file(garage.folder(run)).read_text()


@pytest.mark.long
def test_the_checks_decide_although_every_task_says_ok(
    garage: Garage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "verification_seconds", lambda entry: 0.0)
    folder = garage.cluster.settings.ansible_dir
    assert folder is not None
    lying = SLOW.replace("/bin/sleep", "/bin/true")
    (folder / "playbooks" / "repair" / "verify-backup.yml").write_text(lying)
    run = garage.ask("verify-backup")
    worked = garage.work(run)
    assert (worked.playbook_rc, worked.verdict) == (0, RepairVerdict.NOT_VERIFIED)


@pytest.mark.long
def test_cancelling_leaves_no_process_behind(garage: Garage) -> None:
    garage.make_slow("verify-backup")
    run = garage.ask("verify-backup")
    thread = at_work(garage, run)
    repairs.cancel_repair(garage.cluster, garage.chief, run.id)
    thread.join(60)
    assert not thread.is_alive()
    assert garage.read(run).verdict is RepairVerdict.CANCELLED
    assert playbooks.list_run_processes(garage.folder(run)) == []


def test_a_killed_runner_is_named_and_what_it_left_is_ended(garage: Garage) -> None:
    garage.make_slow("verify-backup")
    run = garage.ask("verify-backup")
    thread = at_work(garage, run)
    os.kill(runner_of(garage.folder(run)), signal.SIGKILL)
    thread.join(60)
    found = garage.read(run)
    assert (found.verdict, found.operation and found.operation.error_code) == (
        RepairVerdict.BROKEN,
        "repair.vanished",
    )
    assert playbooks.list_run_processes(garage.folder(run)) == []


@pytest.mark.long
def test_what_is_ended_by_force_counts_as_cancelled(garage: Garage) -> None:
    garage.make_slow("verify-backup")
    run = garage.ask("verify-backup")
    thread = at_work(garage, run)
    for _ in range(2):
        repairs.cancel_repair(garage.cluster, garage.chief, run.id)
    thread.join(60)
    assert not thread.is_alive()
    assert garage.read(run).verdict is RepairVerdict.CANCELLED
    assert playbooks.list_run_processes(garage.folder(run)) == []


def test_a_changed_playbook_does_not_run(garage: Garage) -> None:
    run = garage.ask("verify-backup")
    garage.make_slow("verify-backup")
    found = garage.work(run)
    assert (found.verdict, found.operation and found.operation.error_code) == (
        RepairVerdict.BROKEN,
        "repair.files_changed",
    )
    assert not playbooks.has_playbook_started(garage.folder(run))


@pytest.mark.long
def test_a_killed_task_workers_run_is_watched_to_its_end_by_the_next_one(garage: Garage) -> None:
    run = garage.ask("back-up-now")
    command = [
        sys.executable,
        "-c",
        "import sys; from worker.tasks.run import run_operation as r; r(int(sys.argv[1]))",
    ]
    first = subprocess.Popen([*command, str(run.operation_id)], env=garage.variables())
    try:
        until(lambda: (garage.folder(run) / "request.json").exists(), 120, "the playbook's process")
    finally:
        first.kill()
        first.wait()
    wait_for(lambda: operations_put_back(garage, run))
    worked = garage.work(run)
    assert worked.verdict is RepairVerdict.VERIFIED, worked.checks
    assert len(read_backups(garage.cluster.settings.backups)) == 1


def operations_put_back(garage: Garage, run: RepairRun) -> bool:
    requeue_stale_operations(garage.cluster)
    operation = queries.read_operation(garage.cluster, garage.chief, run.operation_id or 0)
    return operation.state == "requested"


def wait_for(condition: Callable[[], bool]) -> None:
    until(condition, 60, "the operation put back")
