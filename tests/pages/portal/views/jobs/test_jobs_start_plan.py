"""A start plan that a program has overwritten."""

import pytest

from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_jobs import TABS


@pytest.mark.parametrize("text", ["", "[]", "{", '{"argv": 1, "environment": [], "uid": "x"}', "[" * 60_000])
def test_a_plan_that_is_no_plan_breaks_no_page(lab: Lab, text: str) -> None:
    job = lab.a_running_job()
    for name in ("plan.json", "usage.json"):
        (lab.out(job).parent / "control" / name).write_text(text)
    for tab in TABS:
        assert lab.browser(lab.seoyeon).get(f"/jobs/{job.id}?tab={tab}").status_code == 200
