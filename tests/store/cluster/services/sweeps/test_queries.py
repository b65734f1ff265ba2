"""A sweep is shown to those who see its training."""

import pytest

from cluster.domain.errors import NotFound
from cluster.domain.states import Visibility
from cluster.services.context import Cluster
from cluster.services.sweeps import queries
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
