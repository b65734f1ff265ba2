"""The attempt's folder for containers: `control` and `out` belong to the job's user, for its shim runs as that."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worker.executors.attempt_folder import make_folders
from worker.executors.contract import StartPlan
from worker.inside import shim_files

NOTHING: Mapping[str, Any] = {}
FORESTALLED: dict[str, Any] = {"forestalled": True}


def prepare(plan: StartPlan, user: tuple[int, int], more: Mapping[str, Any] = NOTHING) -> None:
    """Safe to repeat and to interrupt: the plan is written once, before the folder is the job's; `more` is its own.

    Afterwards nothing of ours is written there any more, because a stranger may have left links in it.
    """
    make_folders(plan)
    (plan.folder / "out").mkdir(exist_ok=True)
    give_folder(plan, plan.folder / "out", user)
    if not (plan.folder / "control").exists():
        give_control(plan, user, more)


def give_control(plan: StartPlan, user: tuple[int, int], more: Mapping[str, Any]) -> None:
    unfinished = name_for_now(plan, "control")
    unfinished.mkdir(mode=0o700)
    # The shim has the job's user already and could take no other.
    content = plan.to_json() | {
        "uid": None,
        "gid": None,
        "out_is_ready": True,
        "container": plan.image,
        **more,
    }
    shim_files.write_whole(str(unfinished / "plan.json"), content)
    os.chown(unfinished / "plan.json", *user)
    give_folder(plan, unfinished, user)
    try:
        unfinished.rename(plan.folder / "control")
    except OSError:
        shutil.rmtree(unfinished)
        if not (plan.folder / "control").exists():
            raise


def give_code(plan: StartPlan, source: Path, user: tuple[int, int]) -> None:
    """The program's private copy, where several pods begin side by side; once, before any of them is there."""
    work = plan.out / "work"
    if work.exists():
        return
    unfinished = name_for_now(plan, "work")
    shutil.copytree(source, unfinished, ignore=list_strange)
    for path in (unfinished, *unfinished.rglob("*")):
        path.chmod(0o700 if path.is_dir() or os.access(path, os.X_OK) else 0o600)
        os.chown(path, *user)
    try:
        unfinished.rename(work)
    except OSError:
        shutil.rmtree(unfinished)
        if not work.exists():
            raise


def list_strange(folder: str, names: list[str]) -> set[str]:
    """What is neither a folder nor a plain file: a link would be followed with our rights."""
    modes = {name: Path(folder, name).lstat().st_mode for name in names}
    return {name for name, mode in modes.items() if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode))}


def give_file(plan: StartPlan, name: str, text: str) -> None:
    """For everybody in the pod to read; whole or not at all."""
    if (plan.folder / name).exists():
        return
    unfinished = name_for_now(plan, name)
    unfinished.write_text(text)
    unfinished.chmod(0o644)
    unfinished.rename(plan.folder / name)


def name_for_now(plan: StartPlan, name: str) -> Path:
    """Nobody else's: two threads of a scheduler that lost its lease for a moment may prepare the same attempt."""
    return plan.folder / f"{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"


def give_folder(plan: StartPlan, folder: Path, user: tuple[int, int]) -> None:
    """To the job's user; services that are not root read what lands in there by its group."""
    uid, gid = user
    os.chown(folder, uid, plan.services[1] if plan.services else gid)
    folder.chmod(0o2750 if plan.services else 0o700)


def forestall(folder: Path) -> bool:
    """False where a shim was faster."""
    control = folder / "control"
    control.mkdir(parents=True, exist_ok=True)
    return (
        shim_files.create_once(str(control / "started"), FORESTALLED) or read_started(folder) is FORESTALLED
    )


def read_started(folder: Path) -> dict[str, Any] | None:
    """What the shim wrote when it began; FORESTALLED itself where that was made impossible.

    The program may have put anything in its place since: that there is something says that it has begun.
    """
    started = shim_files.read_created(str(folder / "control"), "started")
    if started is None:
        return {} if os.path.lexists(folder / "control" / "started") else None
    return FORESTALLED if started.get("forestalled") else started
