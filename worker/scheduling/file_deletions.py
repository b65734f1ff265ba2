"""Deletes the files of ended jobs whose rows request it; never follows a symbolic link."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import structlog

from cluster.failpoints import external_call
from cluster.files.safe_files import UnsafeFile, open_folder_path, remove_tree
from cluster.services.context import Cluster
from cluster.services.jobs import file_deletions
from cluster.services.jobs.file_deletions import PendingFileDeletion
from cluster.services.leases import HeldLease

log = structlog.get_logger()


class JobFileDeletions:
    """Deletes the files of one job at a time beside the scheduler's loop, because a folder may have millions of
    files.

    A deletion that is killed begins again.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.remover = ThreadPoolExecutor(1, "delete")
        self.in_progress: dict[int, Future[None]] = {}

    def advance(self, held: HeldLease) -> None:
        """Called once a second. Raises LeaseLost."""
        for job_id, removal in list(self.in_progress.items()):
            if removal.done():
                del self.in_progress[job_id]
                self.record_deleted(held, job_id, removal)
        for job in file_deletions.list_pending_deletions(self.cluster):
            if job.job_id not in self.in_progress:
                self.in_progress[job.job_id] = self.remover.submit(
                    delete_job_folder, self.cluster.settings.storage_dir, job
                )

    def record_deleted(self, held: HeldLease, job_id: int, removal: "Future[None]") -> None:
        try:
            removal.result()
        except OSError as error:
            log.warning("files of a job are not deleted; trying again", job=job_id, error=str(error))
            return
        if file_deletions.record_files_deleted(self.cluster, held, job_id):
            log.info("the files of a job are deleted", job=job_id)

    def close(self) -> None:
        self.remover.shutdown(wait=False, cancel_futures=True)


def delete_job_folder(storage: Path, job: PendingFileDeletion) -> None:
    """The job's own folder with all of its attempts; safe to repeat. Raises OSError."""
    names = ("workspaces", str(job.workspace_id), "jobs")
    try:
        with external_call("file_deletions.folder_deleted"), open_folder_path(storage, *names) as jobs:
            remove_tree(jobs, str(job.job_id))
            os.fsync(jobs)
    except FileNotFoundError:
        return  # The workspace's own folder is gone, or was never made.
    except UnsafeFile as error:
        raise OSError(error.errno, f"it does not lead to a folder of ours: {error}") from error
