"""`groundcrew accounting` says what a month and what a job took."""

from tests.pages.portal.command_lab import Run, submit
from tests.pages.portal.rest_lab import Lab


def test_the_command_says_what_was_used(lab: Lab, run: Run) -> None:
    job_id = submit(run)
    assert "Submitted" in run("accounting", f"job-{job_id}").output
    assert "Workspace" in run("accounting").output
    assert run("accounting", "--month", "2026-11", "-o", "csv").stdout.startswith("month,workspace,user")
    assert '"items": []' in run("accounting", "-o", "json").stdout
    run("accounting", "--month", "2026-99", expected=6)
    run("accounting", "job-x", expected=2)
    run("accounting", "job-999", expected=4)
