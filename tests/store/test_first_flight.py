from cluster.services.context import Cluster
from cluster.services.first_flight import read_landing, record_landing


def test_the_first_flight_is_remembered_once_it_has_landed(cluster: Cluster) -> None:
    assert read_landing(cluster) is None
    record_landing(cluster, 7)
    record_landing(cluster, 7)
    assert read_landing(cluster) == 7
