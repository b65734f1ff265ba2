"""How the process of a repair is begun, told to end and forgotten: here, or behind the door of servers."""

import shutil
from pathlib import Path

import structlog

from cluster.crash_points import outside
from cluster.domain.errors import Unavailable
from cluster.domain.repair_requests import LOOK_WITHIN, Wanted, look_variables
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import Entry, playbook_file
from cluster.store.repairs import RepairRun
from worker.adapters import door, playbooks
from worker.adapters.ansible_environment import check_ansible
from worker.adapters.playbooks import CLONE, Play

log = structlog.get_logger()


def run_folder(cluster: Cluster, run: RepairRun) -> Path:
    return cluster.settings.state_dir / "repairs" / run.number


def begin(cluster: Cluster, entry: Entry, run: RepairRun, python: Path) -> None:
    """Raises Unavailable where the run does not begin, or is refused."""
    with outside("playbooks.begin"):
        if cluster.settings.repair_door is not None:
            is_ahead = run.is_look_ahead is True
            wanted = Wanted(run.number, entry.repair, tuple(run.hosts), tuple(run.locks), is_ahead)
            door.ask(cluster.settings.repair_door, {"do": "run", **wanted.to_data()})
        else:
            playbooks.begin(play_of(cluster, entry, run, python))


def begin_look(cluster: Cluster, entry: Entry, run: RepairRun, folder: Path) -> None:
    """Raises Unavailable."""
    settings = cluster.settings
    with outside("playbooks.look"):
        if settings.repair_door is not None:
            wanted = Wanted(folder.name, entry.repair, tuple(run.hosts), (), looks_at_port=settings.port)
            door.ask(settings.repair_door, {"do": "run", **wanted.to_data()})
        else:
            playbooks.begin(look_of(cluster, entry, run, folder))


def play_of(cluster: Cluster, entry: Entry, run: RepairRun, python: Path) -> Play:
    """On this machine, without keys; on servers the unit behind the door makes its own."""
    settings, folder = cluster.settings, run_folder(cluster, run)
    assert settings.ansible_dir is not None
    return Play(
        folder=folder,
        playbook=playbook_file(settings.ansible_dir, run.name),
        hosts=run.hosts,
        variables={
            "repair_command": str(upkeep_command(settings.state_dir, settings.cache_dir)),
            "repair_folder": str(folder),
            "repair_run": run.number,
        },
        python=python,
        locks=[settings.state_dir / "run" / f"repair-{target}.lock" for target in run.locks],
        is_check=run.is_look_ahead,
        timeout=entry.repair.timeout,
    )


def look_of(cluster: Cluster, entry: Entry, run: RepairRun, folder: Path) -> Play:
    settings = cluster.settings
    assert settings.ansible_dir is not None and settings.ansible_programs is not None
    return Play(
        folder=folder,
        playbook=settings.ansible_dir / "playbooks" / "look.yml",
        hosts=run.hosts,
        variables=look_variables(entry.repair.checks, settings.port),
        python=check_ansible(settings.ansible_programs).parent / "python",
        locks=[],
        timeout=LOOK_WITHIN,
        config=settings.ansible_dir / "repairs.cfg",
    )


@outside("upkeep.write")
def upkeep_command(state: Path, cache: Path) -> Path:
    """A small script that calls `python -m worker upkeep` with this installation's settings."""
    path = state / "run" / "upkeep"
    python = state / "environment" / "bin" / "python"
    lines = [
        "#!/bin/sh",
        f"cd '{CLONE}' || exit 1",
        f"export PYTHONPATH='{CLONE}' PYTHONPYCACHEPREFIX='{cache / 'pycache'}'",
        f"exec '{python}' -m worker upkeep '{state / 'groundcrew.env'}' \"$@\"",
    ]
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text("\n".join(lines) + "\n")
    unfinished.chmod(0o700)
    unfinished.rename(path)
    return path


def ask_to_end(cluster: Cluster, folder: Path, is_forced: bool) -> bool:
    """False where it could not be asked: it may have ended, or the next look asks again."""
    here = playbooks.end_strays if is_forced else playbooks.cancel
    with outside("playbooks.end"):
        if cluster.settings.repair_door is None:
            here(folder)
            return True
        try:
            verb = "end" if is_forced else "cancel"
            door.ask(cluster.settings.repair_door, {"do": verb, "number": folder.name})
        except Unavailable as error:
            log.warning("not asked to end", code=error.code, **error.data)
            return False
        return True


def forget(cluster: Cluster, folder: Path) -> None:
    """On servers it is the run's own; one that cannot be let go of now goes with the next ones."""
    with outside("repairs.prune"):
        if cluster.settings.repair_door is None:
            shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            door.ask(cluster.settings.repair_door, {"do": "forget", "number": folder.name})
        except Unavailable as error:
            log.warning("a run's folder stays", code=error.code, **error.data)
