"""REST answers a submission that would be, and makes nothing of it."""

from tests.pages.portal.api.jobs.test_jobs import submit
from tests.pages.portal.rest_lab import Lab


def test_a_dry_run_makes_nothing(lab: Lab) -> None:
    answer = submit(lab, query={"dry_run": "true"})
    assert (answer.status_code, answer.json["starts_now"]) == (200, True)
    assert lab.client.get("/api/v1/jobs", headers=lab.headers()).json["items"] == []
