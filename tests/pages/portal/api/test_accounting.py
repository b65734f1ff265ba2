"""Accounting over REST."""

import json

from tests.builders import a_user, actor_of
from tests.pages.portal.pages_lab import Lab, lab
from tests.pages.portal.views.test_accounting import two_hours

__all__ = ["lab"]


def test_a_job_has_its_account(lab: Lab) -> None:
    job = two_hours(lab)
    page = lab.browser(lab.minjun).get(f"/jobs/{job.id}?tab=history").text
    for words in (
        "Dispatched",
        "CPU slot hours booked",
        "CPU slot hours used",
        "Mean memory",
        "Completed, exit code 0.",
    ):
        assert words in page
    answer = lab.browser(lab.minjun).get(f"/api/v1/jobs/{job.id}/accounting")
    found = json.loads(answer.text)
    assert (found["unit_hours_booked"], found["unit_hours_used"], found["exit_code"]) == (2.0, 1.0, 0)
    assert found["end"]["sentence"] == "Completed, exit code 0."
    assert set(found["seconds_in_states"]) == {"waiting", "running"}
    stranger = a_user(lab.cluster)
    assert actor_of(stranger)
    assert lab.browser(stranger).get(f"/api/v1/jobs/{job.id}/accounting").status_code == 404


def test_rest_answers_with_the_month(lab: Lab) -> None:
    two_hours(lab)
    found = json.loads(lab.browser(lab.manager).get("/api/v1/accounting?month=2026-11").text)
    assert (found["month"], found["time_zone"]) == ("2026-11", lab.cluster.settings.zone.key)
    (item,) = found["items"]
    assert (item["user"]["name"], item["unit_hours_booked"], item["cpu_seconds"]) == ("seoyeon", 2.0, 1800.0)
    assert lab.browser(lab.manager).get("/api/v1/accounting?month=2026-1").status_code == 422
