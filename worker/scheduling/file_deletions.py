"""Deletes folders whose rows request it, above all those of ended jobs; never follows a symbolic link."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import structlog

from cluster.failpoints import external_call
from cluster.files.safe_files import UnsafeFile, open_folder_path, remove_tree
from cluster.services.context import Cluster
from cluster.services.jobs import file_deletions
from cluster.services.jobs.file_deletions import PendingFileDeletion
from cluster.services.leases import HeldLease

log = structlog.get_logger()


class FolderDeletions(ABC):
    """Deletes one folder at a time beside the scheduler's loop, because a folder may have millions of files.

    A deletion that is killed begins again. Folders are known by the id of the row that asks for it.
    """

    kind: str
    """The name of the folder's parent in the workspace's folder."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.remover = ThreadPoolExecutor(1, "delete")
        self.in_progress: dict[int, Future[None]] = {}

    def advance(self, held: HeldLease) -> None:
        """Records the folders that are deleted, and begins with those that rows ask for. Raises LeaseLost."""
        for number, removal in list(self.in_progress.items()):
            if removal.done():
                del self.in_progress[number]
                self.record_end(held, number, removal)
        for number, delete in self.list_pending().items():
            if number not in self.in_progress:
                self.in_progress[number] = self.remover.submit(delete)

    def record_end(self, held: HeldLease, number: int, removal: "Future[None]") -> None:
        try:
            removal.result()
        except OSError as error:
            log.warning(
                "a folder is not deleted; trying again", kind=self.kind, number=number, error=str(error)
            )
            return
        if self.record_deleted(held, number):
            log.info("a folder is deleted", kind=self.kind, number=number)

    def close(self) -> None:
        self.remover.shutdown(wait=False, cancel_futures=True)

    @abstractmethod
    def list_pending(self) -> Mapping[int, Callable[[], None]]:
        """Returns the deletions that rows ask for, by id; each raises OSError."""

    @abstractmethod
    def record_deleted(self, held: HeldLease, number: int) -> bool:
        """Returns whether the row asked for it until now. Raises LeaseLost."""


class JobFileDeletions(FolderDeletions):
    """Deletes the files of jobs. Called once a second."""

    kind = "jobs"

    def list_pending(self) -> Mapping[int, Callable[[], None]]:
        storage = self.cluster.settings.storage_dir
        pending = file_deletions.list_pending_deletions(self.cluster)
        return {job.job_id: partial(delete_job_folder, storage, job) for job in pending}

    def record_deleted(self, held: HeldLease, number: int) -> bool:
        return file_deletions.record_files_deleted(self.cluster, held, number)


def delete_job_folder(storage: Path, job: PendingFileDeletion) -> None:
    """Deletes the job's own folder with all of its attempts; safe to repeat. Raises OSError."""
    with external_call("file_deletions.folder_deleted"):
        delete_folder_of_workspace(storage, job.workspace_id, JobFileDeletions.kind, job.job_id)


def delete_folder_of_workspace(storage: Path, workspace_id: int, kind: str, number: int) -> None:
    """Deletes `workspaces/<workspace>/<kind>/<number>`; safe to repeat. Raises OSError."""
    try:
        with open_folder_path(storage, "workspaces", str(workspace_id), kind) as parent:
            remove_tree(parent, str(number))
            os.fsync(parent)
    except FileNotFoundError:
        return  # The workspace's own folder is gone, or was never made.
    except UnsafeFile as error:
        raise OSError(error.errno, f"it does not lead to a folder of ours: {error}") from error
