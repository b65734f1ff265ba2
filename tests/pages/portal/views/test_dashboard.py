"""The first page asks the database as little with a long queue as with a short one."""

from cluster.domain.states import JobState
from tests.builders import a_job, a_training, a_workspace
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_queue import counted, many

MOST = 40
"""Statements besides the beginnings of reads, which PostgreSQL is not even sent."""


def test_the_first_page_costs_as_many_statements_however_long_the_queue_is(lab: Lab) -> None:
    """With waiting jobs of the reader's own: their reasons are read at once, not row by row."""
    lab.a_running_job(time_limit_seconds=3600)
    mine = a_training(lab.cluster, lab.workspace, lab.administrator)
    others = [a_training(lab.cluster, a_workspace(lab.cluster, lab.manager, units=1)) for _ in range(5)]
    for _ in range(8):
        job = a_job(lab.cluster, mine, lab.administrator)
        assert job.state is JobState.WAITING
    browser, costs = lab.browser(lab.administrator), []
    for count in (12, 400):
        for training in others:
            many(lab.cluster, training, count)
        browser.get("/")
        with counted(lab.cluster) as said:
            page = browser.get("/").text
        costs.append(sum(not each.startswith(("BEGIN", "PRAGMA")) for each in said))
    assert page.count("job-") >= 8
    assert costs[0] == costs[1] <= MOST, costs
