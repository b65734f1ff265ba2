"""Renews the lease of a claimed operation while its body runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import renew_operation
from cluster.store.operations import Operation

log = structlog.get_logger()
RENEW_SECONDS = 3.0


@contextmanager
def lease_kept(cluster: Cluster, operation: Operation) -> Iterator[None]:
    """A thread renews the lease. If the lease is lost, the next report of the body raises Conflict."""
    done = threading.Event()

    def renew() -> None:
        while not done.wait(RENEW_SECONDS):
            try:
                if not renew_operation(cluster, operation.id, operation.fence):
                    log.warning("another task worker has claimed the operation", operation=operation.id)
                    return
            except DBAPIError as error:
                log.warning("lease not renewed this time", error=str(error))

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
