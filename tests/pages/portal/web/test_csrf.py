"""A form needs the token of its page."""

import pytest

from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import ROUTES, Route, address
from tests.pages.portal.views.people.test_sign_in import token_of

WRITES = [route for route in ROUTES if route.method != "GET" and not route.is_api]


@pytest.mark.parametrize("route", [r for r in WRITES if r.endpoint != "health.csp_report"], ids=str)
@pytest.mark.parametrize("token", [None, "", "forged"])
def test_no_page_is_written_to_without_its_token(house: House, route: Route, token: str | None) -> None:
    client = house.visitor("administrator", is_strict=True)
    client.get("/profile")
    answer = client.open(
        address(house, route), method=route.method, data={} if token is None else {"csrf_token": token}
    )
    assert answer.status_code == 400
    assert "open for too long" in answer.text


def test_htmx_sends_the_token_in_a_header(house: House) -> None:
    client = house.visitor("owner", is_strict=True)
    headers = {"X-CSRFToken": token_of(client, "/profile")}
    answer = client.post("/profile/sessions/end-others", headers=headers)
    assert answer.status_code == 303
