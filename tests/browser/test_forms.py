"""Forms in a real browser: faults beside their fields, nothing that was typed is lost, an upload is checked before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Page, StorageState, expect
from sqlalchemy import delete, func, select

from cluster.domain.states import TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.people import passwords
from cluster.store.jobs import Job
from cluster.store.users import SignInSession, User
from cluster.store.workspaces import Workspace
from portal import create_app
from tests.browser.conftest import PageIn, served, signed_in
from tests.browser.page_checks import assert_accessible, assert_fits
from tests.builders import (
    a_dataset,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_administrator,
)
from tests.conftest import sqlite_cluster

PASSWORD = "quiet apron 42"
SCRIPTS = (("eval.py", b"print(1)\n"), ("fit.py", b"print(2)\n"))


@dataclass(frozen=True)
class Office:
    """An installation in which nothing runs; `jisoo` manages the workspace and has the password."""

    cluster: Cluster
    app: Flask
    url: str
    jisoo: User
    chief: User
    workspace: Workspace
    training: int
    own_code: int
    """A training of own code with two scripts."""

    def state(self, person: User) -> StorageState:
        return signed_in(self.cluster, person, self.url)

    def end_sessions(self) -> None:
        with self.cluster.store.write() as session:
            session.execute(delete(SignInSession))

    def count_jobs(self) -> int:
        with self.cluster.store.read() as session:
            return session.scalar(select(func.count(Job.id))) or 0


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[Office]:
    with ExitStack() as stack:
        still = stack.enter_context(sqlite_cluster(tmp_path_factory.mktemp("office"), migrated_file))
        cluster = replace(still, clock=lambda: datetime.now(UTC))
        chief, jisoo = an_administrator(cluster, "hjkim"), a_user(cluster, "jisoo")
        link = passwords.issue_password_link(cluster, actor_of(chief), jisoo.id)
        passwords.use_password_link(cluster, link, PASSWORD)
        people = tuple(a_user(cluster, f"member-{number}") for number in range(12))
        workspace = a_workspace(cluster, jisoo, people, name="vision-lab")
        a_node(cluster, 2, name="cpu01")
        a_dataset(cluster, workspace, name="digits", files=10, bytes=1000)
        training = a_training(cluster, workspace, jisoo, name="digits-lenet")
        own_code = trainings.create_training(
            cluster,
            actor_of(jisoo),
            workspace.id,
            "own",
            "",
            TrainingKind.ADVANCED,
            None,
            Visibility.PUBLIC,
            SCRIPTS,
        )
        app = create_app(cluster)
        url = stack.enter_context(served(app))
        yield Office(cluster, app, url, jisoo, chief, workspace, training.id, own_code.id)


@pytest.fixture
def base_url(office: Office) -> str:
    return office.url


@pytest.fixture
def job_form(page_in: PageIn, office: Office) -> Page:
    page = page_in(state=office.state(office.jisoo))
    page.goto(f"/trainings/{office.training}/jobs/new")
    expect(page.locator("#estimate .estimate-say")).to_be_visible()
    return page


def test_the_live_form_marks_each_fault_beside_its_field(job_form: Page) -> None:
    job_form.fill("#units", "99")
    job_form.fill('[id="variables.epochs"]', "0")
    for field in ("units", "variables.epochs"):
        expect(job_form.locator(f'[id="{field}"]')).to_have_attribute("aria-invalid", "true")
        expect(job_form.locator(f'[id="{field}-problem"]')).to_be_visible()
    assert_accessible(job_form)
    job_form.fill("#units", "1")
    expect(job_form.locator("#units-problem")).to_have_count(0)
    expect(job_form.locator("#units")).not_to_have_attribute("aria-invalid", "true")
    expect(job_form.locator('[id="variables.epochs-problem"]')).to_be_visible()


def test_a_form_opens_without_red_and_says_what_is_missing_once_it_is_touched(
    page_in: PageIn, office: Office
) -> None:
    page = page_in(state=office.state(office.jisoo))
    page.goto(f"/trainings/{office.own_code}/jobs/new")
    expect(page.locator("#estimate")).to_contain_text("Write what to run")
    expect(page.locator("#job-form .problem")).to_have_count(0)
    page.fill("#other_command", "python fit.py")
    expect(page.locator("#other_command-problem")).to_contain_text("Write the file alone")
    expect(page.locator("#script")).not_to_have_attribute("aria-invalid", "true")
    assert_accessible(page)


def test_an_empty_form_hears_of_all_its_faults_at_once(page_in: PageIn, office: Office) -> None:
    page = page_in("ko", state=office.state(office.chief))
    page.goto("/workspaces/new")
    page.fill("#units", "abc")
    page.fill("#ends_on", "")
    page.get_by_role("button", name="작업공간 만들기").click()
    for field in ("name", "units", "ends_on"):
        expect(page.locator(f"#{field}-problem")).to_be_visible()
    expect(page.locator("#units")).to_have_value("abc")


def test_enter_in_a_field_submits_no_job(job_form: Page, office: Office) -> None:
    before = office.count_jobs()
    job_form.fill("#name", "by-surprise")
    job_form.press("#name", "Enter")
    expect(job_form.locator("#as-command")).to_contain_text("by-surprise")
    assert job_form.url.endswith("/jobs/new") and office.count_jobs() == before


def test_a_session_that_ended_is_opened_again_beside_what_was_typed(job_form: Page, office: Office) -> None:
    before = office.count_jobs()
    office.end_sessions()
    job_form.fill("#name", "typed-long-ago")
    dialog = job_form.get_by_role("dialog")
    expect(dialog.get_by_label("Account")).to_have_value("jisoo")
    assert_accessible(job_form)
    dialog.get_by_label("Password").fill("wrong")
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog.locator(".notice")).to_be_visible()
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)
    expect(job_form.locator("#name")).to_have_value("typed-long-ago")
    expect(job_form.locator("#as-command")).to_contain_text("typed-long-ago")
    job_form.get_by_role("button", name="Make 1 job").click()
    expect(job_form).to_have_url(re.compile(r"/jobs/\d+$"))
    assert office.count_jobs() == before + 1


def test_a_live_page_says_that_nobody_is_signed_in(job_form: Page, office: Office) -> None:
    office.end_sessions()
    job_form.evaluate("document.body.dispatchEvent(new Event('gc:check-session'))")
    mark = job_form.get_by_role("link", name="Signed out · sign in").first
    expect(mark).to_be_visible()
    mark.click()
    expect(job_form.get_by_role("dialog").get_by_label("Password")).to_be_visible()


@pytest.mark.parametrize("javascript", [True, False], ids=["with scripts", "without"])
def test_a_form_that_was_sent_too_late_is_not_lost(page_in: PageIn, office: Office, javascript: bool) -> None:
    page = page_in(state=office.state(office.jisoo), javascript=javascript)
    page.route(
        re.compile("/sign-in/again"), lambda _route: None
    )  # The page never learns that the session has ended.
    page.goto(f"/workspaces/{office.workspace.id}/edit")
    page.fill("#description", "two\nlines")
    office.end_sessions()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("What you typed is kept")
    page.get_by_label("Account").fill("Jisoo")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    if javascript:
        expect(page).to_have_url(re.compile("/edit$"))
        expect(page.locator("#description")).to_have_value("two\nlines")
        page.get_by_role("button", name="Save").click()
    else:
        page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(re.compile(rf"/workspaces/{office.workspace.id}$"))
    expect(page.locator("main")).to_contain_text("two")


def test_another_language_keeps_a_half_filled_form(page_in: PageIn, office: Office) -> None:
    page = page_in(state=office.state(office.chief))
    page.goto("/users/new")
    page.fill("#name", "jiwoo")
    page.get_by_label("vision-lab").check()
    page.get_by_role("button", name="한국어").click()
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    expect(page.locator("#name")).to_have_value("jiwoo")
    expect(page.get_by_label("vision-lab")).to_be_checked()
    page.reload()
    expect(page.locator("#name")).to_have_value("")
    page.get_by_role("button", name="English").click()


def test_members_are_found_by_typing_a_part_of_their_name(page_in: PageIn, office: Office) -> None:
    page = page_in(state=office.state(office.chief), width=390, height=844)
    page.goto("/workspaces/new")
    page.get_by_label("member-3").check()
    page.get_by_placeholder("Search by name").fill("member-1")
    expect(page.get_by_label("member-11")).to_be_visible()
    expect(page.get_by_label("member-2")).to_be_hidden()
    expect(page.get_by_label("member-3")).to_be_visible()
    assert_fits(page)
    assert_accessible(page)


def archive(name: str) -> dict[str, object]:
    return {"name": name, "mimeType": "application/zip", "buffer": b"PK" * 500_000}


def test_an_upload_is_named_and_checked_before_it_is_sent(page_in: PageIn, office: Office) -> None:
    page = page_in(state=office.state(office.jisoo))
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.goto(f"/workspaces/{office.workspace.id}/datasets/new")
    page.locator("#archive").set_input_files([archive("큰 데이터.zip")])  # type: ignore[list-item]
    expect(page.locator("#name")).to_have_value("keun-deiteo")
    page.fill("#name", "digits")
    page.press("#name", "Tab")
    page.get_by_role("link", name="Use digits-2").click()
    expect(page.locator("#name")).to_have_value("digits-2")
    expect(page.locator("#name-problem")).to_have_count(0)
    assert page.locator("#archive").evaluate("field => field.files.length") == 1
    assert sent and all(address.endswith("/check") for address in sent)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("digits-2")


def test_an_upload_can_be_cancelled_and_keeps_its_file(page_in: PageIn, office: Office) -> None:
    page = page_in(state=office.state(office.jisoo))
    page.goto(f"/workspaces/{office.workspace.id}/datasets/new")
    page.route("**/datasets/new", lambda route: None if route.request.method == "POST" else route.continue_())
    page.locator("#archive").set_input_files([archive("shapes.zip")])  # type: ignore[list-item]
    expect(page.locator("#name")).to_have_value("shapes")
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".upload-progress")).to_contain_text("Cancelled")
    assert page.locator("#archive").evaluate("field => field.files.length") == 1
    expect(page.get_by_role("button", name="Upload")).to_be_enabled()


def test_the_menus_switch_is_no_stop_of_the_tab_key_on_a_wide_screen(page_in: PageIn, office: Office) -> None:
    page = page_in(state=office.state(office.chief))
    page.goto("/users/new")
    for _ in range(4):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") != "menu"
