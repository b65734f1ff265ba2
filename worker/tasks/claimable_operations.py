"""Finds the operations of a kind that nobody holds, for task workers that poll the rows instead of Redis."""

import time

import structlog
from sqlalchemy import or_, select
from sqlalchemy.exc import DBAPIError

from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.stale_operations import MAX_CLAIMS
from cluster.store.operations import Operation

log = structlog.get_logger()
DATABASE_RETRY_SECONDS = 1.0


def list_claimable_operations(cluster: Cluster, kind: OperationKind) -> list[int]:
    """The ids, the oldest first. None while the database does not answer, which a repair may have caused."""
    silent = (Operation.state == OperationState.RUNNING) & (Operation.lease_until < cluster.clock())
    query = select(Operation.id).where(
        Operation.kind == kind,
        or_(Operation.state == OperationState.REQUESTED, silent),
        Operation.claims < MAX_CLAIMS,
    )
    try:
        with cluster.store.read() as session:
            return list(session.scalars(query.order_by(Operation.id)))
    except DBAPIError as error:
        log.warning("the database is away", error=str(error.orig))
        time.sleep(DATABASE_RETRY_SECONDS)
        return []
