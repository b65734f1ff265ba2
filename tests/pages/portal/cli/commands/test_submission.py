"""Options of a submission become fields of the request."""

import json

from tests.pages.portal.command_lab import Run, submit


def test_tries_and_grace_are_asked_for(run: Run) -> None:
    job_id = submit(run, "--retries", "2", "--grace", "2m")
    shown = json.loads(run("job", "show", str(job_id), "--output", "json").stdout)
    assert (shown["retries"], shown["grace_seconds"], shown["retries_used"]) == (2, 120, 0)


def test_memory_is_asked_for(run: Run) -> None:
    job_id = submit(run, "--memory", "1.5GiB")
    shown = json.loads(run("job", "show", str(job_id), "--output", "json").stdout)
    assert shown["memory_bytes"] == 1024**3 * 3 // 2
    run("job", "submit", "-t", "lenet", "--memory", "12 litres", expected=2)
