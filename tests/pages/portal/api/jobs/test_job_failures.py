"""REST and the command say why a job failed, as its page does."""

import json

from cluster.domain.states import JobState
from cluster.services.storage import folders
from cluster.store.jobs import Attempt, Job
from tests.builders import a_node
from tests.pages.portal.command_lab import Run, run
from tests.pages.portal.rest_lab import Lab

__all__ = ["run"]

CRASH = "Traceback (most recent call last):\n  File \"train.py\", line 9\nModuleNotFoundError: No module named 'timm'\n"


def a_failed_job(lab: Lab, code: str = "exit.error", stderr: str = CRASH) -> int:
    job_id = int(
        lab.client.post(
            "/api/v1/jobs",
            json={"training_id": lab.training.id, "dataset_id": lab.dataset.id, "variables": {"epochs": 3}},
            headers=lab.headers(),
        ).json["id"]
    )
    node, now = a_node(lab.cluster, 1, name="gpu77"), lab.cluster.clock()
    with lab.cluster.store.write() as session:
        job = session.get_one(Job, job_id)
        job.fence, job.state, job.end_code, job.end_data = 1, JobState.FAILED, code, {}
        job.exit_code, job.ended_at = 1, now
        session.add(
            Attempt(
                job_id=job_id,
                number=1,
                node_id=node.id,
                state="ended",
                end_code=code,
                end_data={},
                created_at=now,
                ended_at=now,
            )
        )
        out = folders.attempt_folder(lab.cluster.settings, job.workspace_id, job_id, 1) / "out"
    out.mkdir(parents=True)
    (out / "rank-0.stderr").write_text(stderr)
    return job_id


def test_the_cause_of_a_failure_is_in_the_answer(lab: Lab) -> None:
    job_id = a_failed_job(lab)
    for path in (f"/api/v1/jobs/{job_id}", f"/api/v1/jobs/{job_id}/why"):
        failure = lab.client.get(path, headers=lab.headers()).json["failure"]
        assert failure["error"] == "ModuleNotFoundError: No module named 'timm'"
        assert (failure["rank"], failure["stream"]) == ("0", "stderr")
        assert failure["lines"][0].startswith("Traceback") and failure["symptom"]["data"] == {
            "module": "timm"
        }
        assert failure["hint"]
    listed = lab.client.get("/api/v1/jobs", headers=lab.headers()).json["items"]
    assert "failure" not in listed[0], "lists read no logs"


def test_a_stopped_job_has_no_failure_and_one_without_a_log_has_a_hint(lab: Lab) -> None:
    job_id = a_failed_job(lab, "exit.timed_out")
    failure = lab.client.get(f"/api/v1/jobs/{job_id}", headers=lab.headers()).json["failure"]
    assert (failure["lines"], failure["rank"]) == ([], None) and failure["hint"]
    with lab.cluster.store.write() as session:
        session.get_one(Job, job_id).state = JobState.STOPPED
    assert lab.client.get(f"/api/v1/jobs/{job_id}", headers=lab.headers()).json["failure"] is None


def test_the_command_quotes_the_lines_and_marks_the_deciding_one(lab: Lab, run: Run) -> None:
    job_id = a_failed_job(lab)
    explained = run("job", "why", str(job_id)).stdout.splitlines()
    assert explained[0].startswith("Failed: ")
    assert "rank 0, stderr:" in explained
    assert "> ModuleNotFoundError: No module named 'timm'" in explained
    assert any("timm is not installed" in line for line in explained)
    shown = json.loads(run("job", "show", str(job_id), "-o", "json").stdout)
    assert shown["failure"]["error"].startswith("ModuleNotFoundError")
    assert "ModuleNotFoundError" in run("job", "show", str(job_id)).stdout
