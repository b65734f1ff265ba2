"""Makes the folder of each workspace on servers, where only root may do so.

A workspace has its folder moments after its row, because the event of the row wakes the scheduler. Folders that an
earlier version left to the services are taken over in the same way.
"""

import time
from collections.abc import Callable

import structlog

from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.services.workspaces.queries import list_workspace_ids

log = structlog.get_logger()

ENSURE_AGAIN_SECONDS = 60.0
"""A folder that was removed or changed is repaired after this many seconds."""


class WorkspaceFolders:
    """Keeps in memory only the time at which each folder was last checked."""

    def __init__(self, cluster: Cluster, steady: Callable[[], float] = time.monotonic) -> None:
        self.cluster = cluster
        self.steady = steady
        self.ensured_at: dict[int, float] = {}

    def ensure_all(self) -> int:
        """Returns the number of folders that it checked. A folder that cannot be made is logged, and the others are
        made all the same.
        """
        if not (folders.IS_ROOT and self.cluster.settings.service_user):
            return 0  # If all services run as one user, each makes the folders that it needs.
        now, ids = self.steady(), list_workspace_ids(self.cluster)
        due = [each for each in ids if now - self.ensured_at.get(each, float("-inf")) >= ENSURE_AGAIN_SECONDS]
        for workspace_id in due:
            self.ensure_one(workspace_id)
        self.ensured_at = {each: now if each in due else self.ensured_at[each] for each in ids}
        return len(due)

    def ensure_one(self, workspace_id: int) -> None:
        try:
            folders.ensure_workspace_folder(self.cluster.settings, workspace_id)
        except OSError as error:
            log.warning("a workspace has no folder", workspace=workspace_id, error=str(error))
        except Refused as refusal:
            log.warning("a workspace gets no folder", workspace=workspace_id, code=refusal.code)
