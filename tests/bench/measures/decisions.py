"""Measures one decision of the scheduler while 1,000 to 100,000 jobs wait in 200 workspaces.

In process, without an executor: a unit comes free, and `place_waiting_jobs` has to find the job that gets it and commit
that. Beside it: one look at a queue in which nothing can start, and placements per second when many units are free.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import event, select, update

from cluster.domain.states import AttemptState, EnvironmentState, JobState, UnitKind
from cluster.event_bus import NullEventBus
from cluster.gc_freeze import freeze_startup_objects
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job
from cluster.store.migrate import upgrade_database
from cluster.store.nodes import Allocation, Node
from cluster.store.workspaces import Workspace
from tests.bench.bench_run import BESIDE, DURABLE, OURS, Ground
from tests.bench.bulk_rows import a_line_of_workspaces, clear, fill, gather_statistics
from tests.bench.floors.bookings import measure_bookings
from tests.builders import a_node, add, an_administrator

MEASURE = "P2"
TITLE = "The cost of a decision"
WORKSPACES = 200
NODES, UNITS = 25, 8
"""200 GPUs: one for each workspace."""


class Desk:
    """A cluster of rows only, with a scheduler's lease."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        person = an_administrator(cluster, "benchmark")
        for _ in range(NODES):
            a_node(cluster, units=UNITS, kind=UnitKind.GPU)
        with cluster.store.write() as session:
            # There is no agent here: one heartbeat has to last.
            session.execute(update(Node).values(heartbeat_at=cluster.clock() + timedelta(hours=1)))
        environment = Environment(
            name="default", digest="d", state=EnvironmentState.READY, path="/nonexistent"
        )
        environment.created_at = cluster.clock()
        add(cluster, environment, InstallationFact(name="default_environment", value={"digest": "d"}))
        self.trainings = a_line_of_workspaces(cluster, person, WORKSPACES)
        held = acquire_lease(cluster, "scheduler", "benchmark", timedelta(hours=1))
        assert held
        self.held: HeldLease = held
        self.statements, self.cpu_seconds = 0, 0.0
        event.listen(cluster.store.engine, "before_cursor_execute", self._count)

    def _count(self, *_: object) -> None:
        self.statements += 1

    def place(self, has_freed: bool = True) -> tuple[int, float, int]:
        """(attempts begun, seconds, statements) of one pass, as the scheduler makes it when a job has ended."""
        self.statements = 0
        begun, used = time.perf_counter(), time.process_time()
        placed = len(place_waiting_jobs(self.cluster, self.held, has_freed, has_freed))
        self.cpu_seconds = time.process_time() - used
        return placed, time.perf_counter() - begun, self.statements

    def fill(self, depth: int, units: int = 1) -> None:
        clear(self.cluster)
        fill(self.cluster, self.trainings, depth, units)

    def end_one(self, chance: random.Random) -> None:
        """A job that runs has ended, and its unit is free for one that waits in the same workspace."""
        waits = select(Job.workspace_id).where(Job.state == JobState.WAITING)
        running = (
            select(Attempt.id)
            .join(Attempt.job)
            .where(Attempt.ended_at.is_(None), Job.workspace_id.in_(waits))
            .order_by(Attempt.id)
        )
        with self.cluster.store.read() as session:
            self._end([chance.choice(session.scalars(running).all())])

    def end_all(self) -> None:
        with self.cluster.store.read() as session:
            self._end(list(session.scalars(select(Attempt.id).where(Attempt.ended_at.is_(None)))))

    def _end(self, attempts: list[int]) -> None:
        now = self.cluster.clock()
        jobs = select(Attempt.job_id).where(Attempt.id.in_(attempts))
        with self.cluster.store.write() as session:
            session.execute(
                update(Job).where(Job.id.in_(jobs)).values(state=JobState.FINISHED, ended_at=now),
                execution_options={"synchronize_session": False},
            )
            session.execute(
                update(Allocation).where(Allocation.attempt_id.in_(attempts)).values(ended_at=now),
                execution_options={"synchronize_session": False},
            )
            session.execute(
                update(Attempt)
                .where(Attempt.id.in_(attempts))
                .values(state=AttemptState.ENDED, ended_at=now),
                execution_options={"synchronize_session": False},
            )


