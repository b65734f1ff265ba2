"""Deletes the working copies of trainings that were deleted."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from cluster.failpoints import external_call
from cluster.services.leases import HeldLease
from cluster.services.notebooks.deleted_copies import (
    UnwantedCopies,
    list_unwanted_copies,
    record_copies_deleted,
)
from cluster.services.storage.notebook_folders import NOTEBOOKS
from worker.scheduling.file_deletions import FolderDeletions, delete_folder_of_workspace

AT_MOST = 10
"""The number of trainings in one pass."""


class WorkingCopyDeletions(FolderDeletions):
    """Deletes the working copies of all people for a training, with their packages."""

    kind = NOTEBOOKS

    def list_pending(self) -> Mapping[int, Callable[[], None]]:
        storage = self.cluster.settings.storage_dir
        unwanted = list_unwanted_copies(self.cluster, AT_MOST)
        return {copies.training_id: partial(delete_copies, storage, copies) for copies in unwanted}

    def record_deleted(self, held: HeldLease, number: int) -> bool:
        record_copies_deleted(self.cluster, held, number)
        return True


def delete_copies(storage: Path, copies: UnwantedCopies) -> None:
    """Deletes the working copies; safe to repeat. Raises OSError."""
    with external_call("notebooks.working_copies_deleted"):
        delete_folder_of_workspace(storage, copies.workspace_id, NOTEBOOKS, copies.training_id)
