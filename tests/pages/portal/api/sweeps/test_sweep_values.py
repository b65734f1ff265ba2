"""What REST says of a sweep."""

from tests.pages.portal.api.sweeps.test_sweeps import submit
from tests.pages.portal.rest_lab import Lab


def test_a_dry_run_shows_the_list_and_makes_nothing(lab: Lab) -> None:
    answer = submit(lab, query="?dry_run=true", values={"seed": "1..50"})
    assert answer.status_code == 200
    found = answer.json
    assert (found["jobs"], found["starts_now"], found["unit_hours"]) == (50, True, None)
    assert (len(found["names"]), found["names"][1]) == (20, "digits-lenet-seed=2")
    assert lab.client.get("/api/v1/sweeps", headers=lab.headers()).json["items"] == []
