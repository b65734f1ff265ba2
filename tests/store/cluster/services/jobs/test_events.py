"""The history of jobs, and who is told that jobs have changed."""

import pytest
from sqlalchemy import select

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs import events
from cluster.store.jobs import Job, JobEvent
from tests.builders import a_job, a_training, a_workspace
from tests.conftest import RecordingBell


@pytest.fixture
def jobs(cluster: Cluster) -> list[Job]:
    training = a_training(cluster, a_workspace(cluster))
    return [a_job(cluster, training, priority=number) for number in range(3)]


def history(cluster: Cluster) -> list[tuple[int, str, str, object]]:
    with cluster.store.read() as session:
        found = session.scalars(select(JobEvent).order_by(JobEvent.job_id, JobEvent.id)).all()
        assert {each.at for each in found} <= {cluster.clock()}
        return [(each.job_id, each.state, each.code, each.data) for each in found]


def test_a_line_of_history_says_when_what_and_why(cluster: Cluster, jobs: list[Job]) -> None:
    with cluster.store.write() as session:
        events.add_job_event(
            session, jobs[0], cluster.clock(), JobState.STOPPING, "job.stop_requested", {"by": "a"}
        )
    assert history(cluster) == [(jobs[0].id, "stopping", "job.stop_requested", {"by": "a"})]


def test_many_jobs_have_a_line_each(cluster: Cluster, jobs: list[Job]) -> None:
    lines = [(job.id, f"waiting.{number}", {"number": number}) for number, job in enumerate(jobs)]
    with cluster.store.write() as session:
        events.add_job_events(session, cluster.clock(), JobState.WAITING, lines)
        events.add_job_events(session, cluster.clock(), JobState.WAITING, [])
    assert history(cluster) == [(job_id, "waiting", code, data) for job_id, code, data in lines]


def test_the_database_itself_writes_a_line_for_each_job_of_a_query(cluster: Cluster, jobs: list[Job]) -> None:
    with cluster.store.write() as session:
        some = select(Job.id).where(Job.priority > 0)
        now = cluster.clock()
        events.add_job_events_by_query(session, some, now, JobState.STOPPED, "sweep.stopped", {"by": "a"})
        events.add_job_events_by_query(session, some.where(Job.priority > 1), now, JobState.STOPPED, "x")
    said = ("stopped", "sweep.stopped", {"by": "a"})
    assert history(cluster) == [
        (jobs[1].id, *said),
        (jobs[2].id, *said),
        (jobs[2].id, "stopped", "x", {}),
    ]


@pytest.mark.parametrize(("ids", "rung"), [((), []), ((7, 9), [("jobs", 7), ("jobs", 9), ("queue", 0)])])
def test_each_job_is_published_and_the_queue_once(
    cluster: Cluster, bell: RecordingBell, ids: tuple[int, ...], rung: list[tuple[str, int]]
) -> None:
    events.publish_jobs(cluster, *ids)
    assert bell.rung == rung


def test_one_event_stands_for_all_jobs(cluster: Cluster, bell: RecordingBell) -> None:
    events.publish_all_jobs(cluster)
    assert set(bell.rung) == {("queue", 0), ("jobs", 0)}
