"""The form of a job is parsed, and filled from a job."""

import re

import pytest

from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import LENET, OWN, all_jobs


def test_own_code_gets_its_arguments_as_a_shell_would_split_them(lab: Lab) -> None:
    data = OWN | {"time_limit": "2h", "priority": "-3"}
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.own_code.id}/jobs/new", data=data)
    assert answer.status_code == 303
    (job,) = all_jobs(lab)
    assert job.command == ["train.py", "--epochs", "3", "--note", "two words"]
    assert (job.time_limit_seconds, job.priority, job.launcher.value) == (7200, -3, "plain")


def test_a_duplicate_starts_from_the_job_as_it_was(lab: Lab) -> None:
    browser = lab.browser(lab.seoyeon)
    browser.post(f"/trainings/{lab.own_code.id}/jobs/new", data=OWN | {"time_limit": "90m"})
    (job,) = all_jobs(lab)
    html = browser.get(f"/jobs/{job.id}/duplicate?units=2", follow_redirects=True).text
    assert 'value="own-1"' in html
    assert 'value="train.py"' in html
    assert "--epochs 3 --note &#39;two words&#39;" in html
    assert 'name="units" value="2"' in html
    assert 'value="90m"' in html


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
