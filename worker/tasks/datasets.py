"""Imports datasets: unpacks an upload, scans a registered path, or writes the sample digits; and deletes them."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.states import EnvironmentState
from cluster.domain.storage.storage_limits import WorkspaceStorage
from cluster.domain.storage.upload_archives import ArchiveChecker, ArchiveLimits
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.services import datasets
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.services.operations.lifecycle import finish_claimed_operation
from cluster.services.storage import folders
from cluster.services.storage.disk_space import require_disk_space
from cluster.services.storage.registered_paths import check_registered_path
from cluster.services.storage.workspace_storage import read_workspace_storage
from cluster.settings import Settings
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from worker.adapters.datasets.dataset_scan import scan_dataset
from worker.adapters.datasets.sample_digits import write_sample_digits
from worker.adapters.datasets.upload_archives import unpack_upload_archive
from worker.tasks.step_progress import StepProgress


class DatasetStorageFull(Unavailable):
    """The storage has no room for the files."""


def run_import(cluster: Cluster, operation: Operation) -> None:
    """The task may run twice: a complete folder in its final place is kept, and an incomplete one is deleted."""
    dataset = read_wanted_dataset(cluster, operation)
    if dataset.path:
        reporter = StepProgress(cluster, operation, {"look_through": 1.0})
        reporter.start()
        folder = check_registered_path(cluster.settings, dataset.path)
    else:
        reporter = StepProgress(cluster, operation, {"unpack": 9.0, "look_through": 1.0})
        reporter.start()
        folder = unpack_upload(cluster, dataset, reporter)
    scan_and_finish(cluster, operation, folder, reporter)


def read_wanted_dataset(cluster: Cluster, operation: Operation) -> Dataset:
    """Raises Refused if the dataset was deleted since it was asked for."""
    dataset = datasets.read_dataset_of_operation(cluster, operation)
    if dataset.deleted_at is not None:
        raise Refused("dataset", "operation.subject_deleted")
    return dataset


def unpack_upload(cluster: Cluster, dataset: Dataset, reporter: StepProgress) -> Path:
    settings = cluster.settings
    archive = folders.incoming_archive(settings, dataset.id)
    with staging_folder(cluster, dataset) as (staging, is_done):
        if not is_done:
            require_disk_space(settings)
            storage = read_workspace_storage(cluster, dataset.workspace_id)
            verdict = ArchiveChecker(
                archive.stat().st_size,
                limits=limits_within(storage),
                unicode_names=settings.unicode_file_names,
                latin_names=dataset.has_latin_names,
            )
            with external_call("archives.unpack"), naming_the_workspace(storage, verdict.limits):
                unpack_upload_archive(
                    archive, dataset.archive, staging, verdict, checking_room(settings, reporter)
                )
    with external_call("datasets.archive_removed"):
        archive.unlink(missing_ok=True)
    return folders.dataset_folder(settings, dataset)


def limits_within(storage: WorkspaceStorage) -> ArchiveLimits:
    """Lowers the limits of an archive to the space that the workspace has left."""
    limits = ArchiveLimits()
    room = storage.room
    return limits if room is None else replace(limits, total_bytes=min(limits.total_bytes, room))


@contextmanager
def naming_the_workspace(storage: WorkspaceStorage, limits: ArchiveLimits) -> Iterator[None]:
    """An archive that is too large for its workspace alone is refused as such. Raises Refused."""
    try:
        yield
    except Refused as refusal:
        if refusal.code != "archive.too_large" or limits.total_bytes == ArchiveLimits().total_bytes:
            raise
        raise Refused(
            "archive", "storage.unpacked_no_room",
            workspace=storage.workspace, used=storage.used or 0, limit=storage.limit,
        ) from refusal  # fmt: skip


def checking_room(settings: Settings, reporter: StepProgress) -> Callable[[float], None]:
    """Reports how far it is, and stops before the disk falls below its reserve. Raises Unavailable."""

    def tell(share: float) -> None:
        require_disk_space(settings)
        reporter.report("unpack", share)

    return tell


def run_sample(cluster: Cluster, operation: Operation) -> None:
    """Makes the digits by the training environment's interpreter, which has scikit-learn. It is requested only once
    that environment is ready.
    """
    dataset = read_wanted_dataset(cluster, operation)
    reporter = StepProgress(cluster, operation, {"write_digits": 9.0, "look_through": 1.0})
    reporter.start()
    environment = read_default_environment(cluster)
    with staging_folder(cluster, dataset) as (staging, is_done):
        if not is_done and environment is not None:
            require_disk_space(cluster.settings)
            with external_call("digits.write_digits"):
                write_sample_digits(
                    Path(environment.path), staging, lambda share: reporter.report("write_digits", share)
                )
    scan_and_finish(cluster, operation, folders.dataset_folder(cluster.settings, dataset), reporter)


def can_write_samples(cluster: Cluster) -> bool:
    environment = read_default_environment(cluster)
    return environment is not None and environment.state is EnvironmentState.READY


@contextmanager
def staging_folder(cluster: Cluster, dataset: Dataset) -> Iterator[tuple[Path, bool]]:
    """Yields a staging folder, which becomes the dataset's folder when the body ends well, and whether that has
    happened before. The dataset's group may then read it, and nobody may write. A full disk is reported as such.
    """
    settings = cluster.settings
    workspace = folders.ensure_workspace_folder(settings, dataset.workspace_id)
    folder = folders.dataset_folder(settings, dataset)
    if folder.exists():
        yield folder, True
        return
    unfinished = f".{folder.name}.new"
    with safe_files.open_folder_path(workspace, folder.parent.name) as datasets_folder:
        with external_call("datasets.staging_made"):
            safe_files.remove_tree(datasets_folder, unfinished)
            os.close(safe_files.make_folder(datasets_folder, unfinished))
        try:
            yield folder.with_name(unfinished), False
            give_to_workspace(cluster, dataset, datasets_folder, unfinished)
            os.sync()
            with external_call("datasets.folder_in_its_place"):
                safe_files.move_at(datasets_folder, unfinished, datasets_folder, folder.name)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DatasetStorageFull(
                "dataset.no_space", free=shutil.disk_usage(folder.parent).free
            ) from error
        finally:
            with external_call("datasets.staging_removed"):
                safe_files.remove_tree(datasets_folder, unfinished)


def give_to_workspace(cluster: Cluster, dataset: Dataset, parent: int, name: str) -> None:
    """Opens the folder by its name again, because the unpacked program may have replaced it."""
    staging = safe_files.open_folder_at(name, parent)
    try:
        folders.give_to_group(cluster.settings, staging, dataset.workspace_id)
    finally:
        os.close(staging)


def scan_and_finish(cluster: Cluster, operation: Operation, folder: Path, reporter: StepProgress) -> None:
    reporter.report("look_through", 0.0)
    found = scan_dataset(folder, lambda files: reporter.report("look_through", 0.5, str(files)))
    datasets.finish_import(cluster, operation.id, operation.fence, found.files, found.size, found.classes)


def run_delete(cluster: Cluster, operation: Operation) -> None:
    """Deletes files of our own storage alone. It may run twice."""
    dataset = datasets.read_dataset_of_operation(cluster, operation)
    StepProgress(cluster, operation, {"delete_files": 1.0}).report("delete_files", 0.0)
    if not dataset.path:
        remove_dataset_folder(cluster, dataset)
        with external_call("datasets.files_deleted"):
            folders.incoming_archive(cluster.settings, dataset.id).unlink(missing_ok=True)
    finish_claimed_operation(cluster, operation)


def remove_dataset_folder(cluster: Cluster, dataset: Dataset) -> None:
    """Moves the folder away first, so that nobody finds a half of it."""
    folder = folders.dataset_folder(cluster.settings, dataset)
    doomed = f".{folder.name}.deleted"
    try:
        with safe_files.open_folder_path(folder.parent.parent, folder.parent.name) as beside:
            if safe_files.kind_at(beside, folder.name):
                with external_call("datasets.folder_set_aside"):
                    safe_files.move_at(beside, folder.name, beside, doomed)
            with external_call("datasets.folder_removed"):
                safe_files.remove_tree(beside, doomed)
    except FileNotFoundError:
        return  # Nothing was ever written for this workspace.


def record_dataset_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    datasets.fail_import(cluster, operation.id, operation.fence, code, data)
