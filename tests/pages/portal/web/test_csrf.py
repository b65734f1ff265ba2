"""A form needs the token of its page."""

import re

import pytest

from portal.web import csrf
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


def test_each_answer_masks_the_token_anew_and_each_is_good(house: House) -> None:
    client = house.visitor("owner", is_strict=True)
    tokens = [token_of(client, "/profile") for _ in range(2)]
    assert tokens[0] != tokens[1]
    assert csrf.unmask_token(tokens[0]) == csrf.unmask_token(tokens[1]) != b""
    for token in tokens:
        answer = client.post("/profile/sessions/end-others", data={"csrf_token": token})
        assert answer.status_code == 303


def test_one_page_has_one_token_and_no_mark_is_left(house: House) -> None:
    text = house.visitor("administrator", is_strict=True).get("/profile").text
    tokens = set(re.findall(r'name="csrf_token" value="([^"]*)"|"X-CSRFToken": "([^"]*)"', text))
    assert len({field or header for field, header in tokens}) == 1
    assert "mark-" not in text


def test_the_token_of_another_session_is_refused(house: House) -> None:
    token = token_of(house.visitor("owner", is_strict=True), "/profile")
    other = house.visitor("administrator", is_strict=True)
    assert other.post("/profile/sessions/end-others", data={"csrf_token": token}).status_code == 400


@pytest.mark.parametrize(
    ("referrer", "status"),
    [
        ("https://localhost/profile", 303),
        ("http://localhost/profile", 400),
        ("https://lab.test/", 400),
        (None, 400),
    ],
)
def test_over_tls_the_page_is_one_of_ours(house: House, referrer: str | None, status: int) -> None:
    client = house.visitor("owner", is_strict=True)
    token = token_of(client, "/profile")
    answer = client.post(
        "/profile/sessions/end-others",
        base_url="https://localhost",
        data={"csrf_token": token},
        headers={"Referer": referrer} if referrer else {},
    )
    assert answer.status_code == status
