"""The pages show rows and nothing else, in both languages, for each kind of person."""

import re
from datetime import timedelta
from html import unescape

import pytest
from sqlalchemy import update

from cluster.domain.states import JobState, UnitState
from cluster.services.people import sessions
from cluster.services.workspaces import lifecycle
from cluster.store.jobs import Job
from cluster.store.nodes import Node, Unit
from cluster.store.trainings import Training
from tests.audit_entries import actions, entries
from tests.builders import a_job
from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import ROUTES, Route, address

LINK = re.compile(r'(?:href|hx-get)="(/[^"]*)"')
PAGES = [
    route
    for route in ROUTES
    if route.method == "GET"
    and not route.is_api
    and route.endpoint not in ("static", "stream.stream", "health.health")
]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("route", PAGES, ids=str)
def test_every_page_is_whole_in_both_languages(house: House, route: Route, language: str) -> None:
    """No placeholder is left, no name of a code is shown instead of its words, nothing is written inline."""
    answer = house.visitor("administrator").get(address(house, route), headers={"Accept-Language": language})
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


def test_the_dashboard_is_quiet_where_nothing_is_wrong(house: House) -> None:
    with house.cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=house.cluster.clock()))
    page = house.visitor("administrator").get("/").text
    assert "All quiet" in page and 'class="sign"' not in page


def test_the_sign_names_what_needs_a_person_and_the_rail_counts_the_same(house: House) -> None:
    now = house.cluster.clock()
    with house.cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=now - timedelta(minutes=4)))
        session.execute(update(Unit).where(Unit.position == 3).values(state=UnitState.BROKEN))
    page = house.visitor("administrator").get("/").text
    assert "Needs you 2" in page and "lab-a" in page
    assert page.index("does not answer") < page.index("CPU slot of 4 broken"), (
        "what blocks people comes first"
    )
    assert page.count('class="call-count"') >= 2


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


def test_a_cluster_without_gpus_never_says_gpu(house: House) -> None:
    for path in ("/", "/nodes", "/nodes/1", "/workspaces", "/workspaces/1", "/workspaces/new", "/sign-in"):
        for language, word in (("en", "CPU slot"), ("ko", "CPU 슬롯")):
            page = house.visitor("anonymous" if path == "/sign-in" else "administrator").get(
                path, headers={"Accept-Language": language}
            )
            assert "GPU" not in page.text.split("<body")[1].replace("simulated GPU", ""), path
            assert word in page.text or path == "/workspaces", path


def test_users_are_made_disabled_and_enabled(house: House) -> None:
    admin = house.visitor("administrator")
    made = admin.post("/users/new", data={"name": "newcomer", "full_name": "새 사람", "role": "user"})
    link = made.text.split('id="secret-text">')[1].split("<")[0]
    assert link.startswith("http://127.0.0.1:8470/link/")
    assert link not in admin.get("/users").text, "the link is shown once"
    path = link.removeprefix("http://127.0.0.1:8470")
    assert house.visitor("anonymous").get(path).status_code == 200
    user_id = max(
        int(part.split('"')[0]) for part in admin.get("/users").text.split("/users/")[1:] if part[0].isdigit()
    )
    confirm = admin.get(f"/users/{user_id}/disable").text
    assert "Nothing has been done yet" in confirm and "newcomer" in confirm
    assert admin.post(f"/users/{user_id}/disable").status_code == 303
    assert "Disabled" in admin.get(f"/users/{user_id}").text
    assert house.visitor("anonymous").get(path).status_code == 404
    assert "newcomer" in admin.get("/users?state=disabled").text
    assert "newcomer" not in admin.get("/users?state=active").text
    assert admin.post(f"/users/{user_id}/enable").status_code == 303
    assert {"user.created", "user.disabled", "user.enabled"} <= set(actions(house.cluster))


def test_the_last_administrator_stays(house: House) -> None:
    admin = house.visitor("administrator")
    me = house.people["administrator"].id
    answer = admin.post(f"/users/{me}/disable")
    assert answer.status_code == 422 and "last administrator" in answer.text
    assert admin.post(f"/users/{me}/role", data={"role": "user"}).status_code == 422


def test_a_token_is_shown_once_and_works_until_it_is_revoked(house: House) -> None:
    browser = house.visitor("member")
    made = browser.post("/profile/tokens", data={"token_name": "laptop", "scope": "read", "days": "30"})
    text = made.text.split('id="secret-text">')[1].split("<")[0]
    assert text.startswith("gc_") and text not in browser.get("/profile").text
    rest = house.app.test_client()
    headers = {"Authorization": f"Bearer {text}"}
    assert rest.get("/api/v1/nodes", headers=headers).status_code == 200
    assert rest.post("/api/v1/jobs", headers=headers, json={}).status_code == 403, "it may only read"
    number = text.split("_")[1]
    assert browser.post(f"/profile/tokens/{number}/revoke").status_code == 303
    assert rest.get("/api/v1/nodes", headers=headers).status_code == 401


