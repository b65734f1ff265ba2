"""A node is emptied before the installer starts its host anew, and opened again afterwards.

A drain by a person is theirs: it is waited for, and never undone here.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import select

from cluster.domain.errors import Conflict
from cluster.services.context import Cluster
from cluster.services.drains import affected_jobs, drain_node, undrain_node
from cluster.services.users import service_actor
from cluster.store.nodes import Node

REASON = "The installer starts this host anew"
LOOKS_EVERY = 2
"""Seconds."""


def empty_node(
    cluster: Cluster, name: str, at_most: timedelta, sleep: Callable[[float], None] = time.sleep
) -> bool:
    """Whether it had to be drained; returns once no job runs there, at once for a name that nobody knows.

    Raises Conflict where jobs still run after `at_most`; the node stays drained, so that the next try goes on.
    """
    node = find_node(cluster, name)
    if node is None:
        return False
    actor = service_actor(cluster)
    has_drained = node.draining_since is None
    if has_drained:
        drain_node(cluster, actor, node.id, REASON)
    until = cluster.clock() + at_most
    while running := affected_jobs(cluster, actor, node.id).running:
        if cluster.clock() >= until:
            jobs = ", ".join(str(run.job_id) for run in running)
            raise Conflict("node.jobs_still_run", node=name, jobs=jobs)
        sleep(LOOKS_EVERY)
    return has_drained


def reopen_node(cluster: Cluster, name: str) -> bool:
    """Whether it was closed by `empty_node`; only then it is opened."""
    node, actor = find_node(cluster, name), service_actor(cluster)
    if node is None or node.draining_since is None:
        return False
    if (node.drained_by, node.drain_reason) != (actor.user_id, REASON):
        return False
    undrain_node(cluster, actor, node.id)
    return True


def find_node(cluster: Cluster, name: str) -> Node | None:
    with cluster.store.read() as session:
        return session.scalar(select(Node).where(Node.name == name))
