"""The embedded set needs Redis for a repair, and nothing else does."""

from dataclasses import replace

import pytest

from cluster.services.context import Cluster
from tests.builders import a_node
from worker.console.installation_status import InstallationStatus, describe_limits, has_no_task_worker

WELL = InstallationStatus(200, "", "", ())


@pytest.fixture
def servers(light_cluster: Cluster) -> Cluster:
    for name in ("gpu01", "gpu02", "gpu03"):
        a_node(light_cluster, 2, name=name)
    settings = replace(light_cluster.settings, launcher="systemd", master_node="gpu01")
    return replace(light_cluster, settings=settings)


def test_only_the_embedded_set_needs_redis_for_a_repair(servers: Cluster, light_cluster: Cluster) -> None:
    away = replace(WELL, redis_error="is away")
    assert (
        not has_no_task_worker(away, servers.settings) and list(describe_limits(away, servers.settings)) == []
    )
    assert has_no_task_worker(away, light_cluster.settings) and not has_no_task_worker(
        WELL, light_cluster.settings
    )
    assert len(list(describe_limits(away, light_cluster.settings))) == 1
