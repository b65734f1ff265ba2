"""The task worker of repairs on servers polls the rows instead of Redis, so that a repair can also mend Redis.

``python -m worker repairs``. It reads nothing from Redis, so that nobody who may write there can request a repair.
"""

import threading
import time

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.repairs.offline_records import import_offline_records
from cluster.settings import Settings
from worker.composition import open_cluster
from worker.tasks.claimable_operations import list_claimable_operations
from worker.tasks.run import run_operation

log = structlog.get_logger()
POLL_SECONDS = 0.25
IMPORT_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    cluster = open_cluster(Settings.from_environment())
    at_work: dict[int, threading.Thread] = {}
    read_at = float("-inf")
    while True:
        at_work = {number: thread for number, thread in at_work.items() if thread.is_alive()}
        for number in list_claimable_operations(cluster, OperationKind.REPAIR):
            if number not in at_work:
                at_work[number] = start_operation_thread(number)
        if time.monotonic() - read_at >= IMPORT_SECONDS:
            import_offline_repairs(cluster)
            read_at = time.monotonic()
        time.sleep(POLL_SECONDS)


def import_offline_repairs(cluster: Cluster) -> None:
    """Makes rows of the runs that the console made without the database. On servers the scheduler's user may not read
    that folder.
    """
    try:
        for run_id in import_offline_records(cluster):
            log.info("read in what the console did", run=run_id)
    except (DBAPIError, OSError) as error:
        log.warning("the console's records are not read in; trying again", error=str(error))


def start_operation_thread(number: int) -> threading.Thread:
    """Starts a thread for each operation, because repairs of different hosts run together. It is a daemon, because a
    stopped worker loses its claim on the row.
    """
    thread = threading.Thread(target=run_operation, args=(number,), name=f"operation-{number}", daemon=True)
    thread.start()
    return thread
