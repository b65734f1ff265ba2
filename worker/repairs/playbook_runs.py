"""Starts, cancels and deletes the playbook runs of a repair: on this machine, or through the repair broker on
servers."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import structlog

from cluster.domain.errors import Unavailable
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.files.atomic import write_atomically
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry, playbook_file
from cluster.store.repairs import RepairRun
from worker.adapters import ansible_environment, installed_playbooks, playbooks
from worker.bootstrap.virtual_environments import is_built, virtual_environment_path
from worker.repairs.broker_protocol import PROBE_TIMEOUT, BrokerRequest, ask_broker, probe_variables

log = structlog.get_logger()
LOG_MODE = 0o640


def repair_run_folder(cluster: Cluster, run: RepairRun) -> Path:
    return cluster.settings.state_dir / "repairs" / run.number


@external_call("repairs.forget_other_life")
def remove_stale_run_folder(folder: Path) -> None:
    """Deletes a run's folder that exists before the run starts. It was left from the time before a restore."""
    if folder.exists():
        with safe_files.open_folder_path(folder.parent) as parent:
            safe_files.remove_tree(parent, folder.name)


@external_call("ansible.build")
def ensure_ansible(cluster: Cluster, log: Path) -> Path:
    """Returns the Python of Ansible, which is built if this machine has none; that takes a minute. Raises
    Unavailable.

    The output of a failed build is written to `log`.
    """
    named = cluster.settings.ansible_programs
    if named is not None:
        return ansible_environment.check_ansible(named).parent / "python"
    known = virtual_environment_path(
        cluster.settings.cache_dir, "ansible", playbooks.CLONE / "requirements" / "ansible.txt"
    )
    if is_built(known):
        return known / "bin" / "python"
    command = ["/usr/bin/python3", "-B", "-m", "worker.bootstrap", "ansible", "--path"]
    done = subprocess.run(
        command, cwd=playbooks.CLONE, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode != 0 or not said:
        with safe_files.open_folder_path(log.parent) as logs:
            safe_files.replace_file(logs, log.name, ("\n".join(said) + "\n").encode(), LOG_MODE)
        raise Unavailable("repair.no_ansible", line=said[-1][:300] if said else "")
    return Path(done.stdout.splitlines()[-1]) / "python"


def check_unchanged(cluster: Cluster, entry: CatalogueEntry, run: RepairRun) -> None:
    """Checks that the files are those of the preview and, on servers, those that were
    installed. Raises Unavailable.
    """
    settings = cluster.settings
    if settings.repair_broker is not None and settings.ansible_dir is not None:
        with external_call("playbooks.check"):
            installed_playbooks.check_installed_playbooks(settings.ansible_dir)
    if entry.digest != run.digest:
        raise Unavailable("repair.files_changed", name=run.name)


def start_playbook(cluster: Cluster, entry: CatalogueEntry, run: RepairRun, python: Path) -> None:
    """Raises Unavailable if the run does not begin or is refused."""
    with external_call("playbooks.begin"):
        if cluster.settings.repair_broker is not None:
            is_ahead = run.is_dry_run is True
            wanted = BrokerRequest(run.number, entry.repair, tuple(run.hosts), tuple(run.locks), is_ahead)
            ask_broker(cluster.settings.repair_broker, {"do": "run", **wanted.to_data()})
        else:
            playbooks.start_playbook_process(playbook_request_of(cluster, entry, run, python))


def start_probe(cluster: Cluster, entry: CatalogueEntry, run: RepairRun, folder: Path) -> None:
    """Raises Unavailable."""
    settings = cluster.settings
    with external_call("playbooks.look"):
        if settings.repair_broker is not None:
            wanted = BrokerRequest(folder.name, entry.repair, tuple(run.hosts), (), probe_port=settings.port)
            ask_broker(settings.repair_broker, {"do": "run", **wanted.to_data()})
        else:
            playbooks.start_playbook_process(probe_request_of(cluster, entry, run, folder))


def playbook_request_of(
    cluster: Cluster, entry: CatalogueEntry, run: RepairRun, python: Path
) -> playbooks.PlaybookRequest:
    """The request for a run on this machine, without keys. On servers the repair broker makes its own."""
    settings, folder = cluster.settings, repair_run_folder(cluster, run)
    assert settings.ansible_dir is not None
    return playbooks.PlaybookRequest(
        folder=folder,
        playbook=playbook_file(settings.ansible_dir, run.name),
        hosts=run.hosts,
        variables={
            "repair_command": str(ensure_repair_command(settings.state_dir, settings.cache_dir)),
            "repair_folder": str(folder),
            "repair_run": run.number,
        },
        python=python,
        locks=[settings.state_dir / "run" / f"repair-{target}.lock" for target in run.locks],
        is_check=run.is_dry_run,
        timeout=entry.repair.timeout,
    )


def probe_request_of(
    cluster: Cluster, entry: CatalogueEntry, run: RepairRun, folder: Path
) -> playbooks.PlaybookRequest:
    settings = cluster.settings
    assert settings.ansible_dir is not None and settings.ansible_programs is not None
    return playbooks.PlaybookRequest(
        folder=folder,
        playbook=settings.ansible_dir / "playbooks" / "look.yml",
        hosts=run.hosts,
        variables=probe_variables(entry.repair.checks, settings.port),
        python=ansible_environment.check_ansible(settings.ansible_programs).parent / "python",
        locks=[],
        timeout=PROBE_TIMEOUT,
        config=settings.ansible_dir / "repairs.cfg",
    )


@external_call("upkeep.write")
def ensure_repair_command(state: Path, cache: Path) -> Path:
    """Writes a small script that calls `python -m worker upkeep` with this installation's settings."""
    path = state / "run" / "upkeep"
    python = state / "environment" / "bin" / "python"
    lines = [
        "#!/bin/sh",
        f"cd '{playbooks.CLONE}' || exit 1",
        f"export PYTHONPATH='{playbooks.CLONE}' PYTHONPYCACHEPREFIX='{cache / 'pycache'}'",
        f"exec '{python}' -m worker upkeep '{state / 'groundcrew.env'}' \"$@\"",
    ]
    write_atomically(path, "\n".join(lines) + "\n", 0o700)
    return path


def request_end(cluster: Cluster, folder: Path, is_forced: bool) -> bool:
    """Asks the run to end. Returns False if it could not be asked: it may have ended, or the next poll asks again."""
    here = playbooks.kill_run_processes if is_forced else playbooks.request_cancel
    with external_call("playbooks.end"):
        if cluster.settings.repair_broker is None:
            here(folder)
            return True
        try:
            verb = "end" if is_forced else "cancel"
            ask_broker(cluster.settings.repair_broker, {"do": verb, "number": folder.name})
        except Unavailable as error:
            log.warning("not asked to end", code=error.code, **error.data)
            return False
        return True


def delete_run_folder_of(cluster: Cluster, folder: Path) -> None:
    """Deletes the folder. On servers the broker owns it; one that it cannot delete now is
    deleted with the next ones.
    """
    with external_call("repairs.prune"):
        if cluster.settings.repair_broker is None:
            shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            ask_broker(cluster.settings.repair_broker, {"do": "forget", "number": folder.name})
        except Unavailable as error:
            log.warning("a run's folder stays", code=error.code, **error.data)


def copy_log(folder: Path, target: Path) -> None:
    """Copies the log to the other logs of operations, in a folder of other services. The original stays."""
    source = playbooks.log_file(folder)
    if not source.exists():
        return
    with safe_files.open_folder_path(target.parent) as logs:
        if safe_files.size_at(logs, target.name) == source.stat().st_size:
            return
        with external_call("log.copy"):
            safe_files.replace_file(logs, target.name, source.read_bytes(), LOG_MODE)


RUNS_TO_KEEP = 200
"""The number of run folders that are kept. The rows of older runs stay."""


def prune_run_folders(folder: Path, forget: Callable[[Path], None], kept: int = RUNS_TO_KEEP) -> list[str]:
    """Deletes the folders of the oldest ended runs and returns their names."""
    ended = [path for path in folder.glob("*/exit.json") if path.parent.name.isdigit()]
    old = sorted(ended, key=lambda path: path.stat().st_mtime)[: -kept or None]
    for path in old:
        forget(path.parent)
    return [path.parent.name for path in old]
