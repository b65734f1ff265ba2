"""Finds the folder of a dataset, and the person for whom pages and REST read it."""

from dataclasses import dataclass
from pathlib import Path

from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import DatasetState
from cluster.files.safe_read import FileReader
from cluster.services.storage import folders
from cluster.services.storage.registered_paths import check_path_at_start
from cluster.settings import Settings
from cluster.store.datasets import Dataset


@dataclass(frozen=True)
class DatasetFiles:
    """The folder `top` below `root`. Everything on the way below `root` has to be a folder and no link."""

    root: Path
    top: tuple[str, ...]
    reader: FileReader | None
    """For whom a registered folder is read. None: all files are the workspace's own."""


def locate_dataset_files(settings: Settings, actor: Actor, dataset: Dataset) -> DatasetFiles:
    """A registered folder is read as far as a job of this person could read it: the portal may read more.

    Raises Conflict for a dataset that is not ready, and Refused for a registered path that leads elsewhere by now.
    """
    if dataset.state is not DatasetState.READY:
        raise Conflict("dataset.not_ready", name=dataset.name)
    if not dataset.path:
        folder = folders.dataset_folder(settings, dataset).relative_to(settings.storage_dir)
        return DatasetFiles(settings.storage_dir, folder.parts, None)
    check_path_at_start(settings, dataset.path)
    return DatasetFiles(Path("/"), Path(dataset.path).parts[1:], reader_of(settings, actor, dataset))


def reader_of(settings: Settings, actor: Actor, dataset: Dataset) -> FileReader | None:
    """None if jobs run as the portal's own user, because neither it nor the scheduler is root."""
    if not folders.IS_ROOT and not settings.service_user:
        return None
    ids = settings.job_ids
    return FileReader(ids.uid_of(actor.user_id), ids.gid_of(dataset.workspace_id))
