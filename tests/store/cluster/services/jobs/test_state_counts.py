"""How many jobs are in which state, as far as the reader may see them and never without a bound."""

from datetime import timedelta

import pytest

from cluster.domain.states import JobState, Visibility
from cluster.services.context import Cluster
from cluster.services.jobs import state_counts
from cluster.services.jobs.state_counts import count_live_jobs, read_oldest_submission
from cluster.store.jobs import Job
from cluster.store.trainings import TrainingMember
from cluster.store.workspaces import WorkspaceMember
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of, an_administrator
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def fill(cluster: Cluster, lab: Lab) -> None:
    """Three that wait, one of them held, one that runs and one that has ended; one more of others."""
    for changes in ({}, {}, {"held_at": cluster.clock(), "held_by": lab.manager.id}):
        a_job(cluster, lab.training, lab.member, **changes)
    a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    a_job(cluster, lab.training, lab.member, state=JobState.FINISHED, ended_at=cluster.clock())
    a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.WAITING)


def test_everybody_counts_what_they_may_see(cluster: Cluster, lab: Lab) -> None:
    fill(cluster, lab)
    counts = [
        count_live_jobs(cluster, actor_of(person))
        for person in (lab.member, an_administrator(cluster), a_user(cluster))
    ]
    assert counts == [{"waiting": 3, "running": 1}, {"waiting": 4, "running": 1}, {}]


def test_a_private_training_counts_for_those_who_see_it(cluster: Cluster, lab: Lab) -> None:
    named, owner = a_user(cluster), lab.manager
    with cluster.store.write() as session:
        for person in (named, lab.member):
            session.merge(WorkspaceMember(workspace_id=lab.workspace.id, user_id=person.id))
    private = a_training(cluster, lab.workspace, owner, "private", visibility=Visibility.PRIVATE)
    with cluster.store.write() as session:
        session.add(TrainingMember(training_id=private.id, user_id=named.id))
    a_job(cluster, private, owner)
    a_job(cluster, lab.training, lab.member)
    counts = [count_live_jobs(cluster, actor_of(person)) for person in (lab.member, named, owner)]
    assert counts == [{"waiting": 1}, {"waiting": 2}, {"waiting": 2}]


def test_no_count_is_unbounded(cluster: Cluster, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(cluster, lab)
    monkeypatch.setattr(state_counts, "MAX_AHEAD_COUNTED", 1)
    assert count_live_jobs(cluster, actor_of(an_administrator(cluster))) == {"waiting": 2, "running": 1}


def test_the_oldest_submission_of_those_that_wait(cluster: Cluster, lab: Lab) -> None:
    now = cluster.clock()
    a_job(cluster, lab.training, state=JobState.RUNNING, submitted_at=now - timedelta(hours=3))
    for hours, priority in ((2, 0), (1, 5)):
        a_job(cluster, lab.training, submitted_at=now - timedelta(hours=hours), priority=priority)
    with cluster.store.read() as session:
        assert read_oldest_submission(session) == now - timedelta(hours=2)
        assert read_oldest_submission(session, Job.priority == 5) == now - timedelta(hours=1)
        assert read_oldest_submission(session, Job.priority == 9) is None
