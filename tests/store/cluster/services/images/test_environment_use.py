"""Everybody sees how many use an environment; names of private trainings and jobs stay private."""

from cluster.domain.states import JobState, Visibility
from cluster.services.context import Cluster
from cluster.services.images.environment_list import read_ran_in
from cluster.services.images.environment_use import EnvironmentUse, read_use, read_use_counts
from cluster.services.jobs.queries import read_job
from tests.builders import (
    a_job,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_environment,
)


def test_everybody_sees_how_many_use_it_and_only_their_own_by_name(cluster: Cluster) -> None:
    manager, member = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, manager, (member,), units=2)
    used, unused = an_environment(cluster, "torch-2.7"), an_environment(cluster, "torch-2.6")
    private = a_training(cluster, workspace, visibility=Visibility.PRIVATE, environment_id=used.id)
    job = a_job(cluster, private, manager, environment_id=used.id)
    a_job(cluster, private, manager, state=JobState.FINISHED, environment_id=used.id)
    assert read_use(cluster, actor_of(member), used.id) == EnvironmentUse(1, 1, [], [])
    seen = read_use(cluster, actor_of(manager), used.id)
    assert (seen.named_trainings, seen.named_jobs) == ([(private.id, private.name)], [(job.id, job.name)])
    assert not read_use(cluster, actor_of(manager), unused.id).is_used
    assert read_use_counts(cluster) == {used.id: EnvironmentUse(1, 1)}
    assert read_ran_in(cluster, [read_job(cluster, actor_of(manager), job.id)]) == {}
