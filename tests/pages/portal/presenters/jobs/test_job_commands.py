"""A request is written as a command and as a call of REST."""

from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import LENET, all_jobs


def test_the_estimate_says_that_it_starts_now_and_how_to_ask_for_the_same(lab: Lab) -> None:
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/check", data=LENET)
    html = answer.get_data(as_text=True)
    assert answer.status_code == 200
    assert "cpu01 has room." in html
    assert "--training vision/digits-lenet" in html
    assert "--var epochs=3" in html
    assert "batch_size" not in html.partition("estimate-say")[2], "defaults need not be said"
    assert "/api/v1/jobs" in html
    assert "<html" not in html
    assert all_jobs(lab) == []
