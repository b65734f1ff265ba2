"""A private training shows in no page, list, search, event or answer of the API to a person who may not see it."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.store.jobs import Job, Sweep
from cluster.store.trainings import Training
from portal.web.route_permissions import ROUTE_RULES, RouteRule
from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import ROUTES, Route, address

WORDS = ("ultramarine", "azurite", "cobalt-run", "madder-note", "indigo-grid")
"""The training's name and description, its job's name and note, and its sweep's name. None stands in a page already."""
SEARCHES = ("ultramar", "job-1")
"""What a page repeats of a search is none of the words."""
READ = [
    route
    for route in ROUTES
    if route.method == "GET"
    and ROUTE_RULES[route.endpoint] is not RouteRule.ADMINISTRATOR
    and route.endpoint not in ("static", "sign_in.sign_out")
]
SEARCHED = [route for route in READ if not route.arguments]


@pytest.fixture
def named(house: House) -> House:
    with house.cluster.store.write() as session:
        training = session.get_one(Training, house.ids["training_id"])
        training.name, training.description = WORDS[:2]
        job = session.get_one(Job, house.ids["job_id"])
        job.name, job.note = WORDS[2:4]
        session.get_one(Sweep, house.ids["sweep_id"]).name = WORDS[4]
    return house


def shown(house: House, kind: str, route: Route, query: str = "") -> str:
    path = address(house, route)
    if query:
        path += ("&" if "?" in path else "?") + query
    answer: Any
    if route.is_api:
        headers = {"Authorization": f"Bearer {house.tokens[kind]}"}
        answer = house.app.test_client().get(path, headers=headers)
    else:
        answer = house.visitor(kind).get(path)
    text: str = answer.get_data().decode(errors="replace")
    answer.close()
    return text


def answers(house: House, kind: str) -> Iterator[tuple[str, str]]:
    """Each address with what it answers: as it is, and each that lists with every search."""
    for route in READ:
        yield str(route), shown(house, kind, route)
    for route in SEARCHED:
        for typed in SEARCHES:
            yield f"{route} {typed}", shown(house, kind, route, f"q={typed}")


@pytest.mark.parametrize("kind", ["member", pytest.param("stranger", marks=pytest.mark.long)])
def test_nobody_reads_a_word_of_a_training_that_is_not_theirs_to_see(named: House, kind: str) -> None:
    found = {path for path, text in answers(named, kind) if any(word in text for word in WORDS)}
    assert found == set()


@pytest.mark.long
def test_its_owner_reads_all_of_them(named: House) -> None:
    """The same addresses and searches, so that the case above looks where the words would be."""
    seen = dict(answers(named, "owner"))
    for word in WORDS:
        assert sum(word in text for text in seen.values()) >= 2, word
    found = {path for path, text in seen.items() if "ultramarine" in text}
    assert {"GET /search ultramar", "GET /trainings", "GET /jobs", "GET /api/v1/jobs"} <= found
