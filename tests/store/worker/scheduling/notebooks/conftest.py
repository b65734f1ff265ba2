import pytest

from cluster.services.context import Cluster
from tests.notebook_lab import NotebookLab, make_notebook_lab


@pytest.fixture
def lab(cluster: Cluster) -> NotebookLab:
    return make_notebook_lab(cluster)
