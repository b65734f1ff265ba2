"""Finds out by one statement whether a scheduling pass would have anything to do."""

from datetime import timedelta

from sqlalchemy import bindparam, exists, or_, select

from cluster.domain.nodes.node_state import UNREACHABLE_AFTER
from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.store.base import UtcDateTime
from cluster.store.jobs import FILES_TO_DELETE, IS_LIVE, Attempt, Job
from cluster.store.nodes import Node
from cluster.store.operations import IS_OPEN, Operation

SILENT_SINCE = bindparam("silent_since", type_=UtcDateTime)
HAS_OPEN_WORK = select(
    or_(
        exists().where(IS_LIVE, Job.held_at.is_(None)),
        exists().where(Attempt.ended_at.is_(None)),
        exists().where(IS_OPEN, Operation.state != OperationState.INTERRUPTED),
        exists().select_from(Job).where(FILES_TO_DELETE),
        exists().where(Node.lost_at.is_(None), Node.heartbeat_at <= SILENT_SINCE),
    )
)
"""The statement is built once, because the idle scheduler executes it every second."""


def has_open_work(cluster: Cluster) -> bool:
    """Jobs that wait or run, operations to be done, files to be deleted, silent nodes that may be given up."""
    grace = timedelta(seconds=cluster.settings.node_grace_seconds)
    since = cluster.clock() - min(UNREACHABLE_AFTER, grace)
    with cluster.store.read_columns() as connection:
        return bool(connection.scalar(HAS_OPEN_WORK, {"silent_since": since}))
