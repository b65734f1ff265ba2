"""Prepares an attempt's folder for containers: `control` and `out` belong to the job's user, as which the shim runs."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cluster.files import safe_files
from cluster.files.safe_files import Owner
from worker.executors import attempt_folder
from worker.executors.attempt_folder import CONTROL
from worker.executors.contract import StartPlan
from worker.inside import shim_files

NOTHING: Mapping[str, Any] = {}
START_PREVENTED: dict[str, Any] = {"forestalled": True}


def prepare_folders(plan: StartPlan, user: Owner, more: Mapping[str, Any] = NOTHING) -> None:
    """Prepares the folders; can be repeated and interrupted. `more` is added to the plan.

    What belongs to the job is completed under another name and then renamed. We write nothing there afterwards,
    because the job may have created links in it.
    """
    with attempt_folder.open_created(plan) as attempt:
        ensure_out_folder(plan, attempt, user)
        if not safe_files.kind_at(attempt, CONTROL):
            ensure_control_folder(plan, attempt, user, more)


def ensure_out_folder(plan: StartPlan, attempt: int, user: Owner) -> None:
    """Creates `out`. A start that was interrupted may have left one that still belongs to us."""
    try:
        out = safe_files.make_folder(attempt, plan.out.name)
    except FileExistsError:
        out = safe_files.open_folder_at(plan.out.name, attempt)
    try:
        safe_files.check_owner(out, plan.out.name, (os.geteuid(), user[0]))
        safe_files.set_owner_and_mode(out, *attempt_folder.out_folder_rights(plan, user))
    finally:
        os.close(out)


def ensure_control_folder(plan: StartPlan, attempt: int, user: Owner, more: Mapping[str, Any]) -> None:
    name = temporary_name(CONTROL)
    unfinished = safe_files.make_folder(attempt, name)
    try:
        # The shim runs as the job's user already and cannot change to another one.
        content = plan.to_json() | {
            "uid": None,
            "gid": None,
            "out_is_ready": True,
            "container": plan.container.image,
            **more,
        }
        attempt_folder.write_plan_file(unfinished, content, user)
        safe_files.set_owner_and_mode(unfinished, *attempt_folder.out_folder_rights(plan, user))
    finally:
        os.close(unfinished)
    move_unless_present(attempt, name, attempt, CONTROL)


def move_unless_present(source: int, name: str, target: int, wanted: str) -> None:
    """Renames the folder to its final name, unless another thread has created one there already."""
    try:
        safe_files.move_at(source, name, target, wanted)
    except OSError:
        safe_files.remove_tree(source, name)
        if not safe_files.kind_at(target, wanted):
            raise


def ensure_code_copy(plan: StartPlan, source: Path, user: Owner) -> None:
    """Copies the code once, before any pod starts, because the pods of a gang start at the same time.

    The copy is made beside `out`, which belongs to the job, so that the job reaches it only when it is complete.
    """
    with attempt_folder.open_created(plan) as attempt:
        out = safe_files.open_folder_at(plan.out.name, attempt)
        try:
            if not safe_files.kind_at(out, "work"):
                copy_code_tree(attempt, out, source, user)
        finally:
            os.close(out)


def copy_code_tree(attempt: int, out: int, source: Path, user: Owner) -> None:
    """Copies the code without following links, even in the path of the code's folder: a service could have put one
    there, and this process may read everything.
    """
    name = temporary_name("work")
    unfinished = safe_files.make_folder(attempt, name)
    try:
        workspace, within = source.parents[2], source.relative_to(source.parents[2]).parts
        with safe_files.open_folder_path(workspace, *within) as code:
            safe_files.copy_tree(code, unfinished, user)
        safe_files.set_owner_and_mode(unfinished, 0o700, user)
    except OSError:
        safe_files.remove_tree(attempt, name)
        raise
    finally:
        os.close(unfinished)
    move_unless_present(attempt, name, out, "work")


def ensure_shared_file(plan: StartPlan, name: str, text: str) -> None:
    """Writes, completely or not at all, a file that everybody in the pod may read."""
    with attempt_folder.open_created(plan) as attempt:
        if not safe_files.kind_at(attempt, name):
            safe_files.replace_file(attempt, name, text.encode(), 0o644)


def temporary_name(name: str) -> str:
    """A name that is unique to this call. Two threads may prepare the same attempt if a scheduler loses its lease for
    a moment.
    """
    return f"{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"


def prevent_container_start(folder: Path) -> bool:
    """Makes it impossible for a container's shim to begin. Returns False if a shim has begun already."""
    with attempt_folder.open_attempt_folder(folder) as attempt:
        if not safe_files.kind_at(attempt, CONTROL):
            os.close(safe_files.make_folder(attempt, CONTROL))
    control = folder / CONTROL
    return (
        shim_files.create_json_once(str(control / "started"), START_PREVENTED)
        or read_start_marker(folder) is START_PREVENTED
    )


def read_start_marker(folder: Path) -> dict[str, Any] | None:
    """Returns what the shim wrote when it began, or START_PREVENTED if it can no longer begin.

    The program may have replaced the file since. A file of any content shows that the attempt has begun.
    """
    started = shim_files.read_untrusted_marker(str(folder / "control"), "started")
    if started is None:
        return {} if os.path.lexists(folder / "control" / "started") else None
    return START_PREVENTED if started.get("forestalled") else started
