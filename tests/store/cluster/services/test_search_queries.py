"""Each kind of thing is found by the beginning of its name; what was deleted is not."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Select

from cluster.domain.people.actor import Actor
from cluster.domain.search import SearchQuery, parse_search_query
from cluster.services import search_queries
from cluster.services.context import Cluster
from tests.builders import (
    a_dataset,
    a_node,
    a_training,
    a_workspace,
    actor_of,
    an_administrator,
    an_environment,
)

Query = Callable[[Actor, SearchQuery], Select[*tuple[Any, ...]]]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (search_queries.trainings_query, ["vision-net"]),
        (search_queries.datasets_query, ["vision-digits"]),
        (search_queries.workspaces_query, ["vision"]),
        (search_queries.environments_query, ["vision-torch"]),
        (lambda _actor, query: search_queries.nodes_query(query), ["vision01"]),
    ],
)
def test_names_that_begin_so_are_found(cluster: Cluster, query: Query, names: list[str]) -> None:
    administrator = actor_of(an_administrator(cluster))
    workspace = a_workspace(cluster, name="vision")
    a_training(cluster, workspace, name="vision-net")
    a_dataset(cluster, workspace, name="vision-digits")
    a_dataset(cluster, workspace, name="vision-gone", deleted_at=cluster.clock())
    an_environment(cluster, "vision-torch")
    an_environment(cluster, "vision-old", deleted_at=cluster.clock())
    a_node(cluster, name="vision01")
    with cluster.store.read() as session:
        rows = session.execute(query(administrator, parse_search_query("vision"))).all()
    assert [row.name for row in rows] == names
