"""Each field of a request that cannot be estimated yet is named as the form names it."""

import re

import pytest

from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import LENET


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
