"""Lists live attempts with all facts that the scheduler needs, in two queries however many there are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select

from cluster.domain.jobs.attempts import NodeFate
from cluster.domain.nodes.node_state import NodeSignals, is_node_gone, node_fate_since, worst_fate
from cluster.domain.states import AttemptState, DesiredState, JobKind
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
    continues_job_id: int | None = None
    continues_from: str | None = None
    """The other job with whose checkpoint the first attempt begins, and that checkpoint."""
    stop_cause_code: str | None = None
    stop_cause_data: Mapping[str, Any] | None = None
    kind: JobKind = JobKind.PROGRAM
    training_id: int = 0
    user_id: int = 0
    node_fate: NodeFate = NodeFate.SAME_BOOT
    """The gravest fate among the attempt's nodes."""
    fate_node: str = ""
    """The node that has this fate."""
    lost_nodes: frozenset[str] = frozenset()
    """The nodes of the attempt that are lost or have rebooted: the scheduler waits no longer for what ran there."""
    nodes: int = 1

    @property
    def cause(self) -> StopCause | None:
        """The reason why the attempt is ended although nobody asked for it."""
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
    Job.continues_job_id,
    Job.continues_from,
    Attempt.stop_cause_code,
    Attempt.stop_cause_data,
    Job.kind,
    Job.training_id,
    Job.user_id,
)


NODE_SIGNAL_COLUMNS = (
    Node.name,
    Node.heartbeat_at,
    Node.has_executor,
    Node.draining_since,
    Node.lost_at,
    Node.booted_at,
)
"""The columns of a node without its facts, which are large and which only pages need."""
LIVE_ATTEMPTS = (
    select(*ATTEMPT_COLUMNS)
    .join(Job, Job.id == Attempt.job_id)
    .where(Attempt.ended_at.is_(None))
    .order_by(Attempt.id)
)
ATTEMPT_NODES = (
    select(Allocation.attempt_id, *NODE_SIGNAL_COLUMNS)
    .join(Unit, Unit.id == Allocation.unit_id)
    .join(Node, Node.id == Unit.node_id)
    .where(Allocation.ended_at.is_(None))
    .distinct()
)
SOME_LIVE_ATTEMPTS = LIVE_ATTEMPTS.where(Attempt.id.in_(bindparam("ids", expanding=True)))
SOME_ATTEMPT_NODES = ATTEMPT_NODES.where(Allocation.attempt_id.in_(bindparam("ids", expanding=True)))
"""The statements are built once, because every pass of the scheduler runs them."""


def list_live_attempts(cluster: Cluster, only: Collection[int] | None = None) -> list[LiveAttempt]:
    """Lists live attempts in the order in which they were made; of the attempts `only` if it is given."""
    now = cluster.clock()
    with cluster.store.read() as session:
        if only is None:
            rows = session.execute(LIVE_ATTEMPTS).all()
            found = session.execute(ATTEMPT_NODES).all() if rows else ()
        else:
            rows = session.execute(SOME_LIVE_ATTEMPTS, {"ids": list(only)}).all()
            found = session.execute(SOME_ATTEMPT_NODES, {"ids": list(only)}).all() if rows else ()
    nodes: dict[int, list[tuple[str, NodeSignals]]] = {}
    for each in found:
        nodes.setdefault(each[0], []).append((each[1], NodeSignals(*each[2:])))
    living = []
    for row in rows:
        there = nodes.get(row[0], [])
        fates = {name: node_fate_since(signs, row[7], now) for name, signs in there}
        fate = worst_fate(fates.values())
        where = next((name for name, own in fates.items() if own is fate), "")
        gone = frozenset(name for name, each in fates.items() if is_node_gone(each))
        known = LiveAttempt(*row)
        living.append(
            replace(known, node_fate=fate, fate_node=where, lost_nodes=gone, nodes=max(1, len(there)))
        )
    return living


def count_lost_attempts(cluster: Cluster, job_id: int) -> int:
    """The number of the job's attempts whose shim disappeared."""
    lost = select(func.count()).where(Attempt.job_id == job_id, Attempt.end_code == "interrupted.shim_lost")
    with cluster.store.read() as session:
        return session.scalar(lost) or 0
