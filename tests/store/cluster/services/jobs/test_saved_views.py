"""A person keeps views of the list of jobs, and reaches nobody else's."""

import pytest

from cluster.domain.errors import NotFound, Refused
from cluster.services.context import Cluster
from cluster.services.jobs import saved_views
from tests.builders import a_user, actor_of


def test_a_view_keeps_search_order_and_filters_and_is_replaced_by_its_name(cluster: Cluster) -> None:
    person, other = (actor_of(a_user(cluster)) for _ in range(2))
    first = saved_views.save_view(cluster, person, "best", "q=lr 0.1&order=best&before=7&evil=1")
    assert first.query == "q=lr+0.1&order=best"
    again = saved_views.save_view(cluster, person, " best ", "state=failed")
    assert saved_views.list_views(cluster, person) == [again]
    assert again.id == first.id
    assert saved_views.list_views(cluster, other) == []
    with pytest.raises(NotFound):
        saved_views.delete_view(cluster, other, first.id)
    saved_views.delete_view(cluster, person, first.id)
    assert saved_views.list_views(cluster, person) == []


def test_a_person_has_a_limited_number_of_short_views(cluster: Cluster) -> None:
    person = actor_of(a_user(cluster))
    for number in range(saved_views.MAX_VIEWS):
        saved_views.save_view(cluster, person, f"view {number}", "")
    with pytest.raises(Refused):
        saved_views.save_view(cluster, person, "one more", "")
    with pytest.raises(Refused):
        saved_views.save_view(cluster, person, "view 1", "q=" + "x" * 600)
