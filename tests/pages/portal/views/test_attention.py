"""Failures need their user until the user has dismissed them."""

from tests.pages.portal.pages_lab import Lab


def test_a_failed_job_needs_its_user_until_it_is_dismissed(lab: Lab) -> None:
    jobs = [lab.a_running_job() for _ in range(2)]
    for job in jobs:
        lab.ended(job, "exit.command_not_found", exit_code=127)
    browser = lab.browser(lab.seoyeon)
    page = browser.get("/").text
    assert "Needs you 2" in page
    assert f'href="/jobs/{jobs[0].id}">See job' in page and "command or path not found" in page
    answer = browser.post("/attention/dismiss", data={"topic": "job", "subject": str(jobs[0].id)})
    assert answer.status_code == 303
    page = browser.get("/").text
    assert "Needs you 1" in page and f'href="/jobs/{jobs[0].id}">See job' not in page
    lab.browser(lab.minjun).post("/attention/dismiss", data={"topic": "job", "subject": "all"})
    assert "Needs you 1" in browser.get("/").text
    browser.post("/attention/dismiss", data={"topic": "job", "subject": "all"})
    assert "All quiet" in browser.get("/").text
    for wrong in (
        {"topic": "node", "subject": "1"},
        {"topic": "job", "subject": "x"},
        {"topic": "job", "more": "1"},
    ):
        assert browser.post("/attention/dismiss", data=wrong).status_code == 422
