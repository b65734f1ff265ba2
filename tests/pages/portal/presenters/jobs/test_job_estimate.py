"""The estimate beside the form of a job."""

import re
from datetime import UTC, datetime

import pytest

from cluster.store.workspaces import Workspace
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import LENET


def test_the_estimate_says_why_it_would_wait_and_what_helps(lab: Lab) -> None:
    lab.a_running_job(units=1)
    answer = lab.browser(lab.seoyeon).post(
        f"/trainings/{lab.lenet.id}/jobs/check", data=LENET | {"units": "2"}
    )
    html = answer.get_data(as_text=True)
    assert "Would wait" in html
    assert "With 1 CPU slot it starts now." in html


def test_the_estimate_names_the_field_that_is_in_the_way(lab: Lab) -> None:
    answer = lab.browser(lab.seoyeon).post(
        f"/trainings/{lab.lenet.id}/jobs/check", data=LENET | {"variables.epochs": "0"}
    )
    html = answer.get_data(as_text=True)
    assert answer.status_code == 200
    assert 'href="#variables.epochs"' in html
    assert re.search(r"<button[^>]*disabled[^>]*>Make 1 job", html)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"time_limit": "soon"}, "Time limit"),
        ({"variables.epochs": "0"}, "epochs"),
    ],
)
def test_the_estimate_names_each_field_as_the_form_does(lab: Lab, wrong: dict[str, str], named: str) -> None:
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/check", data=LENET | wrong)
    said = re.search(r"Fix first:(.*?)</span>", answer.get_data(as_text=True), re.DOTALL)
    assert said and re.sub(r"<[^>]+>", "", said[1]).strip() == named


def test_where_no_field_is_in_the_way_none_is_named(lab: Lab) -> None:
    with lab.cluster.store.write() as session:
        session.get_one(Workspace, lab.lenet.workspace_id).ended_at = datetime(2020, 1, 1, tzinfo=UTC)
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/check", data=LENET)
    html = answer.get_data(as_text=True)
    assert "2020-01-01" in html and "Fix first" not in html
    described = re.search(r"<button[^>]*disabled aria-describedby=\"([^\"]+)\"", html)
    assert described and f'id="{described[1]}"' in html
