"""A sweep that waits says why its next job waits, in the sentence of that job's own page."""

import html
import re

import pytest

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.sweeps.test_sweeps import a_sweep, ended, jobs_of


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_waiting_sweep_says_why_its_next_job_waits_and_when_it_starts(lab: Lab, language: str) -> None:
    lab.a_running_job(units=4)
    sweep = a_sweep(lab)
    first, second, third = jobs_of(lab, sweep)
    with lab.cluster.store.write() as session:
        session.get_one(Job, first.id).state = JobState.STOPPED
    browser = lab.browser(lab.minjun, language)
    page, of_job = (
        html.unescape(browser.get(path).text) for path in (f"/sweeps/{sweep.id}", f"/jobs/{second.id}")
    )
    sentence = re.search(rf'data-fact="job:{second.id}:sentence">(.*?)</p>', page, re.DOTALL)
    assert sentence and sentence[0] in of_job
    assert f'data-fact="job:{second.id}:start"' in page
    named = "Next of the sweep" if language == "en" else "이 스윕의 다음 작업"
    assert f'href="/jobs/{second.id}">{named}: {second.name}<' in page
    for job in (second, third):
        ended(lab, job, {})
    assert "why-waits" not in browser.get(f"/sweeps/{sweep.id}").text
