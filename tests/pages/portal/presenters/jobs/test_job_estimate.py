"""The estimate beside the form of a job."""

import re
from datetime import UTC, datetime

from cluster.store.workspaces import Workspace
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.jobs.test_job_new import LENET


def test_the_estimate_says_why_it_would_wait_and_what_helps(lab: Lab) -> None:
    lab.a_running_job(units=1)
    answer = lab.browser(lab.seoyeon).post(
        f"/trainings/{lab.lenet.id}/jobs/check", data=LENET | {"units": "2"}
    )
    html = answer.get_data(as_text=True)
    assert "Would wait" in html
    assert "With 1 CPU slot it starts now." in html


def test_where_no_field_is_in_the_way_none_is_named(lab: Lab) -> None:
    with lab.cluster.store.write() as session:
        session.get_one(Workspace, lab.lenet.workspace_id).ended_at = datetime(2020, 1, 1, tzinfo=UTC)
    answer = lab.browser(lab.seoyeon).post(f"/trainings/{lab.lenet.id}/jobs/check", data=LENET)
    html = answer.get_data(as_text=True)
    assert "2020-01-01" in html and "Fix first" not in html
    described = re.search(r"<button[^>]*disabled aria-describedby=\"([^\"]+)\"", html)
    assert described and f'id="{described[1]}"' in html
