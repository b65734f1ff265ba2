"""Only those who manage all workspaces of an environment change its scope."""

import pytest

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.services.context import Cluster
from cluster.services.images.environment_list import list_environments, read_environment
from cluster.services.images.environment_scope import can_change, change_scope, require_change
from tests.builders import a_user, a_workspace, actor_of, an_administrator, an_environment


def test_a_manager_shares_an_environment_among_own_workspaces_alone(cluster: Cluster) -> None:
    manager, other = a_user(cluster), a_user(cluster)
    own = [a_workspace(cluster, manager, units=1) for _ in range(2)]
    foreign = a_workspace(cluster, other, units=1)
    made = an_environment(cluster, "torch-2.7", own[:1])
    actor = actor_of(manager)
    change_scope(cluster, actor, made.id, [place.id for place in own])
    shown = read_environment(cluster, actor, made.id)
    assert {place.id for place in shown.workspaces} == {place.id for place in own} and can_change(
        actor, shown
    )
    for workspaces, error in (([], Forbidden), ([foreign.id], NotFound)):
        with pytest.raises(error):
            change_scope(cluster, actor, made.id, workspaces)
    change_scope(cluster, actor_of(an_administrator(cluster)), made.id, [own[0].id, foreign.id])
    shown = read_environment(cluster, actor, made.id)
    assert not can_change(actor, shown)
    with pytest.raises(Forbidden):
        require_change(cluster, actor, made.id)


def test_a_global_one_is_seen_by_everybody_and_its_text_is_checked(cluster: Cluster) -> None:
    administrator, stranger = actor_of(an_administrator(cluster)), actor_of(a_user(cluster))
    made = an_environment(cluster, "torch-2.7", [a_workspace(cluster, a_user(cluster), units=1)])
    assert list_environments(cluster, stranger) == []
    change_scope(cluster, administrator, made.id, [], "for all")
    (shown,) = list_environments(cluster, stranger)
    assert (shown.is_global, shown.description) == (True, "for all")
    with pytest.raises(Refused, match=r"text\.too_long"):
        change_scope(cluster, administrator, made.id, None, "x" * 501)
