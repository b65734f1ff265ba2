"""The command shows what a job's program logged."""

import json

from tests.pages.portal.api.jobs.test_job_metrics import ROWS, job_with_metrics
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_metrics_are_a_table_for_people_and_rows_for_programs(lab: Lab, run: Run) -> None:
    number = str(job_with_metrics(lab).id)
    table = run("job", "metrics", number, "-o", "table").stdout.splitlines()
    assert table[0].split() == ["Metric", "Lowest", "Highest", "Last", "value"]
    assert table[1].split() == ["accuracy/validation", "10.0", "%", "93.0", "%", "91.0", "%"]
    assert json.loads(run("job", "metrics", f"job-{number}", "-o", "json").stdout)["attempt"] == 1
    assert run("job", "metrics", number, "-o", "csv").stdout.splitlines()[1:] == ROWS
    run("job", "metrics", "999", expected=4)
