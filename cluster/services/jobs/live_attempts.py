"""Lists live attempts with everything that the scheduler decides by, in two queries however many there are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.jobs.attempts import NodeFate
from cluster.domain.nodes.node_state import NodeSignals, is_node_gone, node_fate_since, worst_fate
from cluster.domain.states import AttemptState, DesiredState
from cluster.domain.storage.disk_reserve import StopCause
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit


@dataclass(frozen=True)
class LiveAttempt:
    """A live attempt as the scheduler needs it; `fence` is the current fence of its job."""

    attempt_id: int
    job_id: int
    workspace_id: int
    number: int
    fence: int
    state: AttemptState
    desired: DesiredState
    created_at: datetime
    resume_from: str | None
    retries_left: int
    grace_seconds: int
    stop_cause_code: str | None = None
    stop_cause_data: Mapping[str, Any] | None = None
    node_fate: NodeFate = NodeFate.SAME_BOOT
    """The gravest of its nodes."""
    fate_node: str = ""
    """The node whose fate it is."""
    lost_nodes: frozenset[str] = frozenset()
    """The nodes of the attempt that are lost or have rebooted: the scheduler waits no longer for what ran there."""
    nodes: int = 1

    @property
    def cause(self) -> StopCause | None:
        """Why it is ended although nobody asked for it."""
        return StopCause(self.stop_cause_code, self.stop_cause_data or {}) if self.stop_cause_code else None


ATTEMPT_COLUMNS = (
    Attempt.id,
    Attempt.job_id,
    Job.workspace_id,
    Attempt.number,
    Job.fence,
    Attempt.state,
    Job.desired,
    Attempt.created_at,
    Job.resume_from,
    Job.retries - Job.retries_used,
    Job.grace_seconds,
    Attempt.stop_cause_code,
    Attempt.stop_cause_data,
)


NODE_SIGNAL_COLUMNS = (
    Node.id,
    Node.name,
    Node.heartbeat_at,
    Node.has_executor,
    Node.draining_since,
    Node.lost_at,
    Node.booted_at,
)


def list_live_attempts(cluster: Cluster, only: Collection[int] | None = None) -> list[LiveAttempt]:
    """In the order in which they were made; `only` of these attempts, where it is given."""
    now = cluster.clock()
    query = select(*ATTEMPT_COLUMNS).join(Job, Job.id == Attempt.job_id).where(Attempt.ended_at.is_(None))
    if only is not None:
        query = query.where(Attempt.id.in_(only))
    with cluster.store.read() as session:
        rows = session.execute(query.order_by(Attempt.id)).all()
        # Without their facts, which are large and belong to the pages.
        nodes = (
            {row[0]: (row[1], NodeSignals(*row[2:])) for row in session.execute(select(*NODE_SIGNAL_COLUMNS))}
            if rows
            else {}
        )
        places = read_attempt_nodes(session, [row[0] for row in rows]) if rows else {}
    living = []
    for row in rows:
        there = [nodes[node_id] for node_id in places.get(row[0], ())]
        fates = {name: node_fate_since(signs, row[7], now) for name, signs in there}
        fate = worst_fate(fates.values())
        where = next((name for name, each in fates.items() if each is fate), "")
        gone = frozenset(name for name, each in fates.items() if is_node_gone(each))
        known = LiveAttempt(*row)
        living.append(
            replace(known, node_fate=fate, fate_node=where, lost_nodes=gone, nodes=max(1, len(there)))
        )
    return living


def read_attempt_nodes(session: Session, attempt_ids: Collection[int]) -> Mapping[int, list[int]]:
    """The nodes of these living attempts."""
    query = (
        select(Allocation.attempt_id, Unit.node_id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Allocation.ended_at.is_(None), Allocation.attempt_id.in_(attempt_ids))
        .distinct()
    )
    places: dict[int, list[int]] = {}
    for attempt_id, node_id in session.execute(query):
        places.setdefault(attempt_id, []).append(node_id)
    return places


def count_lost_attempts(cluster: Cluster, job_id: int) -> int:
    """Attempts of the job whose shim disappeared."""
    lost = select(func.count()).where(Attempt.job_id == job_id, Attempt.end_code == "interrupted.shim_lost")
    with cluster.store.read() as session:
        return session.scalar(lost) or 0
