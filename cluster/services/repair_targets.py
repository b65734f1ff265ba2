"""Where a repair works: the master, or chosen nodes; what runs there, and which repair holds them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.repairs import RepairHold, RepairRun

MASTER = "master"
RUNNING = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
WITH_PEOPLE = (joinedload(RepairRun.asker), joinedload(RepairRun.operation))


@dataclass(frozen=True)
class Target:
    """One machine: `key` is held while a repair works there, `host` is its name in the inventory."""

    key: str
    host: str
    node_id: int | None = None


def host_of_master(session: Session) -> str:
    """The first node that reported is the machine itself; before any has, the word for it."""
    return session.scalar(select(Node.name).order_by(Node.id).limit(1)) or MASTER


def master_of(cluster: Cluster, session: Session) -> Target:
    host = cluster.settings.master_node or host_of_master(session)
    return Target(MASTER, host, session.scalar(select(Node.id).where(Node.name == host)))


def list_nodes(cluster: Cluster, session: Session) -> list[Target]:
    """Every node by its name; the one that is also the master is held by that name."""
    master = cluster.settings.master_node or host_of_master(session)
    rows = session.execute(select(Node.id, Node.name).where(Node.simulated.is_(False)).order_by(Node.name))
    return [Target(MASTER if name == master else f"node-{number}", name, number) for number, name in rows]


def choose(choices: Sequence[Target], node_ids: Sequence[int]) -> list[Target]:
    """The only one is chosen already. Raises NotFound."""
    if not node_ids and len(choices) == 1:
        return list(choices)
    known = {target.node_id: target for target in choices}
    unknown = [number for number in node_ids if number not in known]
    if unknown:
        raise NotFound("node", unknown[0])
    return [known[number] for number in dict.fromkeys(node_ids)]


def running_jobs(session: Session, node_ids: Sequence[int | None]) -> list[Job]:
    """Those that hold units on one of these nodes."""
    there = (
        select(Attempt.job_id)
        .join(Allocation, Allocation.attempt_id == Attempt.id)
        .join(Unit, Unit.id == Allocation.unit_id)
        .where(Allocation.ended_at.is_(None), Unit.node_id.in_([each for each in node_ids if each]))
    )
    loads = (joinedload(Job.user), joinedload(Job.workspace))
    query = select(Job).where(Job.state.in_(RUNNING), Job.id.in_(there))
    return list(session.scalars(query.options(*loads).order_by(Job.id)))


def read_busy(session: Session, targets: Sequence[Target]) -> list[str]:
    """Names of those that are not drained, or where something still runs."""
    drained = select(Node.id).where(Node.draining_since.is_not(None))
    empty = {*session.scalars(drained)}
    return [
        target.host
        for target in targets
        if target.node_id not in empty or running_jobs(session, [target.node_id])
    ]


def read_under_way(session: Session, targets: Sequence[Target]) -> RepairRun | None:
    """The first that holds one of these."""
    holders = select(RepairHold.run_id).where(
        RepairHold.target.in_([target.key for target in targets]), RepairHold.released_at.is_(None)
    )
    query = select(RepairRun).where(RepairRun.id.in_(holders)).order_by(RepairRun.id).limit(1)
    return session.scalar(query.options(*WITH_PEOPLE))
