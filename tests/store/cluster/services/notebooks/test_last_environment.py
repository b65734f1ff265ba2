"""What a person installed belongs to the environment in which the last notebook ran, if that is still there."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.states import EnvironmentState
from cluster.services.notebooks.last_environment import python_of, read_last_environment
from cluster.store.environments import Environment
from cluster.store.jobs import Attempt
from cluster.store.trainings import Training
from tests.builders import an_environment
from tests.notebook_lab import NotebookLab


def read(lab: NotebookLab) -> Environment:
    return read_last_environment(lab.cluster, lab.actor(), lab.training)


def run_in(lab: NotebookLab, environment: Environment) -> None:
    attempt = lab.run(lab.start())
    with lab.cluster.store.write() as session:
        session.get_one(Attempt, attempt).environment_id = environment.id


def test_before_the_first_notebook_it_is_the_one_that_the_training_names(lab: NotebookLab) -> None:
    named = an_environment(lab.cluster, "torch")
    with lab.cluster.store.write() as session:
        training = session.get_one(Training, lab.training.id)
        training.environment_id = lab.training.environment_id = named.id
    assert read(lab).id == named.id


def test_it_is_the_one_of_the_last_notebook_and_of_nobody_else(lab: NotebookLab) -> None:
    other = an_environment(lab.cluster, "tf", contents=[["python", "3.9.2", ""]], python="3.9.2")
    run_in(lab, other)
    assert read(lab).id == other.id and python_of(read(lab)) == "3.9"
    with pytest.raises(Refused):
        read_last_environment(lab.cluster, lab.actor(lab.member), lab.training)


@pytest.mark.parametrize("lost", ["state", "deleted_at"])
def test_one_that_is_gone_is_named(lab: NotebookLab, lost: str) -> None:
    short_lived = an_environment(lab.cluster, "short-lived")
    run_in(lab, short_lived)
    with lab.cluster.store.write() as session:
        value = EnvironmentState.FAILED if lost == "state" else lab.cluster.clock()
        setattr(session.get_one(Environment, short_lived.id), lost, value)
    with pytest.raises(Refused) as refused:
        read(lab)
    assert (refused.value.code, refused.value.data["name"]) == ("notebook.base_gone", "short-lived")
