"""What REST says of a job in lists and by itself."""

from cluster.domain.states import JobState
from tests.builders import a_job
from tests.pages.portal.rest_lab import Lab


def test_a_job_says_its_own_and_only_one_by_itself_says_where_it_ran(lab: Lab) -> None:
    job = a_job(lab.cluster, lab.training, lab.member, name="first", state=JobState.FINISHED)
    shown = lab.client.get(f"/api/v1/jobs/{job.id}", headers=lab.headers()).json
    (listed,) = lab.client.get("/api/v1/jobs", headers=lab.headers()).json["items"]
    assert (shown["name"], shown["state"]) == (listed["name"], listed["state"]) == ("first", "finished")
    assert "ran_in" in shown and "ran_in" not in listed
