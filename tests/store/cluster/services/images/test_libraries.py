"""Which libraries programs find where they run."""

import pytest

from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.libraries import read_torch_is_missing
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from tests.builders import add


@pytest.mark.parametrize(
    ("state", "contents", "is_missing"),
    [
        (EnvironmentState.READY, [["tensorflow-cpu", "2.21", "purpose.x"]], True),
        (EnvironmentState.READY, [["horovod", "0.28", "purpose.x"], ["torch", "2.9", "purpose.x"]], False),
        (EnvironmentState.READY, [], False),
        (EnvironmentState.MISSING, [["tensorflow-cpu", "2.21", "purpose.x"]], False),
    ],
)
def test_torch_is_missing_only_where_the_contents_are_known(
    cluster: Cluster, state: EnvironmentState, contents: list[list[str]], is_missing: bool
) -> None:
    environment = Environment(
        name="default", digest="d", state=state, contents=contents, created_at=cluster.clock()
    )
    add(cluster, environment, InstallationFact(name="default_environment", value={"digest": "d"}))
    assert read_torch_is_missing(cluster) is is_missing


def test_where_no_environment_is_known_nothing_is_missing(cluster: Cluster) -> None:
    assert read_torch_is_missing(cluster) is False