def run(ground: Ground) -> None:
    with desks(ground) as known:
        for desk in known.values():  # as the scheduler does once it is ready
            desk.cluster.store.hold_open()
        freeze_startup_objects()
        for depth in (1_000, 10_000) if ground.is_quick else (1_000, 10_000, 100_000):
            for desk in known.values():
                desk.fill(depth + WORKSPACES)
                desk.place()
                gather_statistics(desk.cluster)
            alternate(ground, known, lambda name, desk, depth=depth: decide(ground, name, desk, depth))
            alternate(ground, known, lambda name, desk, depth=depth: book(ground, name, desk, depth))
            for desk in known.values():
                stand_still(desk)
                desk.place()
            alternate(ground, known, lambda name, desk, depth=depth: look(ground, name, desk, depth))
            for desk in known.values():
                let_go(desk)
            alternate(ground, known, lambda name, desk, depth=depth: sustain(ground, name, desk, depth))


def alternate(ground: Ground, known: dict[str, Desk], turn: Callable[[str, Desk], None]) -> None:
    for _ in range(ground.repeats):
        for name, desk in known.items():
            turn(name, desk)


def decide(ground: Ground, name: str, desk: Desk, depth: int) -> None:
    chance = random.Random(depth)
    seconds, statements, used = [], [], []
    for _ in range(ground.few(5, 40)):
        desk.end_one(chance)
        placed, took, asked = desk.place()
        used.append(desk.cpu_seconds * 1000)
        assert placed == 1, f"{placed} placements where one unit was free"
        seconds.append(took)
        statements.append(asked)
    ground.ledger.latencies(MEASURE, f"one decision, {depth:,} queued", name, seconds, DURABLE[name])
    case = f"statements per decision, {depth:,} queued"
    ground.ledger.value(MEASURE, case, name, "statements", sum(statements) / len(statements))
    case = f"our own CPU per decision, {depth:,} queued"
    ground.ledger.value(MEASURE, case, name, "ms", statistics.median(used))


def book(ground: Ground, name: str, desk: Desk, depth: int) -> None:
    """The floor: what a decision writes, by the driver alone."""
    bookings, commits = measure_bookings(desk, random.Random(depth + 1), ground.few(5, 40))
    floor = f"{MEASURE}, the floor"
    case = f"what a decision writes, by the driver alone, {depth:,} queued"
    ground.ledger.latencies(floor, case, name, bookings)
    ground.ledger.latencies(floor, f"a durable commit of one row, {depth:,} queued", name, commits)


def look(ground: Ground, name: str, desk: Desk, depth: int) -> None:
    seconds = []
    for _ in range(ground.few(2, 10)):
        placed, took, _ = desk.place(has_freed=False)
        assert placed == 0, "something started where nothing could"
        seconds.append(took)
    ground.ledger.latencies(MEASURE, f"a look at a blocked queue, {depth:,} queued", name, seconds)


def sustain(ground: Ground, name: str, desk: Desk, depth: int) -> None:
    """All units come free at once, and are all given again."""
    desk.end_all()
    placed, took = 0, 0.0
    while (more := desk.place())[0]:
        placed, took = placed + more[0], took + more[1]
    if placed:
        case = f"placements with {NODES * UNITS} units free, {depth:,} queued"
        ground.ledger.value(MEASURE, case, name, "/s", placed / took, DURABLE[name])


def stand_still(desk: Desk) -> None:
    """Every workspace's quota is used up by what it has."""
    desk.end_all()
    with desk.cluster.store.write() as session:
        session.execute(update(Workspace).values(units=0))


def let_go(desk: Desk) -> None:
    with desk.cluster.store.write() as session:
        session.execute(update(Workspace).values(units=1))
    desk.place()


@contextmanager
def desks(ground: Ground) -> Iterator[dict[str, Desk]]:
    """One on each database that is measured."""
    known: dict[str, Desk] = {}
    with tempfile.TemporaryDirectory(prefix="gc-desk-") as folder:
        urls = {}
        if BESIDE in ground.houses:
            urls[BESIDE] = f"sqlite:///{folder}/groundcrew.db"
            upgrade_database(urls[BESIDE])
        server = ground.houses[OURS].server if OURS in ground.houses else None
        if server:
            with server.migrated() as url:
                known[OURS] = Desk(a_cluster(url, Path(folder)))
                if BESIDE in urls:
                    known[BESIDE] = Desk(a_cluster(urls[BESIDE], Path(folder)))
                yield dict(sorted(known.items()))
                for desk in known.values():
                    desk.cluster.store.close()
            return
        known = {name: Desk(a_cluster(url, Path(folder))) for name, url in urls.items()}
        yield known
        for desk in known.values():
            desk.cluster.store.close()


def a_cluster(url: str, folder: Path) -> Cluster:
    settings = Settings(folder, folder, url, "unix:///nonexistent", "a key for measurements only")
    return Cluster(Store(url), NullEventBus(), settings)
