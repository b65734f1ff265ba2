"""An environment that somebody uses is not deleted."""

import pytest

from cluster.domain.errors import Conflict, Refused
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.images import (
    environment_builds,
    environment_deletion,
    environment_list,
    environment_scope,
)
from cluster.services.training_changes import TrainingChanges, edit_training
from tests.builders import a_job, a_workspace, actor_of, an_administrator, an_environment
from tests.store.cluster.services.images.test_environment_requests import read
from tests.store.job_setup import Lab


def test_one_in_use_is_not_deleted_and_keeps_the_workspaces_that_use_it(cluster: Cluster, lab: Lab) -> None:
    administrator = actor_of(an_administrator(cluster))
    other = a_workspace(cluster, lab.manager, units=1)
    made = an_environment(cluster, "torch-2.7")
    edit_training(cluster, administrator, lab.training.id, TrainingChanges(environment_id=made.id))
    job = a_job(cluster, lab.training, lab.member, environment_id=made.id)
    with pytest.raises(Conflict) as conflict:
        environment_deletion.delete_environment(cluster, administrator, made.id)
    assert conflict.value.code == "environment.in_use"
    assert conflict.value.data["users"] == [lab.training.name, f"job-{job.id}"]
    with pytest.raises(Refused) as refusal:
        environment_scope.change_scope(cluster, administrator, made.id, [other.id])
    assert refusal.value.data["workspaces"] == [lab.workspace.name]
    with pytest.raises(Conflict, match="jobs_use_it"):
        environment_builds.rebuild_environment(cluster, administrator, made.id)
    with cluster.store.write() as session:
        session.merge(job).state = JobState.FINISHED
    edit_training(cluster, administrator, lab.training.id, TrainingChanges(environment_id=0))
    environment_scope.change_scope(cluster, administrator, made.id, [other.id], "for others")
    assert read(cluster, administrator, made.id).description == "for others"
    environment_deletion.delete_environment(cluster, administrator, made.id)
    assert read(cluster, administrator, made.id).deleted_at is not None
    assert "torch-2.7" not in [row.name for row in environment_list.list_environments(cluster, administrator)]
    an_environment(cluster, "torch-2.7")
    with pytest.raises(Conflict, match="was_deleted"):
        environment_builds.rebuild_environment(cluster, administrator, made.id)
