"""A month's use as a page and as a file, and a job's own account."""

import csv
import io
import re
from datetime import timedelta

import pytest

from cluster.domain.states import JobState
from cluster.store.jobs import Attempt, Job
from tests.pages.portal.pages_lab import Lab


def two_hours(lab: Lab) -> Job:
    """Two units for one hour, of which half was work."""
    job = lab.a_running_job(units=2)
    now = lab.cluster.clock()
    with lab.cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.fence, row.state, row.ended_at = 1, JobState.FINISHED, now
        row.exit_code, row.end_code, row.end_data = 0, "exit.finished", {}
        row.cpu_seconds, row.unit_seconds_used, row.average_memory_bytes = 1800.0, 3600.0, 5_000_000
        (attempt,) = session.query(Attempt).filter_by(job_id=job.id)
        attempt.ended_at, attempt.cpu_seconds, attempt.unit_seconds_used = now, 1800.0, 3600.0
        for held in attempt.allocations:
            held.begun_at, held.ended_at = now - timedelta(hours=1), now
    return job


def test_the_month_is_a_page(lab: Lab) -> None:
    two_hours(lab)
    page = lab.browser(lab.administrator).get("/accounting").text
    assert "2026-11" in page and "2026-10" not in page and "2026-12" not in page
    assert re.search(r"50 %", page) and "2.00" in page and "1.00" in page
    assert "seoyeon" in page and "vision" in page
    assert "vision" in lab.browser(lab.manager).get("/accounting").text
    assert "seoyeon" not in lab.browser(lab.minjun).get("/accounting").text
    earlier = lab.browser(lab.administrator).get("/accounting?month=2026-10").text
    assert "Nobody held units" in earlier and "2026-11" in earlier
    korean = lab.browser(lab.administrator, "ko").get("/accounting").text
    assert "예약한 CPU 슬롯 시간" in korean


@pytest.mark.parametrize("query", ["month=2026-13", "month=now", "workspace=x", "format=xls", "month=%00"])
def test_a_bad_address_is_refused(lab: Lab, query: str) -> None:
    assert lab.browser(lab.administrator).get(f"/accounting?{query}").status_code == 422


def test_the_month_is_a_file(lab: Lab) -> None:
    two_hours(lab)
    answer = lab.browser(lab.administrator).get("/accounting?format=csv&month=2026-11")
    assert answer.mimetype == "text/csv"
    assert "accounting-2026-11.csv" in answer.headers["Content-Disposition"]
    head, row = csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))
    found = dict(zip(head, row, strict=True))
    assert (found["month"], found["workspace"], found["user"], found["jobs"]) == (
        "2026-11",
        "vision",
        "seoyeon",
        "1",
    )
    assert (found["unit_hours_booked"], found["unit_hours_used"], found["cpu_hours"]) == ("2.0", "1.0", "0.5")
