"""Chooses where a repair works (the master, or selected nodes), and reads which jobs run there and which run has
locked them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.repairs import RepairLock, RepairRun

MASTER = "master"
RUNNING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
WITH_PEOPLE = (joinedload(RepairRun.requester), joinedload(RepairRun.operation))


@dataclass(frozen=True)
class RepairTarget:
    """One machine: `key` is held while a repair works there, `host` is its name in the inventory."""

    key: str
    host: str
    node_id: int | None = None


def read_master_host(session: Session) -> str:
    """The first node that reported is the machine itself; before any has, the word for it."""
    return session.scalar(select(Node.name).order_by(Node.id).limit(1)) or MASTER


def master_target(cluster: Cluster, session: Session) -> RepairTarget:
    host = cluster.settings.master_node or read_master_host(session)
    return RepairTarget(MASTER, host, session.scalar(select(Node.id).where(Node.name == host)))


def list_node_targets(cluster: Cluster, session: Session) -> list[RepairTarget]:
    """Every node by its name; the one that is also the master is held by that name."""
    master = cluster.settings.master_node or read_master_host(session)
    rows = session.execute(select(Node.id, Node.name).where(Node.simulated.is_(False)).order_by(Node.name))
    return [
        RepairTarget(MASTER if name == master else f"node-{number}", name, number) for number, name in rows
    ]


def choose_targets(choices: Sequence[RepairTarget], node_ids: Sequence[int]) -> list[RepairTarget]:
    """The only one is chosen already. Raises NotFound."""
    if not node_ids and len(choices) == 1:
        return list(choices)
    known = {target.node_id: target for target in choices}
    unknown = [number for number in node_ids if number not in known]
    if unknown:
        raise NotFound("node", unknown[0])
    return [known[number] for number in dict.fromkeys(node_ids)]


def list_jobs_on_targets(session: Session, node_ids: Sequence[int | None]) -> list[Job]:
    """Those that hold units on one of these nodes."""
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
    """Names of those that are not drained, or where something still runs."""
    drained = select(Node.id).where(Node.draining_since.is_not(None))
    empty = {*session.scalars(drained)}
    return [
        target.host
        for target in targets
        if target.node_id not in empty or list_jobs_on_targets(session, [target.node_id])
    ]


def find_locking_run(session: Session, targets: Sequence[RepairTarget]) -> RepairRun | None:
    """The first that holds one of these."""
    holders = select(RepairLock.run_id).where(
        RepairLock.target.in_([target.key for target in targets]), RepairLock.released_at.is_(None)
    )
    query = select(RepairRun).where(RepairRun.id.in_(holders)).order_by(RepairRun.id).limit(1)
    return session.scalar(query.options(*WITH_PEOPLE))
