"""A job lies on several nodes only with executors that can do it, at its submission as well as at its placement."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from cluster import words
from cluster.domain.executors import ExecutorKind
from cluster.domain.states import DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.placement.snapshot import read_placement_snapshot
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Job, JobEvent
from cluster.store.nodes import Allocation, Unit
from cluster.store.trainings import Training
from tests.builders import (
    a_job,
    a_node,
    a_training,
    a_workspace,
    first_positions,
)
from tests.integration.worker.scheduling.conftest import as_environment


@pytest.mark.parametrize(
    ("executor", "nodes"), [("process", 0), ("docker", 0), ("kubernetes", 2), ("simulated", 2)]
)
def test_four_units_of_two_nodes_are_one_job_where_the_executor_can(
    light_cluster: Cluster, executor: str, nodes: int
) -> None:
    cluster = replace(
        light_cluster, settings=replace(light_cluster.settings, executor=ExecutorKind(executor))
    )
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


def many(cluster: Cluster, training: Training, count: int, **columns: object) -> None:
    """Waiting jobs in one statement."""
    row = {
        "workspace_id": training.workspace_id, "training_id": training.id, "user_id": training.owner_id,
        "name": "many", "state": JobState.WAITING, "desired": DesiredState.RUN, "units": 1, "priority": 0,
        "launcher": Launcher.PLAIN, "command": [], "variables": {}, "submitted_at": cluster.clock(),
    }  # fmt: skip
    with cluster.store.write() as session:
        session.execute(insert(Job), [row | columns for _ in range(count)])
        session.execute(update(Job).where(Job.position == 0).values(position=first_positions()))


def test_a_line_is_read_as_deep_as_its_quota_lets_it_start(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 6)
    full, wide = (a_training(cluster, a_workspace(cluster, units=units)) for units in (1, 4))
    many(cluster, full, 5)
    assert len(place_waiting_jobs(cluster, held)) == 1
    many(cluster, wide, 9)
    assert len(place_waiting_jobs(cluster, held)) == 4
    with cluster.store.read() as session:
        looked_at = read_placement_snapshot(cluster, session).jobs.values()
    assert sorted(job.workspace_id for job in looked_at) == [full.workspace_id] * 2 + [wide.workspace_id] * 2
