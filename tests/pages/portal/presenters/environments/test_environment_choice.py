"""The field of a form names each environment with what tells it from the others."""

import pytest

from cluster.domain.states import EnvironmentState
from portal.presenters.environments.environment_choice import environment_options, summarise
from tests.builders import an_environment
from tests.pages.portal.pages_lab import Lab

PYTHON = ["python", "3.11.2", "purpose.language"]


@pytest.mark.parametrize(
    ("contents", "state", "expected"),
    [
        ([PYTHON, ["numpy", "2.1.3", "purpose.arrays"]], EnvironmentState.READY, "Python 3.11"),
        ([PYTHON, ["torch", "2.7.1+cpu", "purpose.framework"]], EnvironmentState.READY,
         "Python 3.11, torch 2.7.1+cpu, Computes on CPUs"),
        ([PYTHON, ["torch", "2.7.1", "purpose.framework"], ["nvidia-nccl-cu12", "2.26", ""]], EnvironmentState.READY,
         "Python 3.11, torch 2.7.1, Computes with CUDA"),
        ([], EnvironmentState.BUILDING, "Being built"),
    ],
)  # fmt: skip
def test_it_is_summed_up_in_a_line(
    lab: Lab, contents: list[list[str]], state: EnvironmentState, expected: str
) -> None:
    row = an_environment(lab.cluster, "one", contents=contents, state=state)
    with lab.app.test_request_context():
        assert summarise(row) == expected


def test_what_was_chosen_before_stands_there_whatever_has_become_of_it(lab: Lab) -> None:
    one = an_environment(lab.cluster, "one")
    gone = an_environment(lab.cluster, "gone", deleted_at=lab.cluster.clock())
    with lab.app.test_request_context():
        for chosen, expected in (("", 2), ("0", 2), (one.id, 2), (gone.id, 3), ("987654", 3), ("none", 2)):
            assert len(environment_options(lab.cluster, lab.workspace.id, chosen).options) == expected
