"""The profile page lists the reader's own tokens and zones, and shows typed values again."""

from flask import g

from cluster.services.people import api_tokens
from portal.presenters.profile_page import read_profile_page
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


def test_the_page_lists_what_is_the_readers_own(lab: Lab) -> None:
    reader = actor_of(lab.seoyeon)
    api_tokens.create_api_token(lab.cluster, reader, "laptop", ["read"], 7)
    api_tokens.create_api_token(lab.cluster, actor_of(lab.minjun), "other", ["read"], 7)
    with lab.app.test_request_context("/profile", headers={"Cookie": "gc_time_zone=Europe/Berlin"}):
        g.actor = reader
        page = read_profile_page({"email": "typed@lab.example", "wait_hours": "4"})
    assert [token.name for token in page.tokens] == ["laptop"]
    assert (page.browser_zone.key, page.now) == ("Europe/Berlin", lab.cluster.clock())
    assert page.notifications.email == "typed@lab.example"
