"""Brings datasets in: unpacks an upload, looks through a registered path, writes the sample digits."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.crash_points import outside
from cluster.domain.archives import Verdict
from cluster.domain.errors import Unavailable
from cluster.domain.states import EnvironmentState
from cluster.files import by_descriptor
from cluster.services import datasets, storage
from cluster.services.context import Cluster
from cluster.services.disks import require_room
from cluster.services.environments import read_default_environment
from cluster.settings import Settings
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from worker.adapters.archives import unpack
from worker.adapters.dataset_files import look_through
from worker.adapters.digits import write_digits
from worker.tasks.reports import Reporter


class NoSpace(Unavailable):
    """The storage has no room for what is to be written."""


def run_import(cluster: Cluster, operation: Operation) -> None:
    """May run twice: what stands whole in its place is kept, a part is thrown away."""
    dataset = datasets.read_subject(cluster, operation)
    if dataset.path:
        reporter = Reporter(cluster, operation, {"look_through": 1.0})
        reporter.begin()
        folder = datasets.check_registered_path(cluster, dataset.path)
    else:
        reporter = Reporter(cluster, operation, {"unpack": 9.0, "look_through": 1.0})
        reporter.begin()
        folder = unpack_upload(cluster, dataset, reporter)
    finish(cluster, operation, folder, reporter)


def unpack_upload(cluster: Cluster, dataset: Dataset, reporter: Reporter) -> Path:
    settings = cluster.settings
    archive = storage.incoming_archive(settings, dataset.id)
    with new_folder(cluster, dataset) as (staging, is_done):
        if not is_done:
            require_room(settings)
            verdict = Verdict(archive.stat().st_size, unicode_names=settings.unicode_file_names)
            with outside("archives.unpack"):
                unpack(archive, dataset.archive, staging, verdict, in_room(settings, reporter))
    with outside("datasets.archive_removed"):
        archive.unlink(missing_ok=True)
    return storage.dataset_folder(settings, dataset)


def in_room(settings: Settings, reporter: Reporter) -> Callable[[float], None]:
    """Reports how far it is, and stops before the disk falls below its reserve. Raises Unavailable."""

    def tell(share: float) -> None:
        require_room(settings)
        reporter.tell("unpack", share)

    return tell


def run_sample(cluster: Cluster, operation: Operation) -> None:
    """By the training environment's interpreter, which has scikit-learn; asked for only once it is ready."""
    dataset = datasets.read_subject(cluster, operation)
    reporter = Reporter(cluster, operation, {"write_digits": 9.0, "look_through": 1.0})
    reporter.begin()
    environment = read_default_environment(cluster)
    with new_folder(cluster, dataset) as (staging, is_done):
        if not is_done and environment is not None:
            require_room(cluster.settings)
            with outside("digits.write_digits"):
                write_digits(
                    Path(environment.path), staging, lambda share: reporter.tell("write_digits", share)
                )
    finish(cluster, operation, storage.dataset_folder(cluster.settings, dataset), reporter)


def can_write_samples(cluster: Cluster) -> bool:
    environment = read_default_environment(cluster)
    return environment is not None and environment.state is EnvironmentState.READY


@contextmanager
def new_folder(cluster: Cluster, dataset: Dataset) -> Iterator[tuple[Path, bool]]:
    """A staging folder that becomes the dataset's when the body ends well; True: it has become so before.

    The dataset's group may read it then, nobody may write. A full disk is said as such.
    """
    settings = cluster.settings
    workspace = storage.ensure_workspace_folder(settings, dataset.workspace_id)
    folder = storage.dataset_folder(settings, dataset)
    if folder.exists():
        yield folder, True
        return
    unfinished = f".{folder.name}.new"
    with by_descriptor.folder(workspace, folder.parent.name) as datasets_folder:
        with outside("datasets.staging_made"):
            by_descriptor.remove_tree(datasets_folder, unfinished)
            os.close(by_descriptor.make_folder(datasets_folder, unfinished))
        try:
            yield folder.with_name(unfinished), False
            give_whole(cluster, dataset, datasets_folder, unfinished)
            os.sync()
            with outside("datasets.folder_in_its_place"):
                by_descriptor.move(datasets_folder, unfinished, datasets_folder, folder.name)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise NoSpace("dataset.no_space", free=shutil.disk_usage(folder.parent).free) from error
        finally:
            with outside("datasets.staging_removed"):
                by_descriptor.remove_tree(datasets_folder, unfinished)


def give_whole(cluster: Cluster, dataset: Dataset, parent: int, name: str) -> None:
    """What has the name now: whoever has filled it may have put a folder of its own there."""
    staging = by_descriptor.open_folder(name, parent)
    try:
        storage.give_to_group(cluster.settings, staging, dataset.workspace_id)
    finally:
        os.close(staging)


def finish(cluster: Cluster, operation: Operation, folder: Path, reporter: Reporter) -> None:
    reporter.tell("look_through", 0.0)
    found = look_through(folder, lambda files: reporter.tell("look_through", 0.5, str(files)))
    datasets.finish_import(cluster, operation.id, operation.fence, found.files, found.size, found.classes)


def run_delete(cluster: Cluster, operation: Operation) -> None:
    """Only what lies in our own storage; may run twice."""
    dataset = datasets.read_subject(cluster, operation)
    Reporter(cluster, operation, {"delete_files": 1.0}).tell("delete_files", 0.0)
    if not dataset.path:
        remove_folder(cluster, dataset)
        with outside("datasets.files_deleted"):
            storage.incoming_archive(cluster.settings, dataset.id).unlink(missing_ok=True)
    datasets.finish_delete(cluster, operation.id, operation.fence)


def remove_folder(cluster: Cluster, dataset: Dataset) -> None:
    """Out of its place first, so that nobody meets a half of it."""
    folder = storage.dataset_folder(cluster.settings, dataset)
    doomed = f".{folder.name}.deleted"
    try:
        with by_descriptor.folder(folder.parent.parent, folder.parent.name) as beside:
            if by_descriptor.kind_of(beside, folder.name):
                with outside("datasets.folder_set_aside"):
                    by_descriptor.move(beside, folder.name, beside, doomed)
            with outside("datasets.folder_removed"):
                by_descriptor.remove_tree(beside, doomed)
    except FileNotFoundError:
        return  # Nothing was ever written for this workspace.


def record_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    datasets.fail_import(cluster, operation.id, operation.fence, code, data)
