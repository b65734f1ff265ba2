"""A first training that has succeeded is remembered."""

from cluster.services.context import Cluster
from cluster.services.first_training import read_first_training, record_first_training


def test_the_first_training_is_remembered_once_it_has_finished(cluster: Cluster) -> None:
    assert read_first_training(cluster) is None
    record_first_training(cluster, 7)
    record_first_training(cluster, 7)
    assert read_first_training(cluster) == 7
