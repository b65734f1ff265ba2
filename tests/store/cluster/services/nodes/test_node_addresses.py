"""The addresses of the installation's own machines, where no person's webhook is called."""

from cluster.domain.notifications.webhook_targets import is_callable_address
from cluster.services.context import Cluster
from cluster.services.nodes.node_addresses import list_cluster_networks
from cluster.store.nodes import Node
from tests.builders import a_node


def test_the_nodes_own_addresses_belong_to_the_cluster(cluster: Cluster) -> None:
    node = a_node(cluster, name="gpu07")
    addresses = ["198.51.100.7", "fe80::1%eth0", "nonsense"]
    with cluster.store.write() as session:
        session.get_one(Node, node.id).facts = {"interfaces": [{"name": "eth0", "addresses": addresses}]}
    networks = list_cluster_networks(cluster)
    assert not is_callable_address("198.51.100.7", networks)
    assert not is_callable_address("10.244.0.9", networks), "pods"
    assert is_callable_address("198.51.100.8", networks)