def test_sessions_are_listed_and_ended(house: House) -> None:
    browser, other = house.visitor("owner"), house.app.test_client()
    token = sessions.begin_session(
        house.cluster, house.people["owner"].id, "192.0.2.7", "Mozilla/5.0 (X11; Linux) Firefox/140"
    )
    other.set_cookie(f"gc_session_{house.cluster.settings.port}", token)
    page = browser.get("/profile").text
    assert "Firefox · Linux" in page and "192.0.2.7" in page and "this one" in page
    assert browser.post("/profile/sessions/end-others").status_code == 303
    assert other.get("/").status_code == 302 and browser.get("/").status_code == 200


def test_changing_the_password_keeps_this_session_alone(house: House) -> None:
    browser = house.visitor("owner")
    typed = {"old": "quiet apron 42", "password": "another quiet apron"}
    assert browser.post("/profile/password", data=typed).status_code == 303
    assert browser.get("/").status_code == 200
    assert sessions.sign_in(house.cluster, "seoyeon", "another quiet apron", "127.0.0.1", "")
    wrong = browser.post("/profile/password", data=typed)
    assert wrong.status_code == 422 and 'id="old-problem"' in wrong.text


def test_a_workspace_lives_from_new_to_extended(house: House) -> None:
    admin = house.visitor("administrator")
    fields = {
        "name": "speech", "description": "음성", "units": "1", "starts_on": "2026-11-20",
        "ends_on": "2026-11-22", "manager": "jisoo", "members": "taeho",
    }  # fmt: skip
    made = admin.post("/workspaces/new", data=fields)
    assert made.status_code == 303
    home = made.location
    assert house.visitor("stranger").get(home).status_code == 200, "taeho is a member now"
    assert "ends in 2 days" in admin.get("/").text
    confirm = admin.get(f"{home}/end").text
    assert "Nothing has been done yet" in confirm and "2026-11-22" in confirm
    assert house.visitor("manager").post(f"{home}/end").status_code == 303
    page = house.visitor("stranger").get(home).text
    assert "This workspace has ended" in page and "Expired" in page
    assert "speech" in admin.get("/workspaces?state=expired").text
    assert "speech" not in admin.get("/workspaces?state=active").text.split('id="workspaces"')[1]
    assert admin.post(f"{home}/extend", data={"ends_on": "2026-12-31"}).status_code == 303
    assert "This workspace has ended" not in admin.get(home).text
    assert {"workspace.created", "workspace.ended", "workspace.extended"} <= set(actions(house.cluster))


def test_a_failed_operation_says_why_and_is_tried_again(house: House) -> None:
    browser = house.visitor("owner")
    page = browser.get("/operations/1").text
    assert "dropped each time" in page and "Try again" in page
    log = browser.get("/operations/1/log")
    assert "the disk is full" in page and log.text.startswith("first line")
    log.close()
    assert "Try again" not in house.visitor("member").get("/operations/1").text
    assert browser.post("/operations/1/retry").status_code == 303
    assert browser.post("/operations/1/retry").status_code == 409
    assert "operation.retried" in actions(house.cluster)


def test_a_waiting_job_is_told_in_a_sentence(house: House) -> None:
    with house.cluster.store.read() as session:
        training = session.get_one(Training, house.ids["public_training_id"])
    by = house.people["manager"]
    a_job(
        house.cluster, training, house.people["owner"], 4, JobState.WAITING,
        held_at=house.cluster.clock(), held_by=by.id,
    )  # fmt: skip
    assert f"Held by {by.name} since" in house.visitor("owner").get("/").text
    korean = house.visitor("member").get("/workspaces/1", headers={"Accept-Language": "ko"}).text
    assert by.name in korean and "보류" in korean


def test_every_change_says_who_and_from_where(house: House) -> None:
    browser = house.visitor("administrator")
    browser.post("/users/5/disable", headers={"X-Request-Id": "a-known-request"})
    made = [entry for entry in entries(house.cluster) if entry.request_id == "a-known-request"]
    assert "user.disabled" in {entry.action for entry in made}
    assert {(entry.actor_name, entry.address) for entry in made} == {("root-of-all", "127.0.0.1")}


def test_many_workspaces_are_listed_by_state_then_name(house: House) -> None:
    manager = house.people["manager"]
    day = lifecycle.local_today(house.cluster)
    for name, first in (("aaa", 5), ("zzz", 0)):
        term = day + timedelta(days=first), day + timedelta(days=9)
        lifecycle.create_workspace(
            house.cluster, house.actor("administrator"), name, "", *term, 0, manager.name
        )
    page = house.visitor("manager").get("/workspaces").text
    table = page.split('id="workspaces"')[1]
    assert table.index(">vision-lab<") < table.index(">zzz<") < table.index(">aaa<")


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
