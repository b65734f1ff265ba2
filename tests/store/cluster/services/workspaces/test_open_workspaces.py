"""Nobody becomes a member of a workspace that has ended."""

from cluster.services.context import Cluster
from cluster.services.workspaces import lifecycle
from cluster.services.workspaces.open_workspaces import list_open_workspaces
from tests.builders import a_workspace, actor_of, an_administrator


def test_an_ended_workspace_is_not_offered(cluster: Cluster) -> None:
    chief = actor_of(an_administrator(cluster))
    ended, runs = a_workspace(cluster), a_workspace(cluster)
    lifecycle.end_workspace(cluster, chief, ended.id)
    assert [workspace.id for workspace in list_open_workspaces(cluster, chief)] == [runs.id]
