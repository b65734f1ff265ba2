"""The writes of one decision by the driver alone, and one durable commit: what P2 could reach without reading.

The same rows change as in `place_waiting_jobs`, in one transaction, and nothing is looked for: what to book is known.
"""

import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Unit

LEASE = "SELECT fence FROM leases WHERE name = ? AND holder = ?"
RENEWAL = "UPDATE leases SET expires_at = ? WHERE name = ?"
CLAIM = (
    "UPDATE jobs SET state = 'starting', fence = fence + 1, dispatched_at = ?, waiting_code = NULL,"
    " waiting_data = NULL WHERE id = ? AND fence = ? AND state = 'waiting' AND desired = 'run' AND held_at IS NULL"
)
ATTEMPT = "INSERT INTO attempts (job_id, number, state, node_id, created_at) VALUES (?, ?, 'placed', ?, ?) RETURNING id"
ALLOCATION = "INSERT INTO allocations (unit_id, attempt_id, begun_at) VALUES (?, ?, ?)"
TURN = "UPDATE workspaces SET last_turn_at = ?, last_turn_attempt_id = ? WHERE id = ?"
EVENT = "INSERT INTO job_events (job_id, at, state, code, data) VALUES (?, ?, 'starting', 'job.placed', '{}')"


class DriverDesk:
    """The driver's own connection to the rows of a desk."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.kept = cluster.store.engine.raw_connection()
        self.connection: Any = self.kept.driver_connection
        self.begin = "BEGIN IMMEDIATE" if cluster.store.is_sqlite else "BEGIN"

    def execute(self, statement: str, *values: object) -> Any:
        mark = "?" if self.cluster.store.is_sqlite else "%s"
        return self.connection.execute(statement.replace("?", mark), values)

    def book(self, holder: str) -> float:
        """Seconds for one job that waits where a unit is free."""
        job, unit = self.next_booking()
        now = self.now()
        begun = time.perf_counter()
        self.execute(self.begin)
        self.execute(LEASE, "scheduler", holder).fetchone()
        self.execute(CLAIM, now, job.id, job.fence)
        attempt = self.execute(ATTEMPT, job.id, job.fence + 1, unit.node_id, now).fetchone()[0]
        self.execute(ALLOCATION, unit.id, attempt, now)
        self.execute(TURN, now, attempt, job.workspace_id)
        self.execute(EVENT, job.id, now)
        self.execute("COMMIT")
        return time.perf_counter() - begun

    def now(self, later: timedelta = timedelta(0)) -> Any:
        moment = datetime.now(UTC) + later
        return moment.replace(tzinfo=None).isoformat(" ") if self.cluster.store.is_sqlite else moment

    def next_booking(self) -> tuple[Job, Unit]:
        """Not part of what is measured."""
        busy = select(Job.workspace_id).join(Attempt).where(Attempt.ended_at.is_(None))
        taken = select(Allocation.unit_id).where(Allocation.ended_at.is_(None))
        waiting = select(Job).where(Job.state == JobState.WAITING, Job.workspace_id.not_in(busy))
        with self.cluster.store.read() as session:
            job = session.scalars(waiting.order_by(Job.id).limit(1)).one()
            unit = session.scalars(select(Unit).where(Unit.id.not_in(taken)).limit(1)).one()
        return job, unit

    def commit_one_row(self) -> float:
        """Seconds for one row's change to be durable."""
        begun = time.perf_counter()
        self.execute(self.begin)
        self.execute(RENEWAL, self.now(timedelta(hours=1)), "scheduler")
        self.execute("COMMIT")
        return time.perf_counter() - begun


def measure_bookings(desk: Any, chance: random.Random, count: int) -> tuple[list[float], list[float]]:
    """(seconds of each booking, of each commit of one row). `desk` is one of measures/decisions.py, all units busy."""
    driver = DriverDesk(desk.cluster)
    bookings, commits = [], []
    for _ in range(count):
        desk.end_one(chance)
        bookings.append(driver.book(desk.held.holder))
        commits.append(driver.commit_one_row())
    driver.kept.close()
    return bookings, commits
