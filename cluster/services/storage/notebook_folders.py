"""The folders of notebooks: the working copy of each person and training, and the folder of a running notebook's
socket. Only root makes these folders, by descriptors. Each belongs to the job's user while its parent is ours, so that
the user cannot put a link in its place.
"""

import grp
import os
from pathlib import Path

from cluster.domain.notebooks.jupyter_server import FILES, HOME, PACKAGES, SOCKET
from cluster.domain.states import JobKind
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.files.safe_files import Owner
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.jobs import Attempt

NOTEBOOKS = "notebooks"
PASSABLE = 0o711
LONGEST_SOCKET = 107
"""The largest length of a unix socket's path, in bytes."""


def working_copy_parts(workspace_id: int, training_id: int, user_id: int) -> tuple[str, ...]:
    """The path of a working copy below the storage."""
    return folders.WORKSPACES, str(workspace_id), NOTEBOOKS, str(training_id), str(user_id)


def working_copy_folder(settings: Settings, workspace_id: int, training_id: int, user_id: int) -> Path:
    return settings.storage_dir.joinpath(*working_copy_parts(workspace_id, training_id, user_id))


def list_kept_folders(settings: Settings, kind: JobKind, copy: tuple[int, int, int]) -> list[Path]:
    """The folders that a job of this kind writes and that outlive it. `copy` is workspace, training and person."""
    if kind is not JobKind.NOTEBOOK:
        return []
    return [working_copy_folder(settings, *copy) / name for name in (FILES, PACKAGES, HOME)]


def socket_folder(settings: Settings, job_id: int, attempt: int) -> Path:
    return settings.notebook_sockets / f"{job_id}-{attempt}"


def socket_path(settings: Settings, job_id: int, attempt: int) -> Path:
    return socket_folder(settings, job_id, attempt) / SOCKET


@external_call("notebooks.working_copy_folder")
def ensure_working_copy_folder(settings: Settings, workspace_id: int, training_id: int, user_id: int) -> None:
    """Makes the folder of a working copy, which is empty at first: the notebook itself copies the code there, with the
    rights of its user. Raises OSError.
    """
    own = folders.root_folder_rights(settings, workspace_id)
    mode, owner = job_folder_rights(settings, user_id, settings.job_ids.gid_of(workspace_id))
    with safe_files.open_folder_path(folders.workspace_folder(settings, workspace_id)) as workspace:
        notebooks = safe_files.ensure_folder(workspace, NOTEBOOKS, own.folder, own.owner)
        try:
            training = safe_files.ensure_folder(notebooks, str(training_id), own.folder, own.owner)
        finally:
            os.close(notebooks)
    try:
        os.close(safe_files.ensure_folder(training, str(user_id), mode, owner))
    finally:
        os.close(training)


def job_folder_rights(settings: Settings, user_id: int, gid: int) -> tuple[int, Owner]:
    """Returns the same rights as those of an attempt's `out`: services that are not root read it by their group."""
    if not folders.IS_ROOT:
        return 0o700, (-1, -1)
    uid, ids = settings.job_ids.uid_of(user_id), folders.service_ids(settings)
    return (0o2750, (uid, ids[1])) if ids else (0o700, (uid, gid))


@external_call("notebooks.socket_folder")
def ensure_socket_folder(settings: Settings, job_id: int, attempt: int, user_id: int) -> None:
    """Makes the folder of the socket. Only the notebook may write in it, and only nginx may also enter it. Raises
    OSError.
    """
    path = socket_path(settings, job_id, attempt)
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        raise OSError(None, f"{path} is too long a path for a socket")
    settings.notebook_sockets.mkdir(mode=PASSABLE, exist_ok=True)
    with safe_files.open_folder_path(settings.notebook_sockets) as sockets:
        safe_files.set_owner_and_mode(sockets, PASSABLE)
        if not folders.IS_ROOT:
            os.close(safe_files.ensure_folder(sockets, path.parent.name, 0o700))
            return
        group = grp.getgrnam(settings.nginx_group).gr_gid if settings.nginx_group else settings.gid_base
        owner = (settings.job_ids.uid_of(user_id), group)
        os.close(safe_files.ensure_folder(sockets, path.parent.name, 0o2710, owner))


@external_call("notebooks.socket_folders_removed")
def remove_socket_folders_except(settings: Settings, known: set[str]) -> None:
    """Deletes the socket folders of ended notebooks. `known` are the names `<job>-<attempt>` of the running ones."""
    if not settings.notebook_sockets.is_dir():
        return
    with safe_files.open_folder_path(settings.notebook_sockets) as sockets:
        for name in safe_files.list_names(sockets):
            if name not in known:
                safe_files.remove_tree(sockets, name)


def ensure_notebook_folders(settings: Settings, attempt: Attempt) -> None:
    """Makes the folders that a notebook's program writes. It is called before each start. Raises OSError."""
    job = attempt.job
    if job.kind is not JobKind.NOTEBOOK:
        return
    ensure_working_copy_folder(settings, job.workspace_id, job.training_id, job.user_id)
    if settings.executor.capabilities.is_local:
        ensure_socket_folder(settings, job.id, attempt.number, job.user_id)
