"""The folders of workspaces, jobs, datasets and code on the shared storage, with the owner and mode that each needs."""

import os
import pwd
import time
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import Unavailable
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.files.safe_files import Owner, UnsafeFile
from cluster.settings import Settings
from cluster.store.datasets import Dataset

IS_ROOT = os.geteuid() == 0
WORKSPACES, INCOMING, WHEELS = "workspaces", "incoming", "wheels"
SERVICE_FOLDERS = ("code", "datasets")
"""The folders in a workspace's folder that services write. `jobs` belongs to root."""
TAKEN_OVER, BEING_TAKEN_OVER = 0o751, 0o1751
"""The modes of `jobs` on servers. It has the sticky bit until all its contents belong to root, which shows an
interruption.
"""
UPLOAD_PREFIX = "upload-"
"""The prefix of unfinished uploads. A finished one is named after its dataset or its code."""
WAIT_SECONDS, PAUSE_SECONDS = 3.0, 0.05
"""Seconds that a service waits for a folder that only root may make. The scheduler makes it within moments."""


@dataclass(frozen=True)
class FolderRights:
    """Owner and modes. -1 leaves an owner as it is."""

    owner: Owner
    folder: int
    file: int


def workspace_folder(settings: Settings, workspace_id: int) -> Path:
    return settings.storage_dir / WORKSPACES / str(workspace_id)


def service_ids(settings: Settings) -> tuple[int, int] | None:
    """The uid and gid of services that are not root. None if all services have one user.

    Raises KeyError for a user that this machine does not have.
    """
    if not settings.service_user:
        return None
    user = pwd.getpwnam(settings.service_user)
    return user.pw_uid, user.pw_gid


def parent_rights(settings: Settings) -> FolderRights:
    """Owner and modes of the folders above the workspaces. Everybody may enter them, and services that are not root
    may list them.
    """
    ids = service_ids(settings) if IS_ROOT else None
    return FolderRights((0, ids[1]), 0o751, 0o640) if ids else FolderRights((-1, -1), 0o711, 0o640)


def root_folder_rights(settings: Settings, workspace_id: int) -> FolderRights:
    """The rights of a workspace's folder and of `jobs`. Only root writes there, and their contents are only ids."""
    ids = service_ids(settings) if IS_ROOT else None
    return FolderRights((0, ids[1]), TAKEN_OVER, 0o640) if ids else group_rights(settings, workspace_id)


def group_rights(settings: Settings, workspace_id: int) -> FolderRights:
    """The rights of folders that services write and the workspace's group may read. Without root the portal's user
    owns everything.

    If services are not root, a folder passes its group on to their files.
    """
    if not IS_ROOT:
        return FolderRights((-1, -1), 0o750, 0o640)
    ids, group = service_ids(settings), settings.job_ids.gid_of(workspace_id)
    return FolderRights((ids[0], group), 0o2750, 0o640) if ids else FolderRights((0, group), 0o750, 0o640)


def ensure_workspace_folder(settings: Settings, workspace_id: int) -> Path:
    """Ensures a folder that only the workspace's group may read. Jobs of other workspaces cannot even list it.

    If services are not root, only root makes it and a service waits a moment. Raises Unavailable, Refused for a
    workspace whose gid is not ours, and OSError, whose subclass UnsafeFile means that the path is something else.
    """
    if settings.service_user and not IS_ROOT:
        return wait_for_folder(settings, workspace_id)
    return make_workspace_folder(settings, workspace_id)


@external_call("storage.make_workspace_folder")
def make_workspace_folder(settings: Settings, workspace_id: int) -> Path:
    given, own = group_rights(settings, workspace_id), root_folder_rights(settings, workspace_id)
    ensure_storage(settings)
    with safe_files.open_folder_path(settings.storage_dir, WORKSPACES) as workspaces:
        folder = safe_files.ensure_folder(workspaces, str(workspace_id), own.folder, own.owner)
        try:
            make_jobs_folder(settings, folder, own)
            for name in SERVICE_FOLDERS:
                os.close(safe_files.ensure_folder(folder, name, given.folder, given.owner))
            if IS_ROOT and settings.service_user:
                hand_over_datasets(settings, folder, given)
        finally:
            os.close(folder)
    return workspace_folder(settings, workspace_id)


def ensure_storage(settings: Settings) -> None:
    """Ensures the folders above the workspaces and the folder of uploads. On servers the services owned them in older
    versions.
    """
    rights = parent_rights(settings)
    settings.storage_dir.mkdir(parents=True, exist_ok=True)
    with safe_files.open_folder_path(settings.storage_dir) as storage:
        safe_files.set_owner_and_mode(storage, rights.folder, rights.owner)
        os.close(safe_files.ensure_folder(storage, WORKSPACES, rights.folder, rights.owner))
        ids = service_ids(settings) if IS_ROOT else None
        if ids:
            os.close(safe_files.ensure_folder(storage, INCOMING, 0o700, ids))
            os.close(safe_files.ensure_folder(storage, WHEELS, 0o755, ids))


