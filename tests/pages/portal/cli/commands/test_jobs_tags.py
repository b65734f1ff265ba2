"""The command tags, notes and runs jobs again, and finds them by search, tag and order."""

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.store.jobs import headline_columns
from tests.builders import a_job
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_the_command_tags_notes_and_runs_again(lab: Lab, run: Run) -> None:
    columns = headline_columns(HeadlineMetric("accuracy/validation", 0.9, is_best=True))
    job = a_job(lab.cluster, lab.training, lab.member, name="good", dataset_id=lab.dataset.id, **columns)
    other = a_job(lab.cluster, lab.training, lab.member, name="other")
    assert "paper" in run("job", "tag", f"job-{job.id}", "--add", "paper").output
    assert "the one" in run("job", "note", str(job.id), "--text", "the one").output
    found = run("job", "list", "--tag", "paper", "--order", "best").output
    assert f"job-{job.id}" in found and f"job-{other.id}" not in found
    assert "val accuracy 90.0 % (best)" in found
    assert f"job-{other.id}" in run("job", "list", "--search", "othe").output
    assert "submitted" in run("job", "rerun", str(job.id)).output
    run("job", "tag", "job-999", "--add", "paper", expected=4)
