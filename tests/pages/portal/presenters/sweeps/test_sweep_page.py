"""The table of a sweep sorts by each column and shows what running jobs have measured."""

import json
import re

from cluster.domain.states import JobState
from cluster.store.jobs import Job
from tests.builders import holding
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.sweeps.test_sweeps import a_sweep, jobs_of


def test_every_column_sorts(lab: Lab) -> None:
    sweep = a_sweep(lab)
    made = jobs_of(lab, sweep)
    browser = lab.browser(lab.minjun)
    for query, order in (
        ("sort=learning_rate", [2, 1, 0]),
        ("sort=learning_rate&order=down", [0, 1, 2]),
        ("sort=job&order=down", [2, 1, 0]),
    ):
        page = browser.get(f"/sweeps/{sweep.id}?{query}").text
        assert re.findall(r'<td><a href="/jobs/(\d+)" title', page) == [
            str(made[place].id) for place in order
        ]
    assert browser.get(f"/sweeps/{sweep.id}?sort=nonsense").status_code == 422


def test_a_running_job_shows_what_it_has_measured_so_far(lab: Lab) -> None:
    sweep = a_sweep(lab)
    job = jobs_of(lab, sweep)[1]
    with lab.cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.state, row.fence, row.started_at = JobState.RUNNING, 1, lab.cluster.clock()
    holding(lab.cluster, job, lab.free_units()[:1])
    usage = {"results": {"accuracy/validation": [0.1, 0.75, 0.7]}}
    (lab.out(job).parent / "control" / "usage.json").write_text(json.dumps(usage))
    assert "75.0 %" in lab.browser(lab.minjun).get(f"/sweeps/{sweep.id}").text
    (lab.out(job).parent / "control" / "usage.json").write_text('{"results": {"a": [1]}}')
    assert lab.browser(lab.minjun).get(f"/sweeps/{sweep.id}").status_code == 200
