"""The attempts that live, with all that the scheduler decides from, in two queries however many there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from cluster.domain.attempts import NodeFate
from cluster.domain.nodes import fate_since, gravest
from cluster.domain.states import AttemptState, Desired
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit


@dataclass(frozen=True)
class LivingAttempt:
    """What the scheduler knows of an attempt that has not ended; `fence` is the job's now."""

    attempt_id: int
    job_id: int
    workspace_id: int
    number: int
    fence: int
    state: AttemptState
    desired: Desired
    created_at: datetime
    resume_from: str | None
    retries_left: int
    grace_seconds: int
    fate: NodeFate = NodeFate.SAME_BOOT
    """The gravest of its nodes."""
    fate_of: str = ""
    """The node whose fate it is."""
    nodes: int = 1


COLUMNS = (
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
)


def list_living(cluster: Cluster) -> list[LivingAttempt]:
    """In the order in which they were made."""
    now = cluster.clock()
    query = select(*COLUMNS).join(Job, Job.id == Attempt.job_id).where(Attempt.ended_at.is_(None))
    with cluster.store.read() as session:
        rows = session.execute(query.order_by(Attempt.id)).all()
        nodes = {node.id: node for node in session.scalars(select(Node))} if rows else {}
        places = read_places(session) if rows else {}
    living = []
    for row in rows:
        there = [nodes[node_id] for node_id in places.get(row[0], ())]
        fates = {node.name: fate_since(node, row[7], now) for node in there}
        fate = gravest(fates.values())
        where = next((name for name, each in fates.items() if each is fate), "")
        living.append(LivingAttempt(*row, fate, where, max(1, len(there))))
    return living


def read_places(session: Session) -> Mapping[int, list[int]]:
    """The nodes of each living attempt."""
    query = (
        select(Allocation.attempt_id, Unit.node_id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Allocation.ended_at.is_(None))
        .distinct()
    )
    places: dict[int, list[int]] = {}
    for attempt_id, node_id in session.execute(query):
        places.setdefault(attempt_id, []).append(node_id)
    return places


def count_lost(cluster: Cluster, job_id: int) -> int:
    """Attempts of the job whose shim disappeared."""
    lost = select(func.count()).where(Attempt.job_id == job_id, Attempt.end_code == "interrupted.shim_lost")
    with cluster.store.read() as session:
        return session.scalar(lost) or 0
