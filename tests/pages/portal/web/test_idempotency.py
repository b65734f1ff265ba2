"""A repeated request has one effect."""

from tests.pages.portal.api.jobs.test_jobs import submit
from tests.pages.portal.rest_lab import Lab, lab

__all__ = ["lab"]


def test_a_repeated_request_gets_the_same_job(lab: Lab) -> None:
    key = {"Idempotency-Key": "abc"}
    first, again = submit(lab, headers=key), submit(lab, headers=key)
    assert first.json["id"] == again.json["id"]
    other = submit(lab, headers=key, name="other")
    assert (other.status_code, other.json["errors"][0]["pointer"]) == (422, "/Idempotency-Key")
    assert submit(lab, headers={"Idempotency-Key": "x" * 101}).status_code == 422
