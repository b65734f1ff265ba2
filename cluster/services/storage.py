"""Where things lie on the shared storage: by id, never by name, with the owner that jobs need."""

import os
import pwd
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from cluster.crash_points import outside
from cluster.settings import Settings
from cluster.store.datasets import Dataset

WE_ARE_ROOT = os.geteuid() == 0


def workspace_folder(settings: Settings, workspace_id: int) -> Path:
    return settings.storage_dir / "workspaces" / str(workspace_id)


def service_ids(settings: Settings) -> tuple[int, int] | None:
    """Number and group of the services that are not root; None where all of them are one user.

    Raises KeyError for a user that this machine does not have.
    """
    if not settings.service_user:
        return None
    user = pwd.getpwnam(settings.service_user)
    return user.pw_uid, user.pw_gid


@outside("storage.ensure_workspace_folder")
def ensure_workspace_folder(settings: Settings, workspace_id: int) -> Path:
    """Readable by the workspace's group alone; other workspaces' jobs cannot even list it."""
    folder = workspace_folder(settings, workspace_id)
    for each in (settings.storage_dir, folder.parent):
        each.mkdir(parents=True, exist_ok=True)
        set_mode(each, 0o711)
    folder.mkdir(exist_ok=True)
    hand_to_group(settings, folder, workspace_id)
    for kind in ("code", "datasets", "jobs"):
        (folder / kind).mkdir(exist_ok=True)
        hand_to_group(settings, folder / kind, workspace_id)
    if WE_ARE_ROOT and settings.service_user:
        hand_over_datasets(settings, folder / "datasets", workspace_id)
    return folder


def hand_over_datasets(settings: Settings, folder: Path, workspace_id: int) -> None:
    """What a service without root has written has that service's group until root gives it away.

    Hidden folders are those that a task worker still fills or removes; it may remove another one meanwhile.
    """
    for dataset in folder.iterdir():
        if dataset.name.startswith("."):
            continue
        with suppress(FileNotFoundError):
            if dataset.is_dir() and dataset.stat().st_gid != settings.gid_base + workspace_id:
                hand_tree_to_group(settings, dataset, workspace_id)


def set_mode(path: Path, wanted: int) -> None:
    """Leaves alone what is right already: it may be somebody else's, or carry the bit that hands the group on."""
    if path.stat(follow_symlinks=False).st_mode & 0o777 != wanted:
        path.chmod(wanted)


def hand_to_group(settings: Settings, path: Path, workspace_id: int) -> None:
    """The services keep it, the workspace's numeric group may read it; without root the portal's user owns all.

    Where services are not root, a folder hands its group on to what they write into it. A link has no rights of
    its own, and what it points to is not ours.
    """
    if path.is_symlink():
        return
    wanted = 0o750 if path.is_dir() else 0o640
    if not WE_ARE_ROOT:
        set_mode(path, wanted)
        return
    ids = service_ids(settings)
    os.chown(path, ids[0] if ids else 0, settings.gid_base + workspace_id, follow_symlinks=False)
    path.chmod(wanted | stat.S_ISGID if ids and path.is_dir() else wanted)


def hand_tree_to_group(settings: Settings, folder: Path, workspace_id: int) -> None:
    """The folder itself comes last: where it has its group, all that is in it has."""
    for root, folders, files in os.walk(folder, topdown=False):
        for name in folders + files:
            hand_to_group(settings, Path(root) / name, workspace_id)
    hand_to_group(settings, folder, workspace_id)


def code_folder(settings: Settings, workspace_id: int, training_id: int, version: int) -> Path:
    return workspace_folder(settings, workspace_id) / "code" / str(training_id) / str(version)


def dataset_folder(settings: Settings, dataset: Dataset) -> Path:
    """A registered path where it lies, everything else by id in our own storage."""
    if dataset.path:
        return Path(dataset.path)
    return workspace_folder(settings, dataset.workspace_id) / "datasets" / str(dataset.id)


def attempt_folder(settings: Settings, workspace_id: int, job_id: int, attempt: int) -> Path:
    return workspace_folder(settings, workspace_id) / "jobs" / str(job_id) / str(attempt)


@outside("storage.incoming_folder")
def incoming_folder(settings: Settings) -> Path:
    """Uploads on their way in; nobody but the portal and the task workers reads it."""
    folder = settings.storage_dir / "incoming"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def incoming_archive(settings: Settings, dataset_id: int) -> Path:
    return incoming_folder(settings) / f"dataset-{dataset_id}"


@outside("storage.write_code")
def write_code(settings: Settings, folder: Path, files: list[tuple[str, bytes]], workspace_id: int) -> None:
    """Writes a code version whole or not at all; a leftover of an interrupted try is replaced."""
    ensure_workspace_folder(settings, workspace_id)
    folder.parent.mkdir(parents=True, exist_ok=True)
    hand_to_group(settings, folder.parent, workspace_id)
    staging = folder.with_name(f".{folder.name}.new")
    for leftover in (staging, folder):
        if leftover.exists():
            shutil.rmtree(leftover)
    staging.mkdir()
    for name, content in files:
        with (staging / name).open("wb") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
    hand_tree_to_group(settings, staging, workspace_id)
    with outside("storage.code_in_its_place"):
        staging.rename(folder)
