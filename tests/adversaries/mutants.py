"""Protections taken away one at a time, as they once were missing: each is a context in which a move has to be seen."""

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.domain.jobs import unix_ids
from cluster.domain.jobs.unix_ids import JobUnixIds
from cluster.files import safe_files
from cluster.services.storage import folders
from cluster.services.storage.folders import FolderRights
from cluster.settings import Settings
from tests.adversaries.missing_protections import ANY_USER, AS_ROOT
from tests.adversaries.stage import Stage
from worker.executors import attempt_folder
from worker.executors.contract import StartPlan
from worker.images import image_wheels

COPY_BY_PATH = """

def prepare_out(plan):
    out = plan["out"]
    os.mkdir(out)
    os.chmod(out, 0o700)
    os.chown(out, plan["uid"], plan["gid"])
    if plan.get("code"):
        copy_by_path(plan["code"], os.path.join(out, "work"), plan)


def copy_by_path(source, target, plan):
    os.mkdir(target, 0o700)
    for name in os.listdir(source):
        path = os.path.join(target, name)
        with open(os.path.join(source, name), "rb") as reader, open(path, "xb") as writer:
            for piece in iter(lambda: reader.read(1024 * 1024), b""):
                writer.write(piece)
        os.chmod(path, 0o600)
        os.chown(path, plan["uid"], plan["gid"])
    os.chown(target, plan["uid"], plan["gid"])
"""
"""Root copies the code by path into a folder that the job's user owns already."""
ANY_PLAN = """

def read_start_plan(folder):
    with open(os.path.join(folder, "control", "plan.json")) as file:
        return json.load(file)
"""
"""The shim obeys whatever stands there."""


def adding(file: str, text: str) -> Callable[[Path], None]:
    """To a file of what was installed for jobs: the later definition counts."""

    def spoil(runtime: Path) -> None:
        with (runtime / file).open("a") as program:
            program.write(text)

    return spoil


def nothing(patch: pytest.MonkeyPatch) -> None:
    pass


def let_services_own_attempts(patch: pytest.MonkeyPatch) -> None:
    """Folders of jobs and attempts are the services', and root takes any folder that it finds there."""

    def own_rights(settings: Settings, workspace_id: int) -> FolderRights:
        return folders.group_rights(settings, workspace_id)

    def take_any(parent: int, name: str, mode: int | None = None, owner: tuple[int, int] = (-1, -1)) -> int:
        return safe_files.ensure_folder(parent, name, 0o700 if mode is None else mode, owner)

    def owner_of(plan: StartPlan) -> tuple[int, int]:
        services, gid = plan.program.services, plan.program.gid
        return services[0] if services else -1, -1 if gid is None else gid

    patch.setattr(folders, "root_folder_rights", own_rights)
    patch.setattr(folders, "make_jobs_folder", make_jobs)
    patch.setattr(attempt_folder, "ensure_own_folder", take_any)
    patch.setattr(attempt_folder, "passing_owner", owner_of)
    patch.setattr(safe_files, "check_owner", lambda descriptor, name, users: None)


def make_jobs(settings: Settings, folder: int, rights: FolderRights) -> None:
    os.close(safe_files.ensure_folder(folder, "jobs", rights.folder, rights.owner))


def let_any_number_be_a_user(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(unix_ids, "check_id_in_range", lambda field, code, number, base: number)
    assert JobUnixIds(1000, 1000).uid_of(-1000) == 0


def hand_over_by_path(patch: pytest.MonkeyPatch) -> None:
    """Root gives datasets away by path, and follows what it finds there."""

    def hand_over_datasets(settings: Settings, folder: int, rights: FolderRights) -> None:
        for dataset in Path(os.readlink(f"/proc/self/fd/{folder}"), "datasets").iterdir():
            if dataset.is_dir() and dataset.stat().st_gid != rights.owner[1]:
                hand_tree(dataset, rights)

    patch.setattr(folders, "hand_over_datasets", hand_over_datasets)


def hand_tree(folder: Path, rights: FolderRights) -> None:
    for root, names, files in os.walk(folder, topdown=False):
        for name in names + files:
            path = Path(root, name)
            if not path.is_symlink():
                os.chown(path, *rights.owner)
                path.chmod(0o2750 if stat.S_ISDIR(path.stat().st_mode) else 0o640)
    os.chown(folder, *rights.owner)


def build_where_services_write(patch: pytest.MonkeyPatch) -> None:
    """The folder of images lies in the services' cache, and root does not ask whose it is."""
    patch.setattr(Stage, "images", property(lambda stage: stage.settings.cache_dir / "images"))
    patch.setattr(safe_files, "find_replaceable_part", lambda path: None)


def take_packages_by_path(patch: pytest.MonkeyPatch) -> None:
    def take_known(known: Path, files: Path) -> None:
        for wheel in known.glob("wheels-*/*.whl"):
            if wheel.is_file():
                shutil.copy(wheel, files / wheel.name)

    patch.setattr(image_wheels, "copy_cached_wheels", take_known)
    patch.setattr(image_wheels, "delete_unpinned_files", lambda files, sums: None)


def take_what_nobody_has_pinned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(image_wheels, "delete_unpinned_files", lambda files, sums: None)


@dataclass(frozen=True)
class Mutant:
    """`move` of `adversary` has to be seen as `seen`, at the latest in one of so many tries."""

    name: str
    adversary: str
    move: str
    seen: str
    patch: Callable[[pytest.MonkeyPatch], None] = nothing
    spoil: Callable[[Path], None] | None = None
    tries: int = 1

    def __str__(self) -> str:
        return self.name


MUTANTS = [
    Mutant(
        "code_is_copied_as_root_into_the_jobs_folder",
        "job",
        "working_folder_becomes_a_link_within_a_file",
        "root-only",
        spoil=adding("shim_program.py", COPY_BY_PATH),
        tries=8,
    ),
    Mutant(
        "a_plan_of_the_services_is_obeyed",
        "service",
        "plan_is_ours",
        "ran: a program as 0",
        patch=let_services_own_attempts,
        spoil=adding("shim_plan.py", ANY_PLAN),
        tries=8,
    ),
    Mutant(
        "any_number_of_a_row_is_a_user",
        "service",
        "user_is_root",
        "ran: a program as 0",
        patch=let_any_number_be_a_user,
        spoil=adding("shim_plan.py", ANY_USER),
    ),
    Mutant(
        "datasets_are_given_away_by_path",
        "service",
        "dataset_is_a_link",
        "root-only",
        patch=hand_over_by_path,
    ),
    Mutant(
        "code_is_read_with_the_rights_of_root",
        "service",
        "code_is_a_link",
        "copied: a secret stands in",
        spoil=adding("shim_program.py", AS_ROOT),
    ),
    Mutant(
        "images_are_built_where_services_write",
        "service",
        "images_are_a_link",
        "root-only",
        patch=build_where_services_write,
    ),
    Mutant(
        "packages_of_an_image_are_taken_by_path",
        "service",
        "packages_of_an_image_are_links",
        "copied: a secret stands in",
        patch=take_packages_by_path,
    ),
    Mutant(
        "whatever_lies_beside_packages_is_compiled",
        "service",
        "sources_of_an_image_are_ours",
        "which nobody has pinned",
        patch=take_what_nobody_has_pinned,
    ),
]
