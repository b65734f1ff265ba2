"""The pages show rows and nothing else, in both languages, for each kind of person."""

import re
from html import unescape

import pytest

from cluster.store.jobs import Job
from tests.audit_entries import entries
from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import ROUTES, Route, address

LINK = re.compile(r'(?:href|hx-get)="(/[^"]*)"')
NO_PAGES = ("static", "health.health", "notebook_gate.check", "notebook_gate.enter")
"""Files, and what programs alone ask for: nginx asks the gate about each request to a notebook."""
PAGES = [
    route for route in ROUTES if route.method == "GET" and not route.is_api and route.endpoint not in NO_PAGES
]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("route", PAGES, ids=str)
def test_every_page_is_whole_in_both_languages(house: House, route: Route, language: str) -> None:
    """No placeholder is left, no name of a code is shown instead of its words, nothing is written inline."""
    chosen = f"?job={house.ids['job_id']}" if route.endpoint.startswith("runs.") else ""
    path = f"{address(house, route)}{chosen}"
    answer = house.visitor("administrator").get(path, headers={"Accept-Language": language})
    assert answer.status_code < 400
    text = answer.text if answer.mimetype == "text/html" and not answer.location else ""
    answer.close()
    if "<html" in text:
        assert f'<html lang="{language}"' in text
    assert "%(" not in text and "Undefined" not in text and "None<" not in text
    assert " style=" not in text and "<script>" not in text and " onclick=" not in text


@pytest.mark.parametrize(
    "path", ["/", "/nodes", "/nodes/1", "/workspaces", "/workspaces/1", "/operations", "/operations/1"]
)
def test_pieces_for_htmx_are_pieces(house: House, path: str) -> None:
    browser = house.visitor("owner")
    piece = browser.get(path, headers={"HX-Request": "true"})
    assert piece.status_code == 200 and "<html" not in piece.text
    back = browser.get(path, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in back.text, "going back in the browser's history asks for the whole page"


def test_nobody_learns_the_names_of_jobs_that_they_may_not_see(house: House) -> None:
    """The job holds a unit, which everybody sees; whose it is and what it is called, only its people."""
    for path in ("/", "/nodes", "/nodes/1", "/workspaces/1"):
        for kind, sees in (("owner", True), ("manager", True), ("administrator", True), ("member", False)):
            page = house.visitor(kind).get(path).text
            name = house_job_name(house)
            assert (name in page) is (sees and path != "/nodes"), (path, kind)
    stranger = house.visitor("stranger").get("/nodes/1").text
    assert "job-1" in stranger and house_job_name(house) not in stranger and "vision-lab" not in stranger


def house_job_name(house: House) -> str:
    with house.cluster.store.read() as session:
        return session.get_one(Job, house.ids["job_id"]).name


def test_every_change_says_who_and_from_where(house: House) -> None:
    browser = house.visitor("administrator")
    browser.post("/users/5/disable", headers={"X-Request-Id": "a-known-request"})
    made = [entry for entry in entries(house.cluster) if entry.request_id == "a-known-request"]
    assert "user.disabled" in {entry.action for entry in made}
    assert {(entry.actor_name, entry.address) for entry in made} == {("root-of-all", "127.0.0.1")}


@pytest.mark.parametrize("kind", ["administrator", "owner", "member"])
def test_no_link_leads_to_a_dead_end(house: House, kind: str) -> None:
    """Every address that a page names, followed from the first page on, by whoever sees it."""
    browser = house.visitor(kind)
    seen, ahead = set[str](), ["/"]
    while ahead:
        path = ahead.pop()
        answer = browser.get(path)
        assert answer.status_code < 400, path
        text = answer.text if answer.mimetype == "text/html" else ""
        answer.close()
        found = {unescape(link).split("#")[0] for link in LINK.findall(text)}
        new = {link for link in found if link and not link.startswith(("/static/", "/api/"))} - seen
        seen |= new
        ahead += sorted(new)
        assert len(seen) < 800
    assert len(seen) > 15
