"""S2: the id of somebody else's thing and one that nobody has are answered alike, after the same work, and recorded."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from cluster.services.audit import unseen_things
from cluster.store.audit import AuditEntry
from portal.web.route_permissions import ROUTE_RULES, RouteRule
from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import ROUTES, Route, address, body_of

OF_OTHERS = {
    RouteRule.MEMBER,
    RouteRule.MANAGER,
    RouteRule.EXTENDS_WORKSPACE,
    RouteRule.DELETES_DATASET,
    RouteRule.SEES_TRAINING,
    RouteRule.OWNS_TRAINING,
    RouteRule.SEES_JOB,
    RouteRule.REORDERS_JOB,
    RouteRule.STOPS_JOB,
    RouteRule.DELETES_FILES,
    RouteRule.SEES_SWEEP,
    RouteRule.STOPS_SWEEP,
    RouteRule.SEES_OPERATION,
}
NAMED = [
    route
    for route in ROUTES
    if ROUTE_RULES[route.endpoint] in OF_OTHERS and any(name.endswith("_id") for name in route.arguments)
]
NOBODYS = 987_654
IDS = re.compile(r"\b(1|2|987654)\b")
REQUEST = re.compile(r"[0-9a-f]{16}")


@contextmanager
def statements(house: House) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    engine = house.cluster.store.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


def ask(house: House, route: Route, path: str) -> tuple[int, str, list[str]]:
    house.restore()
    headers = {"Authorization": f"Bearer {house.tokens['stranger']}"} if route.is_api else {}
    client = house.app.test_client() if route.is_api else house.visitor("stranger")
    with statements(house) as seen:
        answer = client.open(path, method=route.method, headers=headers, **body_of(route))
    text = answer.get_data(as_text=True)
    if not route.is_api:  # Around it stands the same for every address of the person.
        text = text.partition("<main")[2].partition("</main>")[0]
        assert text
    return answer.status_code, IDS.sub("", REQUEST.sub("", text)), seen


@pytest.mark.parametrize("route", NAMED, ids=str)
def test_what_is_somebody_elses_is_answered_as_what_nobody_has(house: House, route: Route) -> None:
    unknown = {name: NOBODYS for name in route.arguments if name.endswith("_id")}
    theirs = ask(house, route, address(house, route))
    nobodys = ask(house, route, address(house, route, **unknown))
    assert theirs[0] == 404
    assert theirs == nobodys


def looks(house: House) -> list[AuditEntry]:
    with house.cluster.store.read() as session:
        found = session.query(AuditEntry).filter_by(action=unseen_things.ACTION)
        return list(found)


def test_a_look_at_what_is_somebody_elses_stands_in_the_access_log(house: House) -> None:
    visitor = house.visitor("stranger")
    for job_id in (house.ids["job_id"], NOBODYS, *range(100, 120)):
        assert visitor.get(f"/jobs/{job_id}").status_code == 404
    (entry,) = looks(house)
    assert (entry.actor_name, entry.object_kind, entry.object_id) == ("taeho", "job", house.ids["job_id"])
    assert (entry.outcome, entry.address) == ("refused", "127.0.0.1")


def test_a_name_that_is_none_and_a_visitor_without_an_account_leave_no_entry(house: House) -> None:
    house.visitor("anonymous").get(f"/jobs/{house.ids['job_id']}")
    house.visitor("stranger").get("/help/there-is-no-such-howto")
    house.visitor("stranger").get("/nothing/at/all")
    assert looks(house) == []
