"""The administrator of the tests of the audit."""

import pytest

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from tests.builders import actor_of, an_administrator


@pytest.fixture
def chief(cluster: Cluster) -> Actor:
    return actor_of(an_administrator(cluster))
