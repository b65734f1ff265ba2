"""The last good job of a training, among those that the person may see."""

from cluster.domain.states import JobState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.jobs.last_good_job import find_last_good_job
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of


def test_the_newest_finished_job_before_counts(cluster: Cluster) -> None:
    owner = a_user(cluster)
    workspace = a_workspace(cluster, owner)
    training = a_training(cluster, workspace, owner, kind=TrainingKind.ADVANCED)
    other = a_training(cluster, workspace, owner, kind=TrainingKind.ADVANCED)
    good = a_job(cluster, training, state=JobState.FINISHED, code_version=1)
    better = a_job(cluster, training, state=JobState.FINISHED, code_version=2)
    a_job(cluster, training, state=JobState.FAILED, code_version=3)
    a_job(cluster, other, state=JobState.FINISHED, code_version=1)
    job = a_job(cluster, training, state=JobState.RUNNING, code_version=4)
    a_job(cluster, training, state=JobState.FINISHED, code_version=5)
    assert find_last_good_job(cluster, actor_of(owner), job) == (better.id, 2)
    assert find_last_good_job(cluster, actor_of(owner), better) == (good.id, 1)
    assert find_last_good_job(cluster, actor_of(owner), good) is None
    assert find_last_good_job(cluster, actor_of(a_user(cluster)), job) is None
