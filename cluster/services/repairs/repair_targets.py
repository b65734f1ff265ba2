"""The machines on which a repair works, and the jobs that hold units there."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState, OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import IS_NODE_KNOWN, Allocation, Node, Unit
from cluster.store.operations import Operation

MASTER = "master"
RUNNING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


@dataclass(frozen=True)
class RepairTarget:
    """One machine. `key` is locked while a repair works there; `host` is its name in the inventory."""

    key: str
    host: str
    node_id: int | None = None


def read_master_host(session: Session) -> str:
    """The master's name: the first node that reported. Before any has, it is `master`."""
    return session.scalar(select(Node.name).where(IS_NODE_KNOWN).order_by(Node.id).limit(1)) or MASTER


def master_target(cluster: Cluster, session: Session) -> RepairTarget:
    host = cluster.settings.master_node or read_master_host(session)
    return RepairTarget(MASTER, host, session.scalar(select(Node.id).where(Node.name == host)))


def list_node_targets(cluster: Cluster, session: Session) -> list[RepairTarget]:
    """Every node by its name. The one that is the master has the master's key."""
    master = cluster.settings.master_node or read_master_host(session)
    real = select(Node.id, Node.name).where(Node.simulated.is_(False), IS_NODE_KNOWN)
    rows = session.execute(real.order_by(Node.name))
    return [
        RepairTarget(MASTER if name == master else f"node-{number}", name, number) for number, name in rows
    ]


def choose_targets(choices: Sequence[RepairTarget], node_ids: Sequence[int]) -> list[RepairTarget]:
    """The chosen targets. A single choice is chosen already. Raises NotFound."""
    if not node_ids and len(choices) == 1:
        return list(choices)
    known = {target.node_id: target for target in choices}
    unknown = [number for number in node_ids if number not in known]
    if unknown:
        raise NotFound("node", unknown[0])
    return [known[number] for number in dict.fromkeys(node_ids)]


def list_jobs_on_targets(session: Session, node_ids: Sequence[int | None]) -> list[Job]:
    """The jobs that hold units on one of these nodes."""
    there = (
        select(Attempt.job_id)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Allocation.ended_at.is_(None), Unit.node_id.in_([each for each in node_ids if each]))
    )
    loads = (joinedload(Job.user), joinedload(Job.workspace))
    query = select(Job).where(Job.state.in_(RUNNING_STATES), Job.id.in_(there))
    return list(session.scalars(query.options(*loads).order_by(Job.id)))


def list_undrained_hosts(session: Session, targets: Sequence[RepairTarget]) -> list[str]:
    """The names of hosts that are not drained or still have running jobs."""
    drained = select(Node.id).where(Node.draining_since.is_not(None))
    empty = {*session.scalars(drained)}
    return [
        target.host
        for target in targets
        if target.node_id not in empty or list_jobs_on_targets(session, [target.node_id])
    ]


def list_running_operations(session: Session) -> list[Operation]:
    query = select(Operation).where(
        Operation.state == OperationState.RUNNING, Operation.kind != OperationKind.REPAIR
    )
    return list(session.scalars(query.options(joinedload(Operation.requester)).order_by(Operation.id)))
