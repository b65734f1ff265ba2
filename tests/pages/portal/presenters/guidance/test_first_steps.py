"""The dashboard leads to the first job, and gets out of the way afterwards."""

import re

from flask.testing import FlaskClient

from cluster.services.context import Cluster
from cluster.services.people import sessions
from tests.builders import a_workspace, an_administrator
from tests.pages.portal.pages_lab import Lab

NEXT = re.compile(r'class="btn btn-ink" href="([^"]*)"')


def first_steps(page: str) -> str:
    return page.split('id="first-steps"')[1].split("</section>")[0] if 'id="first-steps"' in page else ""


def test_an_administrator_of_a_new_installation_has_a_button_for_the_next_step(lab: Lab) -> None:
    shown = first_steps(lab.browser(lab.administrator).get("/").text)
    assert "2 of 3 done" in shown, "there are people and a workspace in the lab"
    assert NEXT.findall(shown) == ["/operations"]


def test_the_workspace_comes_before_the_people_who_are_invited_into_it(
    light_cluster: Cluster, client: FlaskClient
) -> None:
    administrator = an_administrator(light_cluster)
    token = sessions.begin_session(light_cluster, administrator.id, "192.0.2.1", "a test")
    client.set_cookie(f"gc_session_{light_cluster.settings.port}", token)
    assert NEXT.findall(first_steps(client.get("/").text)) == ["/workspaces/new"]
    a_workspace(light_cluster, administrator)
    assert NEXT.findall(first_steps(client.get("/").text)) == ["/users/new"]


def test_an_installation_with_several_workspaces_is_no_longer_new(lab: Lab) -> None:
    for _ in range(2):
        a_workspace(lab.cluster)
    assert first_steps(lab.browser(lab.administrator).get("/").text) == ""


def test_a_person_without_a_job_is_led_to_the_first_one(lab: Lab) -> None:
    shown = first_steps(lab.browser(lab.seoyeon).get("/").text)
    assert "2 of 3 done" in shown
    assert NEXT.findall(shown)[0].endswith("/jobs/new")
    lab.a_running_job()
    again = lab.browser(lab.seoyeon).get("/").text
    assert first_steps(again) == ""
    assert f'class="btn btn-ink" href="/trainings/{lab.lenet.id}/jobs/new"' in again, (
        "the shortest way to the next"
    )
    assert f'class="btn" href="/workspaces/{lab.workspace.id}/trainings/new"' in again


def test_the_way_to_own_code_is_one_link(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    link = f"/workspaces/{lab.workspace.id}/trainings/new?kind=advanced"
    assert f'<a href="{link}">your own code</a>' in first_steps(browser.get("/").text)
    assert 'name="code"' in browser.get(link).text


def test_a_person_without_a_workspace_is_told_who_can_help(lab: Lab) -> None:
    page = lab.browser(lab.stranger).get("/").text
    assert first_steps(page) == "" and "You are not a member of any workspace yet." in page


def test_what_was_made_is_said_with_what_comes_next(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    form = {"kind": "built_in", "name": "next-one", "model": "lenet", "visibility": "public"}
    made = browser.post(f"/workspaces/{lab.workspace.id}/trainings/new", data=form)
    page = browser.get(made.location).text
    assert "Training next-one is made. Next:" in page
    assert f'<a href="{made.location}/jobs/new">Start a job</a>' in page


def test_a_dataset_that_is_ready_says_what_can_be_trained_with_it(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    page = browser.get(f"/datasets/{lab.dataset.id}").text
    link = f"/trainings/{lab.lenet.id}/jobs/new?dataset={lab.dataset.id}"
    assert link in page
    assert page.index("Train with it") < page.index("Who uses it"), "nobody has used it: that comes next"
    assert f'<option value="{lab.dataset.id}" selected>' in browser.get(link).text


def test_new_job_of_a_workspace_opens_the_form_of_the_last_training(lab: Lab) -> None:
    lab.a_running_job(lab.lenet)
    page = lab.browser(lab.seoyeon).get(f"/workspaces/{lab.workspace.id}").text
    assert f'class="btn btn-ink" href="/trainings/{lab.lenet.id}/jobs/new"' in page
