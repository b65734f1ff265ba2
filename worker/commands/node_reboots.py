"""Drains a node before the installer reboots its host, and undrains it afterwards.

A drain by a person is never undone here.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import select

from cluster.domain.errors import Conflict
from cluster.services.context import Cluster
from cluster.services.nodes.drain_effects import read_drain_effect
from cluster.services.nodes.drains import drain_node, undrain_node
from cluster.services.people.users import service_actor
from cluster.store.nodes import IS_NODE_KNOWN, Node

REBOOT_REASON = "The installer starts this host anew"
POLL_SECONDS = 2
"""Seconds."""


def drain_for_reboot(
    cluster: Cluster, name: str, at_most: timedelta, sleep: Callable[[float], None] = time.sleep
) -> bool:
    """Drains the node and waits until no job runs there. Returns whether it had to be drained; at once for an unknown
    name.

    Raises Conflict if jobs still run after `at_most`. The node stays drained, so that the next try continues.
    """
    node = find_node_by_name(cluster, name)
    if node is None:
        return False
    actor = service_actor(cluster)
    has_drained = node.draining_since is None
    if has_drained:
        drain_node(cluster, actor, node.id, REBOOT_REASON)
    until = cluster.clock() + at_most
    while running := read_drain_effect(cluster, actor, node.id).running:
        if cluster.clock() >= until:
            jobs = ", ".join(str(run.job_id) for run in running)
            raise Conflict("node.jobs_still_run", node=name, jobs=jobs)
        sleep(POLL_SECONDS)
    return has_drained


def undrain_after_reboot(cluster: Cluster, name: str) -> bool:
    """Undrains the node if `drain_for_reboot` has drained it, and returns whether it did."""
    node, actor = find_node_by_name(cluster, name), service_actor(cluster)
    if node is None or node.draining_since is None:
        return False
    if (node.drained_by, node.drain_reason) != (actor.user_id, REBOOT_REASON):
        return False
    undrain_node(cluster, actor, node.id)
    return True


def find_node_by_name(cluster: Cluster, name: str) -> Node | None:
    with cluster.store.read() as session:
        return session.scalar(select(Node).where(Node.name == name, IS_NODE_KNOWN))
