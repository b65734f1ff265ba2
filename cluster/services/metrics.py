"""The installation in numbers, for whoever watches it: a fixed number of statements, however long the queue is."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from sqlalchemy import and_, func, literal, or_, select
from sqlalchemy.orm import Session

from cluster.domain.disks import reserve_of
from cluster.domain.kube.standing import Standing, parse_standing
from cluster.domain.nodes import state_of
from cluster.domain.states import JobState, NodeState, OperationState, UnitState
from cluster.services.audit_seals import CHECKED
from cluster.services.backups import last_proven, read_backups
from cluster.services.context import Cluster
from cluster.services.disks import disk_of
from cluster.services.job_counts import first_submitted, is_state
from cluster.services.kubernetes import STANDING
from cluster.services.pulse import PULSE, Pulse, parse_pulse
from cluster.store.jobs import IS_LIVING, Job
from cluster.store.leases import Fact
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.operations import Operation
from cluster.store.queue import QueueTotal

MOST_HELD = 100_000
AT_WORK = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
OPEN_OPERATIONS = (OperationState.REQUESTED, OperationState.RUNNING, OperationState.INTERRUPTED)
UNIT_FATES = ("free", "booked", "broken", "lost", "closed")
"""`lost`: its node does not answer; `closed`: its node is drained or cannot start anything."""
FATE_OF_NODE = {
    NodeState.READY: "free",
    NodeState.UNREACHABLE: "lost",
    NodeState.LOST: "lost",
}


@dataclass(frozen=True)
class Numbers:
    """Ages and times are seconds, `inf` for what has never been; sizes are bytes."""

    version: str
    jobs: Mapping[str, int]
    """By state; `waiting` as the scheduler last counted it, held ones apart."""
    oldest_waiting_seconds: float
    """Of those that nobody holds."""
    units: Mapping[str, int]
    nodes: Mapping[str, int]
    operations: Mapping[str, int]
    backup_age: float
    """Of the newest backup that was restored and found whole."""
    audit_age: float
    audit_is_whole: bool
    pulse_age: float
    pulse: Pulse | None
    disk_free: int
    disk_bytes: int
    disk_reserve: int
    kubernetes: Standing | None = None
    """As it was last seen; None where jobs do not run on it."""


def read_numbers(cluster: Cluster) -> Numbers:
    now = cluster.clock()
    disk = disk_of(cluster.settings.state_dir)
    with cluster.store.read() as session:
        facts = {
            fact.name: fact
            for fact in session.scalars(select(Fact).where(Fact.name.in_((PULSE, CHECKED, STANDING))))
        }
        nodes = {node.id: state_of(node, now) for node in session.scalars(select(Node))}
        jobs, units = count_jobs(session), count_units(session, nodes)
        operations = count_operations(session)
        oldest = first_submitted(session, Job.held_at.is_(None))
    proven = last_proven(read_backups(cluster.settings.backups))
    checked: dict[str, Any] = facts[CHECKED].value if CHECKED in facts else {}
    pulse = parse_pulse(facts.get(PULSE))
    by_state = Counter(nodes.values())
    return Numbers(
        version=cluster.settings.version,
        jobs=jobs,
        oldest_waiting_seconds=age(oldest, now) if oldest else 0.0,
        units=units,
        nodes={state.value: by_state[state] for state in NodeState},
        operations=operations,
        backup_age=age(proven.made_at if proven else None, now),
        audit_age=age(datetime.fromisoformat(checked["at"]) if checked else None, now),
        audit_is_whole=bool(checked) and not checked.get("code"),
        pulse_age=age(pulse.at if pulse else None, now),
        pulse=pulse,
        disk_free=disk.free,
        disk_bytes=disk.whole,
        disk_reserve=reserve_of(disk.whole, cluster.settings.disk_reserve_bytes),
        kubernetes=parse_standing(facts[STANDING].value) if STANDING in facts else None,
    )


def age(at: datetime | None, now: datetime) -> float:
    return max(0.0, (now - at).total_seconds()) if at else inf


def count_jobs(session: Session) -> dict[str, int]:
    """What waits is summed from the shapes that the scheduler counts; what is at work holds units, so it is few."""
    held = select(literal(1)).where(is_state(JobState.WAITING), Job.held_at.is_not(None)).limit(MOST_HELD)
    waiting, kept = session.execute(
        select(
            select(func.coalesce(func.sum(QueueTotal.jobs), 0)).scalar_subquery(),
            select(func.count()).select_from(held.subquery()).scalar_subquery(),
        )
    ).one()
    working = or_(*(is_state(state) for state in AT_WORK))
    query = select(Job.state, func.count()).where(IS_LIVING, working).group_by(Job.state)
    at_work = {state: count for state, count in session.execute(query)}  # noqa: C416
    found = {state.value: at_work.get(state, 0) for state in AT_WORK}
    return {"waiting": int(waiting), "held": kept, **found}


def count_units(session: Session, nodes: Mapping[int, NodeState]) -> dict[str, int]:
    """Who holds a unit comes first, then whether it works, then its node."""
    living = and_(Allocation.unit_id == Unit.id, Allocation.ended_at.is_(None))
    is_held = Allocation.id.is_not(None)
    query = (
        select(Unit.node_id, Unit.state, is_held, func.count())
        .join(Allocation, living, isouter=True)
        .where(or_(Unit.state != UnitState.GONE, is_held))
        .group_by(Unit.node_id, Unit.state, is_held)
    )
    found = dict.fromkeys(UNIT_FATES, 0)
    for node_id, state, held, count in session.execute(query):
        if node_id not in nodes:
            continue  # It has reported since they were read; the next reading has it.
        broken = "broken" if state is not UnitState.OK else FATE_OF_NODE.get(nodes[node_id], "closed")
        found["booked" if held else broken] += count
    return found


def count_operations(session: Session) -> dict[str, int]:
    query = (
        select(Operation.state, func.count())
        .where(Operation.state.in_(OPEN_OPERATIONS))
        .group_by(Operation.state)
    )
    found = {state: count for state, count in session.execute(query)}  # noqa: C416
    return {state.value: found.get(state, 0) for state in OPEN_OPERATIONS}
