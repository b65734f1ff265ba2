"""Gives units to who may start and writes why the rest waits: one transaction per look at the queue."""

from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from cluster.domain.placement import Decision, Placed, Waiting
from cluster.domain.states import Desired, JobState
from cluster.domain.waiting import to_data
from cluster.services.attempts import note, ring
from cluster.services.context import Cluster
from cluster.services.leases import Held, check_lease
from cluster.services.placing import read_board
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node, Unit


def place_waiting(cluster: Cluster, held: Held) -> list[int]:
    """Starts what fits and writes why the rest waits; the ids of the new attempts.

    Looks before it locks: a queue in which nothing changes costs no write. Raises LeaseLost.
    """
    with cluster.store.read() as session:
        if not any(is_news(session, decision) for decision in decide_all(cluster, session)):
            return []
    now = cluster.clock()
    attempts: list[Attempt] = []
    changed: list[int] = []
    with cluster.store.write(lock="placement") as session:
        check_lease(session, held)
        for decision in decide_all(cluster, session):
            if not is_news(session, decision):
                continue
            changed.append(decision.job_id)
            if isinstance(decision, Placed):
                attempts.extend(give_units(session, decision, now))
            else:
                write_reason(session, decision, now)
    ring(cluster, *changed)
    return [attempt.id for attempt in attempts]


def decide_all(cluster: Cluster, session: Session) -> list[Decision]:
    board = read_board(cluster, session)
    return board.decide()


def is_news(session: Session, decision: Decision) -> bool:
    if isinstance(decision, Placed):
        return True
    job = session.get_one(Job, decision.job_id)
    known = (decision.reason.code, to_data(decision.reason, decision.outlook))
    return (job.waiting_code, job.waiting_data) != known


def write_reason(session: Session, decision: Waiting, now: datetime) -> None:
    """The row has the newest data; the history gets a line only for a new kind of reason."""
    job = session.get_one(Job, decision.job_id)
    data = to_data(decision.reason, decision.outlook)
    is_new_kind = job.waiting_code != decision.reason.code
    written = session.execute(
        update(Job)
        .where(Job.id == job.id, Job.state == JobState.WAITING, Job.fence == job.fence)
        .values(waiting_code=decision.reason.code, waiting_data=data)
        .returning(Job.id)
    )
    if written.first() and is_new_kind:
        note(session, job, now, JobState.WAITING, decision.reason.code, data)


def give_units(session: Session, decision: Placed, now: datetime) -> list[Attempt]:
    """The new attempt with its allocations; none where the job has changed meanwhile."""
    job = session.get_one(Job, decision.job_id)
    taken = session.execute(
        update(Job)
        .where(
            Job.id == job.id,
            Job.state == JobState.WAITING,
            Job.desired == Desired.RUN,
            Job.fence == job.fence,
        )
        .values(
            state=JobState.STARTING,
            fence=job.fence + 1,
            dispatched_at=job.dispatched_at or now,
            waiting_code=None,
            waiting_data=None,
        )
        .returning(Job.fence)
    ).first()
    if taken is None:
        return []
    attempt = Attempt(
        job_id=job.id,
        number=taken.fence,
        node_id=decision.node_id,
        created_at=now,
        allocations=[Allocation(unit_id=unit, begun_at=now) for unit in decision.unit_ids],
    )
    session.add(attempt)
    session.flush()
    node = session.get_one(Node, decision.node_id)
    kind = session.get_one(Unit, decision.unit_ids[0]).kind.value
    data = {"attempt": attempt.number, "node": node.name, "units": len(decision.unit_ids), "kind": kind}
    note(session, job, now, JobState.STARTING, "job.placed", data)
    return [attempt]
