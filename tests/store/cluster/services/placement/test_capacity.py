"""Placement counts the units that work, and knows when those that are taken come free."""

from datetime import timedelta

import pytest

from cluster.domain.placement.types import NodeUnits
from cluster.domain.states import JobState, NodeState, UnitKind
from cluster.services.context import Cluster
from cluster.services.placement.capacity import (
    count_free_units,
    read_placement_context,
    read_units_in_use,
)
from cluster.services.queue import submission_preview
from cluster.services.queue.queries import read_queue
from tests.builders import a_job, a_workspace, holding
from tests.conftest import Clock
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_a_silent_node_offers_nothing(cluster: Cluster, lab: Lab, clock: Clock) -> None:
    clock.move(seconds=60)
    estimate = submission_preview.preview_submission(cluster, lab.actor, lab.training.id, lab.request)
    assert estimate.explanation is not None and estimate.explanation.code == "waiting.node_unreachable"


def test_the_time_limit_is_the_expected_end_where_nothing_else_is_known(
    cluster: Cluster, lab: Lab, clock: Clock
) -> None:
    limited = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING, time_limit_seconds=90)
    holding(cluster, limited, lab.node.units[:1])
    unlimited = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    holding(cluster, unlimited, lab.node.units[1:])
    ends = {run.job.id: run.ends_at for run in read_queue(cluster, lab.actor).running if run.job}
    assert ends[unlimited.id] is None
    limit = ends[limited.id]
    assert limit is not None and (limit - clock()).total_seconds() == 90


def test_an_end_that_has_passed_is_expected_no_more(cluster: Cluster, lab: Lab, clock: Clock) -> None:
    quick = {"started_at": clock() - timedelta(seconds=20), "ended_at": clock()}
    a_job(cluster, lab.training, state=JobState.FINISHED, **quick)
    endless = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    holding(cluster, endless, lab.node.units[:1])
    limited = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING, time_limit_seconds=90)
    holding(cluster, limited, lab.node.units[1:])
    clock.move(seconds=30)
    ends = {run.job.id: run.ends_at for run in read_queue(cluster, lab.actor).running if run.job}
    assert ends[endless.id] is None
    limit = ends[limited.id]
    assert limit is not None and (limit - clock()).total_seconds() == 60


@pytest.mark.parametrize(
    ("states", "free"),
    [((NodeState.READY,), 3), ((NodeState.READY, NodeState.READY), 6), ((NodeState.DRAINING,), 0), ((), 0)],
)
def test_only_nodes_that_take_jobs_have_free_units(states: tuple[NodeState, ...], free: int) -> None:
    nodes = [
        NodeUnits(number, f"w{number}", state, UnitKind.CPU_SLOT, (1, 2, 3), 4)
        for number, state in enumerate(states)
    ]
    assert count_free_units(nodes) == free


def test_what_runs_counts_against_the_quota_of_its_workspace_alone(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training, lab.member, units=2, state=JobState.RUNNING)
    holding(cluster, job, lab.node.units)
    other = a_workspace(cluster, units=5)
    with cluster.store.read() as session:
        context = read_placement_context(cluster, session)
        assert read_units_in_use(session) == {lab.workspace.id: 2}
    quotas = {place: (quota.limit, quota.used) for place, quota in context.quotas.items()}
    assert quotas == {lab.workspace.id: (2, 2), other.id: (5, 0)}
    assert not context.can_span_nodes and context.now == cluster.clock()
