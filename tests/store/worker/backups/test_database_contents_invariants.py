"""A copy of a database in which a rule of jobs is broken is refused by the rule's name."""

from collections.abc import Callable
from contextlib import closing

import pytest

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.engine import Store
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, a_training, a_workspace, add, holding
from worker.backups.database_contents import INVARIANTS, check_invariants
from worker.backups.errors import BackupBroken


@pytest.fixture
def lab(cluster: Cluster) -> Cluster:
    """One job runs with an attempt that holds a unit, one waits and one has ended."""
    training = a_training(cluster, a_workspace(cluster))
    holding(cluster, a_job(cluster, training, state=JobState.RUNNING), a_node(cluster).units[:1])
    a_job(cluster, training)
    a_job(cluster, training, state=JobState.FINISHED, ended_at=cluster.clock(), end_code="exit.finished")
    return cluster


def change_running_job(cluster: Cluster, state: JobState) -> None:
    with cluster.store.write() as session:
        session.query(Job).filter(Job.state == JobState.RUNNING).one().state = state


def end_attempt(cluster: Cluster) -> None:
    with cluster.store.write() as session:
        session.query(Attempt).one().ended_at = cluster.clock()


def run_without_attempt(cluster: Cluster) -> None:
    with cluster.store.read() as session:
        training = session.query(Job).first()
        assert training is not None
    add(
        cluster,
        Job(
            workspace_id=training.workspace_id, training_id=training.training_id, user_id=training.user_id,
            name="lost", state=JobState.STARTING, units=1, launcher=training.launcher, command=[],
            submitted_at=cluster.clock(), position=1,
        ),
    )  # fmt: skip


def end_without_cause(cluster: Cluster) -> None:
    with cluster.store.write() as session:
        session.query(Job).filter(Job.state == JobState.FINISHED).one().end_code = None


def check(cluster: Cluster) -> None:
    with cluster.store.read() as session:
        check_invariants(session.connection())


def test_whole_rows_are_accepted(lab: Cluster) -> None:
    check(lab)


@pytest.mark.parametrize(
    ("code", "break_it"),
    [
        ("broken.ended_holds", end_attempt),
        ("broken.no_attempt", run_without_attempt),
        ("broken.attempt_too_many", lambda cluster: change_running_job(cluster, JobState.WAITING)),
        ("broken.no_cause", end_without_cause),
    ],
)
def test_a_broken_rule_is_named_with_a_row(
    lab: Cluster, code: str, break_it: Callable[[Cluster], None]
) -> None:
    break_it(lab)
    with pytest.raises(BackupBroken) as broken:
        check(lab)
    assert broken.value.code == code
    assert isinstance(broken.value.data["number"], int)


@pytest.mark.parametrize("code", ["broken.unit_twice", "broken.two_attempts"])
def test_what_the_database_itself_forbids_is_asked_too(lab: Cluster, code: str) -> None:
    """The unique indexes are dropped first, as in a copy that somebody has changed by hand."""
    with closing(Store(lab.settings.owner_url)) as owner, owner.write() as session:
        connection = session.connection()
        attempt, allocation = session.query(Attempt).one(), session.query(Allocation).one()
        for table in (Attempt.__table__, Allocation.__table__):
            for index in table.indexes:  # type: ignore[attr-defined]
                if index.unique:
                    connection.exec_driver_sql(f"DROP INDEX IF EXISTS {index.name}")
        if code == "broken.two_attempts":
            session.add(Attempt(job_id=attempt.job_id, number=2, state=attempt.state, node_id=attempt.node_id,
                                created_at=lab.clock()))  # fmt: skip
        else:
            session.add(Allocation(attempt_id=attempt.id, unit_id=allocation.unit_id, begun_at=lab.clock()))
    with pytest.raises(BackupBroken, match=code):
        check(lab)


def test_each_rule_is_tried_here() -> None:
    assert set(INVARIANTS) == {
        "broken.ended_holds",
        "broken.no_attempt",
        "broken.attempt_too_many",
        "broken.no_cause",
        "broken.unit_twice",
        "broken.two_attempts",
    }
