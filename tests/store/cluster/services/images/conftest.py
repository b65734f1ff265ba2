"""A workspace with a training, whose people ask for environments."""

import pytest

from cluster.services.context import Cluster
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)
