"""A drain tells beforehand which people and jobs it affects."""

from datetime import timedelta

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.nodes import drain_effects
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, an_administrator, holding
from tests.conftest import Clock


def test_who_is_affected_by_a_drain_is_known_before(cluster: Cluster, clock: Clock) -> None:
    large, small = a_node(cluster, 4), a_node(cluster, 2)
    training = a_training(cluster, a_workspace(cluster, units=6))
    there = a_job(cluster, training, units=2, state=JobState.RUNNING, time_limit_seconds=600)
    elsewhere = a_job(cluster, training, units=1, state=JobState.RUNNING)
    holding(cluster, there, large.units[:2])
    holding(cluster, elsewhere, small.units[:1])
    waiting = [a_job(cluster, training, units=units) for units in (1, 2, 3, 4, 5)]
    affected = drain_effects.read_drain_effect(cluster, actor_of(an_administrator(cluster)), large.id)
    assert [(run.job_id, run.units) for run in affected.running] == [(there.id, 2)]
    assert affected.running[0].ends_at == clock.now + timedelta(seconds=600)
    assert affected.running[0].job and affected.running[0].job.name == there.name
    assert (affected.too_large, affected.largest_elsewhere) == ([job.id for job in waiting[2:4]], 2)
    stranger = drain_effects.read_drain_effect(cluster, actor_of(a_user(cluster)), large.id)
    assert [(run.job_id, run.job) for run in stranger.running] == [(there.id, None)]
