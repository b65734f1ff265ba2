"""Which executors a job may lie on several nodes with, at its submission as well as at its placement."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from cluster import words
from cluster.services.context import Cluster
from cluster.services.leases import acquire_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import JobEvent
from cluster.store.nodes import Allocation, Unit
from tests.builders import a_job, a_node, a_training, a_workspace
from tests.integration.worker.scheduling.conftest import as_environment


@pytest.mark.parametrize(
    ("executor", "nodes"), [("process", 0), ("docker", 0), ("kubernetes", 2), ("simulated", 2)]
)
def test_four_units_of_two_nodes_are_one_job_where_the_executor_can(
    light_cluster: Cluster, executor: str, nodes: int
) -> None:
    cluster = replace(light_cluster, settings=replace(light_cluster.settings, executor=executor))
    as_environment(cluster)
    for name in ("w1", "w2"):
        a_node(cluster, name=name, units=2)
    a_job(cluster, a_training(cluster, a_workspace(cluster, units=4)), units=4)
    held = acquire_lease(cluster, "scheduler", "me", timedelta(hours=1))
    assert held is not None
    place_waiting_jobs(cluster, held)
    with cluster.store.read() as session:
        taken = session.scalars(select(Unit.node_id).join(Allocation, Allocation.unit_id == Unit.id)).all()
        placed = session.scalar(select(JobEvent).where(JobEvent.code == "job.placed"))
    assert (len(taken), len(set(taken))) == (2 * nodes, nodes)
    if placed is not None:
        assert words.sentence(placed.code, placed.data) == "Got 4 CPU slots on w1 and w2."
