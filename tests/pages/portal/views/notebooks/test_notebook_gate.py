"""The gate lets one person's browser into one notebook, and nobody else."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from flask.testing import FlaskClient

from cluster.domain.people.actor import Actor
from cluster.domain.states import JobKind, JobState, UserState, Visibility
from cluster.services.notebooks import entries
from cluster.services.people import sessions
from cluster.services.storage.notebook_folders import socket_path
from cluster.store.jobs import Job, Notebook, NotebookEntry
from cluster.store.trainings import Training
from cluster.store.users import SignInSession, User
from cluster.store.workspaces import WorkspaceMember
from portal.views.notebooks.notebook_gate import cookie_name
from tests.builders import a_job, actor_of, add
from tests.pages.portal.pages_lab import Lab

TOKEN = "jupyters-own-token"


@dataclass
class Gate:
    lab: Lab
    job: Job
    session: str
    cookie: str = ""

    @property
    def actor(self) -> Actor:
        return actor_of(self.lab.minjun)

    def ask(self, job: int | None = None, cookie: str | None = None, **headers: str) -> int:
        """As nginx does for a request of this browser; the status."""
        return self.answer(job, cookie, **headers).status_code

    def answer(self, job: int | None = None, cookie: str | None = None, **headers: str):  # type: ignore[no-untyped-def]
        client = self.client()
        client.set_cookie(cookie_name(self.job.id), self.cookie if cookie is None else cookie)
        asked = {"X-Notebook": str(job or self.job.id)} | {
            name.replace("_", "-"): text for name, text in headers.items()
        }
        return client.get("/notebook-gate", headers=asked)

    def client(self) -> FlaskClient:
        return self.lab.app.test_client()

    def ticket(self) -> str:
        return entries.issue_ticket(self.lab.cluster, self.actor, self.job.id, self.session)

    def change(self, row: type, key: object, **values: object) -> None:
        with self.lab.cluster.store.write() as session:
            found = session.get_one(row, key)
            for name, value in values.items():
                setattr(found, name, value)


@pytest.fixture
def gate(lab: Lab) -> Gate:
    """Minjun, a member, has a notebook of a training that the workspace sees, and has entered it."""
    job = a_job(lab.cluster, lab.own_code, lab.minjun, state=JobState.RUNNING, fence=1, kind=JobKind.NOTEBOOK)
    add(lab.cluster, Notebook(job_id=job.id, token=TOKEN, ready_attempt=1, used_at=lab.cluster.clock()))
    gate = Gate(lab, job, sessions.begin_session(lab.cluster, lab.minjun.id, "127.0.0.1", "a browser"))
    gate.cookie = entries.redeem_ticket(lab.cluster, job.id, gate.ticket()) or ""
    return gate


def test_the_right_browser_is_led_to_the_socket_with_the_token(gate: Gate) -> None:
    answer = gate.answer()
    assert answer.status_code == 204
    socket = socket_path(gate.lab.cluster.settings, gate.job.id, 1)
    assert answer.headers["X-Notebook-Upstream"] == f"http://unix:{socket}:"
    assert answer.headers["X-Notebook-Token"] == TOKEN


def test_a_ticket_becomes_a_strict_cookie_of_this_notebook_once(gate: Gate) -> None:
    ticket, headers = gate.ticket(), {"X-Notebook": str(gate.job.id)}
    first = gate.client().get(f"/notebook-gate/enter?ticket={ticket}", headers=headers)
    cookie = first.headers["Set-Cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", f"Path=/nb/{gate.job.id}/"))
    assert "Domain" not in cookie and TOKEN not in first.text and ticket not in first.text
    assert f"url=/nb/{gate.job.id}/lab" in first.text
    second = gate.client().get(f"/notebook-gate/enter?ticket={ticket}", headers=headers)
    assert "Set-Cookie" not in second.headers and f"/jobs/{gate.job.id}/notebook" in second.text


def test_a_ticket_of_another_notebook_or_an_old_one_is_worth_nothing(gate: Gate) -> None:
    cluster = gate.lab.cluster
    assert entries.redeem_ticket(cluster, gate.job.id + 1, ticket := gate.ticket()) is None
    with cluster.store.write() as session:
        for entry in session.query(NotebookEntry):
            entry.ticket_expires_at = cluster.clock() - timedelta(seconds=1)
    assert entries.redeem_ticket(cluster, gate.job.id, ticket) is None
    assert entries.redeem_ticket(cluster, gate.job.id, "") is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "same-origin"}, 204),
        ({"Sec_Fetch_Site": "none"}, 204),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:8470"}, 403),
        ({"Origin": "null"}, 403),
        ({"Service_Worker": "script"}, 403),
        ({"X_Notebook_Host": "999"}, 403),
        ({"X_Notebook": "1/../2"}, 404),
        ({"X_Notebook": "9" * 30}, 404),
    ],
)
def test_what_another_page_asks_is_refused(gate: Gate, headers: dict[str, str], status: int) -> None:
    assert gate.ask(**headers) == status


def test_its_own_origin_may_open_websockets(gate: Gate) -> None:
    origin = gate.lab.cluster.settings.notebooks.origin(gate.job.id)
    assert gate.ask(Origin=origin, X_Notebook_Host=str(gate.job.id)) == 204


@pytest.mark.parametrize("cookie", ["", "x", "y" * 101, "é"])
def test_no_cookie_and_a_wrong_one_are_led_back(gate: Gate, cookie: str) -> None:
    assert gate.ask(cookie=cookie) == 401


def signed_out(gate: Gate) -> None:
    with gate.lab.cluster.store.write() as session:
        for each in session.query(SignInSession).filter_by(user_id=gate.lab.minjun.id):
            each.ended_at = gate.lab.cluster.clock()


def disabled(gate: Gate) -> None:
    gate.change(User, gate.lab.minjun.id, state=UserState.DISABLED)


def no_longer_a_member(gate: Gate) -> None:
    gate.change(Training, gate.lab.own_code.id, visibility=Visibility.PRIVATE)
    with gate.lab.cluster.store.write() as session:
        session.query(WorkspaceMember).filter_by(user_id=gate.lab.minjun.id).delete()


def restarted(gate: Gate) -> None:
    gate.change(Job, gate.job.id, fence=2)


def stopping(gate: Gate) -> None:
    gate.change(Job, gate.job.id, state=JobState.STOPPING)


def of_somebody_else(gate: Gate) -> None:
    gate.change(Job, gate.job.id, user_id=gate.lab.seoyeon.id)


@pytest.mark.parametrize(
    "change", [signed_out, disabled, no_longer_a_member, restarted, stopping, of_somebody_else]
)
def test_the_cookie_ends_with_what_it_stood_for(gate: Gate, change: Callable[[Gate], None]) -> None:
    assert gate.ask() == 204
    change(gate)
    assert gate.ask() == 401


def test_nobody_else_gets_a_ticket(gate: Gate) -> None:
    """Not even the owner of the training and an administrator, who may stop it."""
    for person in (gate.lab.seoyeon, gate.lab.administrator):
        browser = gate.lab.browser(person)
        page = browser.get(f"/jobs/{gate.job.id}/notebook").text
        assert "/notebook/open" not in page and f"/jobs/{gate.job.id}/stop" in page
        assert browser.post(f"/jobs/{gate.job.id}/notebook/open").status_code == 404
    assert gate.lab.browser(gate.lab.stranger).get(f"/jobs/{gate.job.id}/notebook").status_code == 404


def test_a_notebook_that_is_not_ready_opens_its_page_instead(gate: Gate) -> None:
    gate.change(Notebook, gate.job.id, ready_attempt=None)
    browser = gate.lab.browser(gate.lab.minjun)
    answer = browser.post(f"/jobs/{gate.job.id}/notebook/open")
    assert answer.status_code == 303 and answer.location.endswith(f"/jobs/{gate.job.id}/notebook")


def test_the_page_may_send_its_form_to_this_notebook_alone(gate: Gate) -> None:
    answer = gate.lab.browser(gate.lab.minjun).get(f"/jobs/{gate.job.id}/notebook")
    origin = gate.lab.cluster.settings.notebooks.origin(gate.job.id)
    assert f"form-action 'self' {origin};" in answer.headers["Content-Security-Policy"]
    assert TOKEN not in answer.text
