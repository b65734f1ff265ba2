"""The list of environments has the default one first and leaves out deleted ones."""

from cluster.domain.states import EnvironmentSource
from cluster.services.context import Cluster
from cluster.services.images.environment_list import list_environments
from cluster.services.images.environments import ensure_default_environment
from tests.builders import (
    actor_of,
    an_administrator,
    an_environment,
)


def test_only_the_current_default_is_listed_and_no_deleted_one(cluster: Cluster) -> None:
    administrator = actor_of(an_administrator(cluster))
    for digest in ("old", "new"):
        ensure_default_environment(cluster, administrator, digest, "/e")
    an_environment(cluster, "a-torch")
    an_environment(cluster, "gone", deleted_at=cluster.clock())
    an_environment(cluster, "image", source=EnvironmentSource.IMAGE)
    listed = list_environments(cluster, administrator)
    assert [(row.name, row.digest) for row in listed][0] == ("default", "new")
    assert [row.name for row in listed] == ["default", "a-torch", "image"]
