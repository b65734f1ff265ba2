"""A sweep is checked before anything is written: its values, its number of jobs, and each job of it."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.context import Cluster
from cluster.services.sweeps.sweep_checks import require_valid_submission
from tests.builders import actor_of
from tests.store.sweep_setup import Lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return Lab(cluster)


def test_a_sweep_of_good_values_passes(lab: Lab) -> None:
    request = SweepRequest(lab.request().job, {"learning_rate": "0.1, 1e-5", "epochs": "2, 3"})
    require_valid_submission(lab.cluster, actor_of(lab.member), lab.training.id, request)


@pytest.mark.parametrize(
    "values", [{"epochs": "1, 0"}, {"seed": "0..9999", "epochs": "1, 2"}, {"nonsense": "1"}]
)
def test_a_value_that_no_job_could_have_is_refused(lab: Lab, values: dict[str, str]) -> None:
    request = SweepRequest(lab.request().job, values)
    with pytest.raises(Refused):
        require_valid_submission(lab.cluster, actor_of(lab.member), lab.training.id, request)
