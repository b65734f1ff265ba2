"""A sweep is shown to those who see its training."""

import pytest

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState, Visibility
from cluster.services.context import Cluster
from cluster.services.sweeps import queries
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import actor_of
from tests.store.sweep_setup import Lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster)


def test_whoever_sees_the_training_sees_its_sweeps(lab: Lab) -> None:
    with lab.cluster.store.write() as session:
        session.get_one(Training, lab.training.id).visibility = Visibility.PRIVATE
        session.get_one(Training, lab.training.id).members = [session.get_one(User, lab.member.id)]
    sweep = lab.submit()
    assert queries.read_sweep(lab.cluster, actor_of(lab.manager), sweep.id).id == sweep.id
    with pytest.raises(NotFound):
        queries.read_sweep(lab.cluster, actor_of(lab.other), sweep.id)


def test_the_jobs_of_a_sweep_are_counted_by_state(lab: Lab) -> None:
    sweep, other = lab.submit(), lab.submit()
    with lab.cluster.store.write() as session:
        session.get_one(Job, lab.jobs(sweep)[0].id).state = JobState.FAILED
    with lab.cluster.store.read() as session:
        assert queries.count_job_states(session, sweep.id) == {JobState.FAILED: 1, JobState.WAITING: 2}
        assert queries.count_job_states(session, other.id) == {JobState.WAITING: 3}
        assert queries.count_job_states(session, other.id + 1) == {}
