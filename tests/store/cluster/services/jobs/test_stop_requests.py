"""A waiting job has ended once somebody wants it stopped; a running one is stopped by the scheduler."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, NotFound
from cluster.domain.states import DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs.stop_requests import can_stop_job, stop_job
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job, JobEvent
from tests.builders import a_job, a_user, actor_of, an_administrator
from tests.conftest import RecordingBell
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def read(cluster: Cluster, job: Job) -> Job:
    with cluster.store.read() as session:
        return session.get_one(Job, job.id)


@pytest.mark.parametrize(
    ("state", "after", "end_code"),
    [
        (JobState.WAITING, JobState.STOPPED, "exit.stopped_while_waiting"),
        (JobState.STARTING, JobState.STOPPING, None),
        (JobState.RUNNING, JobState.STOPPING, None),
    ],
)
def test_the_wish_is_recorded_once_with_its_history(
    cluster: Cluster, lab: Lab, bell: RecordingBell, state: JobState, after: JobState, end_code: str | None
) -> None:
    job = a_job(cluster, lab.training, lab.member, state=state)
    bell.rung.clear()
    for _ in range(2):
        assert stop_job(cluster, lab.actor, job.id).state is after or end_code
        if end_code:
            break
    found = read(cluster, job)
    assert (found.state, found.desired, found.end_code) == (after, DesiredState.STOP, end_code)
    assert found.stopped_by == lab.member.id
    assert (found.ended_at == cluster.clock()) is (end_code is not None)
    assert bell.rung[:2] == [("queue", job.id), ("jobs", job.id)]
    with cluster.store.read() as session:
        lines = session.execute(select(JobEvent.state, JobEvent.code).where(JobEvent.job_id == job.id)).all()
        audited = session.scalars(select(AuditEntry.object_id).where(AuditEntry.action == lines[0][1])).all()
    assert [tuple(line) for line in lines] == [(after.value, "job.stop_requested")]
    assert audited == [job.id]


@pytest.mark.parametrize("state", [JobState.FINISHED, JobState.FAILED, JobState.STOPPED])
def test_what_has_ended_is_stopped_no_more(cluster: Cluster, lab: Lab, state: JobState) -> None:
    job = a_job(cluster, lab.training, lab.member, state=state, ended_at=cluster.clock())
    with pytest.raises(Conflict) as refused:
        stop_job(cluster, lab.actor, job.id)
    assert refused.value.code == "job.has_ended"
    assert read(cluster, job).desired is DesiredState.RUN


def test_only_those_who_may_stop_it(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training, lab.manager)
    stranger = actor_of(a_user(cluster))
    with cluster.store.read() as session:
        row = session.get_one(Job, job.id)
        allowed = [
            can_stop_job(actor, row)
            for actor in (actor_of(lab.manager), actor_of(an_administrator(cluster)), lab.actor)
        ]
    assert allowed == [True, True, False]
    with pytest.raises(Forbidden):
        stop_job(cluster, lab.actor, job.id)
    with pytest.raises(NotFound):
        stop_job(cluster, stranger, job.id)
    assert read(cluster, job).desired is DesiredState.RUN
