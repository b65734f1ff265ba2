"""What a search has found, as links."""

from cluster.services.search import MOST_OF_A_KIND, SearchHit, SearchResults
from portal.presenters.guidance.search_results import group_hits
from tests.pages.portal.pages_lab import Lab


def test_only_administrators_are_led_to_pages_of_people(lab: Lab) -> None:
    found = SearchResults(people=(SearchHit(7, "minjun", "김민준"),))
    with lab.app.test_request_context():
        assert [hit.href for hit in group_hits(found, True)[0].hits] == ["/users/7"]
        assert [hit.href for hit in group_hits(found, False)[0].hits] == ["/jobs?user=7"]


def test_the_list_of_the_kind_is_named_where_more_may_be_than_are_shown(lab: Lab) -> None:
    nodes = tuple(SearchHit(number, f"gpu{number}") for number in range(MOST_OF_A_KIND))
    with lab.app.test_request_context():
        assert group_hits(SearchResults(nodes=nodes), True)[0].all_href == "/nodes"
        assert group_hits(SearchResults(nodes=nodes[:2]), True)[0].all_href == ""