def make_jobs_folder(settings: Settings, folder: int, rights: FolderRights) -> None:
    """Creates `jobs`; if an earlier version left its folders to the services' user, root takes them over first."""
    try:
        jobs = safe_files.open_folder_at("jobs", folder)
    except FileNotFoundError:
        jobs = safe_files.ensure_folder(folder, "jobs", rights.folder, rights.owner)
    try:
        ids = service_ids(settings) if IS_ROOT else None
        status = os.fstat(jobs)
        if ids and (status.st_uid != 0 or status.st_mode & 0o7777 == BEING_TAKEN_OVER):
            safe_files.set_owner_and_mode(jobs, BEING_TAKEN_OVER, rights.owner)
            take_over_folders(jobs, ids, rights)
        safe_files.set_owner_and_mode(jobs, rights.folder, rights.owner)
    finally:
        os.close(jobs)


def take_over_folders(parent: int, ids: Owner, rights: FolderRights, levels: int = 2) -> None:
    """Takes over the folders of jobs and attempts. Their contents keep their owners, which decide whether they are
    trusted.

    Links and folders of other users are left alone, because no attempt is ever started in them.
    """
    for name in safe_files.list_names(parent):
        if not name.isdecimal():
            continue
        try:
            folder = safe_files.open_folder_at(name, parent)
        except (FileNotFoundError, UnsafeFile):
            continue
        try:
            if os.fstat(folder).st_uid in (0, ids[0]):
                safe_files.set_owner_and_mode(folder, rights.folder, rights.owner)
                if levels > 1:
                    take_over_folders(folder, ids, rights, levels - 1)
        finally:
            os.close(folder)


def wait_for_folder(settings: Settings, workspace_id: int) -> Path:
    """Raises Unavailable."""
    folder, until = workspace_folder(settings, workspace_id), time.monotonic() + WAIT_SECONDS
    while not all((folder / name).is_dir() for name in SERVICE_FOLDERS):
        if time.monotonic() > until:
            raise Unavailable("workspace.no_folder_yet", workspace=workspace_id)
        time.sleep(PAUSE_SECONDS)
    return folder


def hand_over_datasets(settings: Settings, folder: int, rights: FolderRights) -> None:
    """Gives datasets that a service without root has written to the workspace's group.

    Only files of the services change, by descriptors, because services may create anything there. Hidden folders are
    skipped, because a task worker still fills or deletes them; another one may disappear in between.
    """
    services, group = rights.owner
    datasets = safe_files.open_folder_at("datasets", folder)
    try:
        for name in safe_files.list_names(datasets):
            if not name.startswith("."):
                hand_over_dataset(datasets, name, services, group, rights)
    finally:
        os.close(datasets)


def hand_over_dataset(datasets: int, name: str, services: int, group: int, rights: FolderRights) -> None:
    """Hands over one dataset. If that is refused, because the tree is too large or not ours, others still follow."""
    try:
        dataset = safe_files.open_folder_at(name, datasets)
    except (FileNotFoundError, UnsafeFile):
        return
    try:
        if os.fstat(dataset).st_gid != group:
            safe_files.chown_tree(dataset, (-1, group), rights.folder, rights.file, of_users=(services,))
    except UnsafeFile:
        return
    finally:
        os.close(dataset)


def give_to_group(settings: Settings, descriptor: int, workspace_id: int) -> None:
    """Gives all contents of an open folder that we have filled to the workspace's group, and
    last the folder itself.
    """
    rights = group_rights(settings, workspace_id)
    safe_files.chown_tree(descriptor, rights.owner, rights.folder, rights.file, of_users=(os.geteuid(),))


def code_folder(settings: Settings, workspace_id: int, training_id: int, version: int) -> Path:
    return workspace_folder(settings, workspace_id) / "code" / str(training_id) / str(version)


def dataset_folder(settings: Settings, dataset: Dataset) -> Path:
    """The registered path, or the folder by id in our own storage."""
    if dataset.path:
        return Path(dataset.path)
    return workspace_folder(settings, dataset.workspace_id) / "datasets" / str(dataset.id)


def attempt_folder(settings: Settings, workspace_id: int, job_id: int, attempt: int) -> Path:
    return workspace_folder(settings, workspace_id) / "jobs" / str(job_id) / str(attempt)


@external_call("storage.incoming_folder")
def incoming_folder(settings: Settings) -> Path:
    """The folder of unfinished uploads, which only the portal and the task workers read."""
    folder = settings.storage_dir / INCOMING
    if settings.service_user:
        if IS_ROOT:
            ensure_storage(settings)
        return folder
    settings.storage_dir.mkdir(parents=True, exist_ok=True)
    with safe_files.open_folder_path(settings.storage_dir) as storage:
        os.close(safe_files.ensure_folder(storage, INCOMING, 0o700))
    return folder


def wheels_folder(settings: Settings) -> Path:
    """The folder of wheels that administrators have uploaded. It exists after the first upload."""
    return settings.storage_dir / WHEELS


def incoming_archive(settings: Settings, dataset_id: int) -> Path:
    return incoming_folder(settings) / f"dataset-{dataset_id}"


def incoming_code(settings: Settings, training_id: int, version: int) -> Path:
    """The archive from which a version of code is unpacked."""
    return incoming_folder(settings) / f"code-{training_id}-{version}"
