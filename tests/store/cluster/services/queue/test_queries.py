"""The queue as it is told: order, reasons, counts, pages; what a manager does to a line."""

import threading

from sqlalchemy import event, insert, select, text, update

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.jobs import queries, submission
from cluster.services.leases import HeldLease
from cluster.services.nodes import drain_effects
from cluster.services.queue import queries as queue
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.queue.queries import QueueFilters
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from cluster.store.trainings import Training
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_workspace,
    actor_of,
    an_administrator,
    first_positions,
    holding,
)
from tests.queue_reports import report_queue
from tests.store.conftest import line


def many(cluster: Cluster, training: Training, count: int, **columns: object) -> None:
    """Waiting jobs in one statement."""
    row = {
        "workspace_id": training.workspace_id, "training_id": training.id, "user_id": training.owner_id,
        "name": "many", "state": JobState.WAITING, "desired": DesiredState.RUN, "units": 1, "priority": 0,
        "launcher": Launcher.PLAIN, "command": [], "variables": {}, "submitted_at": cluster.clock(),
    }  # fmt: skip
    with cluster.store.write() as session:
        session.execute(insert(Job), [row | columns for _ in range(count)])
        session.execute(update(Job).where(Job.position == 0).values(position=first_positions()))


def test_a_line_is_told_page_by_page_in_its_true_order(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 1)
    training = a_training(cluster, a_workspace(cluster, units=1))
    low = [a_job(cluster, training) for _ in range(3)]
    high = a_job(cluster, training, priority=5)
    assert line(cluster, training.workspace_id) == [high.id, *(job.id for job in low)]


def test_everybodys_queue_begins_with_the_fronts_of_all_lines(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 2)
    first = a_training(cluster, a_workspace(cluster, units=1))
    second = a_training(cluster, a_workspace(cluster, units=1))
    for training in (first, second):
        with cluster.store.read() as session:
            units = session.scalars(select(Allocation.unit_id)).all()
        node = a_node(cluster, 1) if not units else a_node(cluster, 1)
        holding(cluster, a_job(cluster, training, state=JobState.RUNNING), node.units)
    mine = [a_job(cluster, first) for _ in range(3)]
    theirs = a_job(cluster, second)
    person = actor_of(an_administrator(cluster))
    report_queue(cluster)
    view = queue.read_queue(cluster, person)
    assert [row.id for row in view.waiting][0] == mine[0].id
    assert {row.id for row in view.waiting} == {theirs.id, *(job.id for job in mine)}
    seen, wanted = [], QueueFilters(limit=1)
    for _ in range(10):
        page = queue.read_queue(cluster, person, wanted)
        seen += [row.id for row in page.waiting]
        if page.next_after_head is None and page.next_after is None:
            break
        wanted = QueueFilters(limit=1, after=page.next_after, after_head=page.next_after_head)
    assert sorted(seen) == sorted(row.id for row in view.waiting)
    assert len(seen) == len(set(seen))


def test_where_units_came_free_the_queue_is_looked_at_once(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 1)
    a_job(cluster, a_training(cluster, a_workspace(cluster, units=1)))
    statements: list[str] = []
    event.listen(cluster.store.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert len(place_waiting_jobs(cluster, held, has_freed=True)) == 1
    assert sum("FROM units" in statement for statement in statements) == 1


def test_of_200_at_once_for_the_last_unit_one_wins(cluster: Cluster, held: HeldLease) -> None:
    """S22. They come from many hands at once while the scheduler gives units away."""
    person = an_administrator(cluster)
    a_node(cluster, 1)
    workspace = a_workspace(cluster, person, units=1)
    dataset = a_dataset(cluster, workspace)
    training = a_training(cluster, workspace, person)
    request = JobRequest(name="one", units=1, dataset_id=dataset.id, launcher=Launcher.PLAIN)
    troubles: list[Exception] = []

    def submit() -> None:
        try:
            for _ in range(25):
                submission.submit_job(cluster, actor_of(person), training.id, request)
        except Exception as trouble:  # noqa: BLE001
            troubles.append(trouble)

    hands = [threading.Thread(target=submit) for _ in range(8)]
    for hand in hands:
        hand.start()
    for hand in hands:
        while hand.is_alive():
            place_waiting_jobs(cluster, held)
            hand.join(0.05)  # SQLite's writers do not queue up: a loop without a pause would starve them.
    for hand in hands:
        hand.join()
    place_waiting_jobs(cluster, held)
    assert troubles == []
    with cluster.store.read() as session:
        states = session.scalars(select(Job.state)).all()
        assert len(session.scalars(select(Attempt)).all()) == 1
        assert len(session.scalars(select(Allocation).where(Allocation.ended_at.is_(None))).all()) == 1
    assert (len(states), states.count(JobState.STARTING), states.count(JobState.WAITING)) == (200, 1, 199)


def test_no_statement_of_the_hot_path_reads_jobs_without_an_index(cluster: Cluster, held: HeldLease) -> None:
    person = an_administrator(cluster)
    a_node(cluster, 2)
    trainings = [a_training(cluster, a_workspace(cluster, person, units=2)) for _ in range(3)]
    for training in trainings:
        many(cluster, training, 2000)
        many(cluster, training, 200, state=JobState.FINISHED)
    with cluster.store.engine.connect() as connection:
        outside = connection.execution_options(isolation_level="AUTOCOMMIT")
        outside.execute(text("ANALYZE"))  # Not vacuumed: a table in use is not always.
    said: list[tuple[str, object]] = []
    listener = lambda _c, _cursor, statement, parameters, _x, _m: said.append((statement, parameters))  # noqa: E731
    event.listen(cluster.store.engine, "before_cursor_execute", listener)
    place_waiting_jobs(cluster, held)
    place_waiting_jobs(cluster, held)
    wanted = [QueueFilters(), QueueFilters(workspace_id=trainings[0].workspace_id), QueueFilters(user_id=person.id),
              QueueFilters(reason="waiting.on_hold"), QueueFilters(after=(1 << 21, 1))]  # fmt: skip
    for one in wanted:
        queue.read_queue(cluster, actor_of(person), one)
    queue.read_queue_summary(cluster)
    queries.list_jobs(cluster, actor_of(person), [JobState.RUNNING, JobState.STARTING])
    drain_effects.read_drain_effect(cluster, actor_of(person), 1)
    event.remove(cluster.store.engine, "before_cursor_execute", listener)
    # On SQLite SQLAlchemy writes an offset of 0 beside every limit.
    assert cluster.store.is_sqlite or not [statement for statement, _ in said if " OFFSET " in statement]
    explain = "EXPLAIN QUERY PLAN " if cluster.store.is_sqlite else "EXPLAIN "
    bad = "SCAN jobs" if cluster.store.is_sqlite else "Seq Scan on jobs"
    with cluster.store.engine.connect() as connection:
        if not cluster.store.is_sqlite:
            # So small a table is sometimes read whole although an index would serve, by the statistics of that moment.
            connection.exec_driver_sql("SET enable_seqscan = off")
        for statement, parameters in said:
            if not statement.lstrip().startswith(("SELECT", "WITH")) or "jobs" not in statement:
                continue
            plan = connection.exec_driver_sql(explain + statement, parameters)
            lines = [str(row[-1]) for row in plan]
            scans = [one for one in lines if bad in one and "USING" not in one]
            assert not scans, (statement, lines)
        if not cluster.store.is_sqlite:
            connection.exec_driver_sql("RESET enable_seqscan")
