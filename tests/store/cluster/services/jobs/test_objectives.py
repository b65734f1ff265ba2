"""The objectives of the trainings of live attempts."""

from cluster.domain.jobs.headline_metric import Objective
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.jobs.objectives import read_objectives
from tests.builders import a_job, a_node, a_training, a_workspace, holding


def test_the_objective_is_that_of_the_training_if_it_names_one(cluster: Cluster) -> None:
    workspace, units = a_workspace(cluster), a_node(cluster, units=2).units
    named = a_training(cluster, workspace, objective_metric="wer", objective_is_lower_better=True)
    attempts = [
        holding(cluster, a_job(cluster, training, state=JobState.RUNNING), [unit])
        for training, unit in zip((named, a_training(cluster, workspace)), units, strict=True)
    ]
    assert read_objectives(cluster) == {attempts[0].id: Objective("wer", lower_is_better=True)}
