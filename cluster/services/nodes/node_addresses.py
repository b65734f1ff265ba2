"""The addresses of the installation's own machines."""

from ipaddress import ip_address, ip_network

from sqlalchemy import select

from cluster.domain.notifications.webhook_targets import IpNetwork
from cluster.services.context import Cluster
from cluster.store.nodes import IS_NODE_KNOWN, Node


def list_cluster_networks(cluster: Cluster) -> tuple[IpNetwork, ...]:
    """The networks of the settings, and each address that a node has reported as a network of its own."""
    with cluster.store.read() as session:
        facts = session.scalars(select(Node.facts).where(IS_NODE_KNOWN)).all()
    reported = {
        str(address).partition("%")[0]
        for each in facts
        for interface in each.get("interfaces", [])
        for address in interface.get("addresses", [])
    }
    return (*cluster.settings.cluster_networks, *(ip_network(each) for each in reported if is_address(each)))


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
