"""Build an environment from a requirements file: resolve and pin, install, try, take over."""

import os
from pathlib import Path

from cluster.domain.environments.requirements import parse_requirements
from cluster.domain.errors import Refused
from cluster.domain.jobs.unix_ids import UnixIds
from cluster.files import safe_files
from worker.environments.build_lock import disk_full_as_no_space, hold_build_lock
from worker.environments.build_steps import ProgressCallback
from worker.environments.command_runner import CommandRunner
from worker.environments.from_requirements.confinement import ConfinedCommands
from worker.environments.from_requirements.interpreters import find_interpreter
from worker.environments.from_requirements.orders import BuildRules, BuiltEnvironment, EnvironmentOrder
from worker.environments.from_requirements.uv_build import RequirementsBuild
from worker.environments.wheels import sync_filesystem


def build_from_requirements(
    order: EnvironmentOrder, rules: BuildRules, report: ProgressCallback, *, uv: Path, log: Path
) -> BuiltEnvironment:
    """Builds beside `order.target` and renames at the end; an existing target is replaced. Raises Refused and
    BuildFailed with the reason, or whatever `report` raised.
    """
    lines = parse_requirements(order.requirements)
    python, version = find_interpreter(order.python)
    if order.builds_sources and rules.ids is None:
        # Without root the build scripts would have the rights of the services.
        raise Refused("builds_sources", "environment.sources_need_root")
    if order.base is not None and not order.base.is_dir():
        raise Refused("base", "environment.base_gone", folder=str(order.base))
    home = order.target.parent
    home.mkdir(mode=0o711, parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with hold_build_lock(home, report) as mark, disk_full_as_no_space(home, log):
        folder = order.target.with_name(f"{order.target.name}.building")
        make_build_folder(folder, rules.ids)
        try:
            confined = ConfinedCommands(
                folder=folder,
                commands=CommandRunner(log, mark, tuple(rules.source.secrets)),
                limits=rules.limits,
                ids=rules.ids,
                hidden=rules.hidden,
                shown=[path for path in (uv.parent, *rules.source.folders, order.base) if path is not None],
                check_room=rules.check_room,
            )
            build = RequirementsBuild(order, rules, lines, python, version, uv, confined, report)
            built = build.run()
            put_in_place(folder, order.target)
            return built
        finally:
            with safe_files.open_folder_path(home) as parent:
                safe_files.remove_tree(parent, folder.name)


def make_build_folder(folder: Path, ids: UnixIds | None) -> None:
    with safe_files.open_folder_path(folder.parent) as parent:
        safe_files.remove_tree(parent, folder.name)
        owner = (ids.uid, ids.gid) if ids else (-1, -1)
        made = safe_files.ensure_folder(parent, folder.name, 0o755, owner)
        for name in ("tmp", "cache"):
            os.close(safe_files.ensure_folder(made, name, 0o755, owner))
        os.close(made)


def put_in_place(folder: Path, target: Path) -> None:
    sync_filesystem(folder)
    with safe_files.open_folder_path(target.parent) as parent:
        safe_files.remove_tree(parent, target.name)
        with safe_files.open_folder_path(folder) as built:
            safe_files.move_at(built, "environment", parent, target.name)
    sync_filesystem(target.parent)


def remove_environment(target: Path) -> None:
    """Removes the files of an environment that nobody uses any more. Does nothing if there are none.

    The unfinished folder is removed first, because a cancelled build that has not noticed yet could rename it in
    between.
    """
    if not target.parent.is_dir():
        return
    with safe_files.open_folder_path(target.parent) as parent:
        for name in (f"{target.name}.building", target.name):
            safe_files.remove_tree(parent, name)
