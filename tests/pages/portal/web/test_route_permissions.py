"""Every route × every kind of person, out of the portal's own table (S1, S2)."""

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from portal.web import route_permissions
from portal.web.route_permissions import ROUTE_RULES, RouteRule, UndeclaredEndpoint
from tests.pages.portal.filled_portal import KINDS, House
from tests.pages.portal.routes import ROUTES, Route, address, body_of

IN, DOOR, HIDDEN, FORBIDDEN = "in", "to the door", "hidden", "forbidden"

MEMBERS = {"stranger": HIDDEN, "member": IN, "owner": IN, "manager": IN, "administrator": IN}
NAMED = MEMBERS | {"member": HIDDEN}
EXPECTED: dict[RouteRule, dict[str, str]] = {
    RouteRule.ANYONE: dict.fromkeys(KINDS, IN),
    RouteRule.SIGNED_IN: dict.fromkeys(KINDS, IN),
    RouteRule.ADMINISTRATOR: dict.fromkeys(KINDS, FORBIDDEN) | {"administrator": IN},
    RouteRule.MEMBER: MEMBERS,
    RouteRule.MANAGER: MEMBERS | {"member": FORBIDDEN, "owner": FORBIDDEN},
    RouteRule.EXTENDS_WORKSPACE: MEMBERS | {"member": FORBIDDEN, "owner": FORBIDDEN, "manager": FORBIDDEN},
    RouteRule.DELETES_DATASET: MEMBERS | {"member": FORBIDDEN},
    RouteRule.SEES_TRAINING: NAMED,
    RouteRule.OWNS_TRAINING: NAMED,
    RouteRule.SEES_JOB: NAMED,
    RouteRule.REORDERS_JOB: NAMED | {"owner": FORBIDDEN},
    RouteRule.STOPS_JOB: NAMED,
    RouteRule.DELETES_FILES: NAMED,
    RouteRule.OPENS_NOTEBOOK: dict.fromkeys(KINDS, HIDDEN) | {"owner": IN},
    RouteRule.SEES_SWEEP: NAMED,
    RouteRule.STOPS_SWEEP: NAMED,
    RouteRule.SEES_OPERATION: MEMBERS,
    RouteRule.RETRIES_OPERATION: MEMBERS | {"member": FORBIDDEN},
    RouteRule.NODE: dict.fromkeys(KINDS, DOOR),
    RouteRule.NGINX: dict.fromkeys(KINDS, HIDDEN),
    RouteRule.METRICS_READER: dict.fromkeys(KINDS, IN),
    RouteRule.OWNER_ONLY: dict.fromkeys(KINDS, HIDDEN) | {"owner": IN},
}
"""Of the house's private training and its job. These tests ask from this machine, as a collector may."""

FOR_NOBODY = (RouteRule.ANYONE, RouteRule.METRICS_READER, RouteRule.NGINX)
"""Who has not signed in is sent to the door by all others."""


def expected(rule: RouteRule, kind: str) -> str:
    return DOOR if kind == "anonymous" and rule not in FOR_NOBODY else EXPECTED[rule][kind]


def seen(response: TestResponse) -> str:
    """How the portal treated the request. That an empty form is refused (422) means: it was let in."""
    if response.status_code == 401 or "/sign-in" in response.headers.get("Location", ""):
        return DOOR
    return {403: FORBIDDEN, 404: HIDDEN}.get(response.status_code, IN)


def ask(house: House, route: Route, kind: str) -> TestResponse:
    headers = {}
    if route.is_api and kind != "anonymous":
        headers["Authorization"] = f"Bearer {house.tokens[kind]}"
    client = house.app.test_client() if route.is_api else house.visitor(kind)
    response = client.open(address(house, route), method=route.method, headers=headers, **body_of(route))
    response.close()
    return response


def test_every_rule_is_expected_of_every_kind() -> None:
    assert set(EXPECTED) == set(RouteRule)


def test_the_table_names_no_route_that_is_gone() -> None:
    assert set(ROUTE_RULES) - {route.endpoint for route in ROUTES} == set()


def test_an_undeclared_route_stops_the_start() -> None:
    app = Flask("a portal")
    app.add_url_rule("/secret", "secret.page", lambda: "")
    with pytest.raises(UndeclaredEndpoint, match=r"secret\.page"):
        route_permissions.require_rule_for_every_route(app)


DOOR_ITSELF = {
    "sign_in.sign_in",
    "sign_in.open_session",
    "first_administrator.form",
    "first_administrator.create",
    "sign_in.sign_out",
}
"""Pages of the door: they lead to each other by themselves, and have tests of their own."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", [r for r in ROUTES if r.endpoint not in DOOR_ITSELF], ids=str)
def test_each_route_lets_in_whom_the_table_says(house: House, route: Route, kind: str) -> None:
    response = ask(house, route, kind)
    assert response.status_code < 500
    assert seen(response) == expected(ROUTE_RULES[route.endpoint], kind)


@pytest.mark.parametrize(
    "route", [r for r in ROUTES if any(name.endswith("_id") for name in r.arguments)], ids=str
)
def test_ids_that_nobody_has_are_not_found(house: House, route: Route) -> None:
    """S2: also for administrators, and however large the number."""
    for unknown in (987_654, 2**31, 2**63, 10**30):
        names = {name: unknown for name in route.arguments if name.endswith("_id")}
        headers = {"Authorization": f"Bearer {house.tokens['administrator']}"} if route.is_api else {}
        client = house.visitor("anonymous" if route.is_api else "administrator")
        response = client.open(
            address(house, route, **names), method=route.method, headers=headers, **body_of(route)
        )
        assert response.status_code == 404, (route, unknown)


@pytest.mark.parametrize("route", [r for r in ROUTES if r.is_api and r.method != "GET"], ids=str)
def test_rest_writes_with_a_cookie_alone_are_not_signed_in(house: House, route: Route) -> None:
    response = house.visitor("administrator").open(address(house, route), method=route.method)
    assert response.status_code == 401
    assert response.content_type == "application/problem+json"


@pytest.mark.parametrize("route", [r for r in ROUTES if r.method != "GET" and not r.is_api], ids=str)
@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_other_sites_write_nothing(house: House, route: Route, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    response = house.visitor("owner").open(address(house, route), method=route.method, headers=headers)
    assert response.status_code == 403
