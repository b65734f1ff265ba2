"""Deletes the working copies of trainings that were deleted; never follows a symbolic link."""

import os
from concurrent.futures import Future, ThreadPoolExecutor

import structlog

from cluster.failpoints import external_call
from cluster.files.safe_files import UnsafeFile, open_folder_path, remove_tree
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.notebooks.deleted_copies import (
    UnwantedCopies,
    list_unwanted_copies,
    record_copies_deleted,
)
from cluster.services.storage.folders import workspace_folder
from cluster.services.storage.notebook_folders import NOTEBOOKS
from cluster.settings import Settings

log = structlog.get_logger()
AT_MOST = 10
"""The number of trainings in one pass."""


class WorkingCopyDeletions:
    """One training at a time in a thread, because `pip install` may have written many files. A deletion that is killed
    begins again.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.remover = ThreadPoolExecutor(1, "copies")
        self.in_progress: dict[int, Future[None]] = {}

    def advance(self, held: HeldLease) -> None:
        """Raises LeaseLost."""
        for training_id, removal in list(self.in_progress.items()):
            if removal.done():
                del self.in_progress[training_id]
                self.record_end(held, training_id, removal)
        for copies in list_unwanted_copies(self.cluster, AT_MOST):
            if copies.training_id not in self.in_progress:
                self.in_progress[copies.training_id] = self.remover.submit(
                    delete_copies, self.cluster.settings, copies
                )

    def record_end(self, held: HeldLease, training_id: int, removal: "Future[None]") -> None:
        try:
            removal.result()
        except OSError as error:
            log.warning(
                "working copies are not deleted; trying again", training=training_id, error=str(error)
            )
            return
        record_copies_deleted(self.cluster, held, training_id)
        log.info("the working copies of a deleted training are deleted", training=training_id)

    def close(self) -> None:
        self.remover.shutdown(wait=False, cancel_futures=True)


def delete_copies(settings: Settings, copies: UnwantedCopies) -> None:
    """Those of all people, with their packages; safe to repeat. Raises OSError."""
    folder = workspace_folder(settings, copies.workspace_id)
    try:
        with (
            external_call("notebooks.working_copies_deleted"),
            open_folder_path(folder, NOTEBOOKS) as notebooks,
        ):
            remove_tree(notebooks, str(copies.training_id))
            os.fsync(notebooks)
    except FileNotFoundError:
        return  # Nobody had a notebook in this workspace.
    except UnsafeFile as error:
        raise OSError(error.errno, f"it does not lead to a folder of ours: {error}") from error
