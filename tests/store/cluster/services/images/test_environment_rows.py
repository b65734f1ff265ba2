"""The row of an environment names its folder, and nothing is built of it yet."""

from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.environment_rows import (
    EnvironmentRequest,
    environment_folder,
    record_environment,
)
from tests.builders import actor_of
from tests.store.job_setup import Lab


def test_a_row_is_recorded_with_its_folder_and_its_scope(cluster: Cluster, lab: Lab) -> None:
    request = EnvironmentRequest("torch-2.7", "torch==2.7.1\n")
    with cluster.store.write() as session:
        shared = record_environment(cluster, session, actor_of(lab.manager), request, "for all", [])
        scoped = record_environment(
            cluster,
            session,
            actor_of(lab.manager),
            EnvironmentRequest("torch-2.8", "torch"),
            "",
            [lab.workspace],
        )
        assert shared.path == str(environment_folder(cluster.settings, shared.id))
        assert (shared.state, shared.is_global) == (EnvironmentState.UNAPPROVED, True)
        assert not scoped.is_global and scoped.path != shared.path
