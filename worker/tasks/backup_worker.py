"""The task worker of backups on servers: only root may connect as the owner of the tables and has the audit's key.

``python -m worker backups``. It finds its work in the rows and runs backups alone, so that nobody who may write into
Redis or the rows chooses what root runs.
"""

import time

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.settings import Settings
from worker.composition import open_cluster
from worker.tasks.claimable_operations import list_claimable_operations
from worker.tasks.run import run_operation

POLL_SECONDS = 2.0


def main(arguments: list[str]) -> int:
    cluster = open_cluster(Settings.from_environment())
    while True:
        run_requested_backups(cluster)
        time.sleep(POLL_SECONDS)


def run_requested_backups(cluster: Cluster) -> int:
    """Runs the operations that no worker has claimed, one after the other, and returns their number."""
    found = list_claimable_operations(cluster, OperationKind.BACKUP)
    for number in found:
        run_operation(number)
    return len(found)
