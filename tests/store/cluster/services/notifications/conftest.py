"""People in an installation that can notify them."""

from datetime import timedelta

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, renew_lease
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_node, a_training, a_user, a_workspace
from tests.notification_lab import with_channels


@pytest.fixture
def lab(cluster: Cluster) -> Cluster:
    a_node(cluster, units=4)
    return with_channels(cluster)


@pytest.fixture
def held(cluster: Cluster, held: HeldLease) -> HeldLease:
    """The scheduler's lease for as long as these tests move the clock."""
    renew_lease(cluster, held, timedelta(days=100))
    return held


@pytest.fixture
def minji(lab: Cluster) -> User:
    return a_user(lab, "minji")


@pytest.fixture
def training(lab: Cluster, minji: User) -> Training:
    return a_training(lab, a_workspace(lab, manager=minji, units=4))
