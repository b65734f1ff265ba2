"""The live attempts of trainings that name an objective have it; others have none."""

from cluster.domain.jobs.headline_metric import Objective
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.objectives import read_objectives
from cluster.store.trainings import objective_columns
from tests.builders import a_job, a_node, a_training, a_workspace, holding


def test_only_live_attempts_of_trainings_with_an_objective_are_read(light_cluster: Cluster) -> None:
    cluster = light_cluster
    workspace, node = a_workspace(cluster), a_node(cluster, 2)
    wanted = Objective("bleu", False)
    named = a_training(cluster, workspace, **objective_columns(wanted))
    other = a_training(cluster, workspace, **objective_columns(None))
    attempts = [
        holding(cluster, a_job(cluster, training, state=JobState.RUNNING, fence=1), [unit])
        for training, unit in zip((named, other), node.units, strict=True)
    ]
    assert read_objectives(cluster) == {attempts[0].id: wanted}
    assert (named.objective, other.objective) == (wanted, None)
