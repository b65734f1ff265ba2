"""A training's row and the objective that it names."""

import pytest

from cluster.domain.jobs.headline_metric import Objective
from cluster.store.trainings import Training, objective_columns


@pytest.mark.parametrize("objective", [None, Objective("bleu"), Objective("wer", lower_is_better=True)])
def test_columns_and_objective_say_the_same(objective: Objective | None) -> None:
    assert Training(**objective_columns(objective)).objective == objective
