"""A job lies on several nodes only with executors that can do it, at its submission as well as at its placement."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from cluster import words
from cluster.domain.executors import ExecutorKind
from cluster.domain.placement.types import Placement
from cluster.domain.states import AttemptState, DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.placement.snapshot import (
    PlacementSnapshot,
    read_placement_snapshot,
    read_startable_snapshot,
)
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt, Job, JobEvent
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


def placements_of(snapshot: PlacementSnapshot | None) -> set[Placement]:
    return {each for each in snapshot.decisions if isinstance(each, Placement)} if snapshot else set()


def end_a_run(cluster: Cluster, chance: random.Random) -> None:
    with cluster.store.write() as session:
        living = session.scalars(select(Attempt).where(Attempt.ended_at.is_(None)).order_by(Attempt.id)).all()
        attempt, now = chance.choice(living), cluster.clock()
        attempt.state, attempt.ended_at = AttemptState.ENDED, now
        attempt.job.state, attempt.job.ended_at = JobState.FINISHED, now
        for allocation in attempt.allocations:
            allocation.ended_at = now


def test_what_can_start_is_found_without_the_lines_that_decide_nothing(
    cluster: Cluster, held: HeldLease
) -> None:
    """Quotas of twice the units, so that turns and promises of full workspaces decide too."""
    chance = random.Random(7)
    for _ in range(2):
        a_node(cluster, units=4)
    trainings = [a_training(cluster, a_workspace(cluster, units=chance.randint(1, 4))) for _ in range(6)]
    for _ in range(80):
        a_job(
            cluster,
            chance.choice(trainings),
            units=chance.choice([1, 1, 1, 2]),
            time_limit_seconds=chance.choice([None, None, 60, 600]),
            launcher=Launcher.PLAIN,
        )
    place_waiting_jobs(cluster, held)
    started = smaller = 0
    for _ in range(30):
        end_a_run(cluster, chance)
        with cluster.store.read() as session:
            whole = read_placement_snapshot(cluster, session)
            part = read_startable_snapshot(cluster, session)
        assert placements_of(part) == placements_of(whole)
        smaller += part is None or len(part.jobs) < len(whole.jobs)
        started += len(place_waiting_jobs(cluster, held, has_freed=True))
    assert started > 20 and smaller > 10


def test_nothing_is_read_of_lines_if_all_quotas_are_used_up(cluster: Cluster, held: HeldLease) -> None:
    a_node(cluster, 2)
    training = a_training(cluster, a_workspace(cluster, units=1))
    many(cluster, training, 3)
    assert len(place_waiting_jobs(cluster, held, is_rung=True)) == 1
    with cluster.store.read() as session:
        assert read_startable_snapshot(cluster, session) is None
    assert place_waiting_jobs(cluster, held, is_rung=True) == []
    many(cluster, training, 1, priority=1)
    place_waiting_jobs(cluster, held, is_rung=True)
    place_waiting_jobs(cluster, held)
    with cluster.store.read() as session:
        foremost = session.scalars(select(Job).where(Job.priority == 1)).one()
    assert foremost.waiting_code == "waiting.quota_used"
