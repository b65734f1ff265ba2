"""A dataset keeps jobs only while somebody waits for it."""

from cluster.domain.queue.reasons import DatasetFailed, DatasetNotReady
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.queue.shared_reasons import read_unready_datasets
from tests.builders import a_dataset, a_job, a_training, a_workspace


def test_a_dataset_or_a_sweep_is_a_reason_only_while_somebody_waits_for_it(cluster: Cluster) -> None:
    workspace = a_workspace(cluster, units=4)
    training = a_training(cluster, workspace)
    states = ("failed", "preparing", "failed")
    broken, late, idle = (a_dataset(cluster, workspace, state=state) for state in states)
    for dataset in (broken, late):
        a_job(cluster, training, dataset_id=dataset.id)
    a_job(cluster, training, dataset_id=idle.id, state=JobState.FINISHED, ended_at=cluster.clock())
    with cluster.store.read() as session:
        assert read_unready_datasets(session) == {
            broken.id: DatasetFailed(broken.name),
            late.id: DatasetNotReady(late.name),
        }
