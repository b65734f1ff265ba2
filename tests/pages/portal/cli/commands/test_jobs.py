"""The `groundcrew` command against a portal that answers over a real socket."""

import json
import time
from types import SimpleNamespace

import pytest

from cluster.domain.states import JobState
from cluster.services.storage import folders
from cluster.store.jobs import Job
from tests.pages.portal.command_lab import Run, submit
from tests.pages.portal.rest_lab import Lab


def end(lab: Lab, job_id: int, state: JobState, code: str) -> None:
    with lab.cluster.store.write() as session:
        job = session.get_one(Job, job_id)
        job.state, job.end_code, job.end_data, job.exit_code = state, code, {}, 0
        job.ended_at = lab.cluster.clock()


def test_a_job_is_submitted_listed_shown_explained_and_cancelled(lab: Lab, run: Run) -> None:
    job_id = submit(run, "-n", "from-the-command", "--time-limit", "2h")
    row = json.loads(run("job", "show", f"job-{job_id}", "-o", "json").stdout)
    assert (row["name"], row["time_limit_seconds"], row["variables"]["epochs"]) == (
        "from-the-command",
        7200,
        2,
    )
    listed = run("job", "list", "--mine", "--state", "waiting").stdout
    assert f"job-{job_id}" in listed and "vision" in listed
    assert "epochs=2" in run("job", "show", str(job_id)).stdout
    assert run("job", "why", str(job_id)).stdout.startswith("Waiting: ")
    run("job", "cancel", str(job_id))
    assert json.loads(run("job", "list", "-o", "json").stdout)[0]["state"] == "stopped"
    run("job", "cancel", str(job_id), expected=5)


def test_several_jobs_are_asked_for_at_once(lab: Lab, run: Run) -> None:
    first, second = submit(run), submit(run)
    ids = [str(first), "999", f"job-{second}", str(first)]
    shown = run("job", "show", "-o", "name", *ids, expected=4)
    assert shown.stdout.split() == [f"job-{first}", f"job-{second}"] and "999" in shown.stderr
    assert [
        row["id"] for row in json.loads(run("job", "show", str(first), str(second), "-o", "json").stdout)
    ] == [
        first,
        second,
    ]
    assert run("job", "why", str(first), str(second)).stdout.startswith(f"job-{first}: Waiting: ")
    run("job", "cancel", *ids, expected=4)
    states = {row["id"]: row["state"] for row in json.loads(run("job", "list", "-o", "json").stdout)}
    assert states == {first: "stopped", second: "stopped"}
    run("job", "cancel", expected=2)
    run("job", "cancel", "job-x", expected=2)


def test_nothing_is_made_by_a_dry_run(lab: Lab, run: Run) -> None:
    answer = run("job", "submit", "-t", "digits-lenet", "-d", "digits", "--dry-run")
    assert answer.stdout.strip() == "It starts now."
    assert json.loads(run("job", "list", "-o", "json").stdout) == []


def test_a_refusal_names_the_field_and_sets_the_exit_code(lab: Lab, run: Run) -> None:
    refused = run("job", "submit", "-t", "digits-lenet", "-d", "digits", "-u", "9", expected=6)
    assert "units: " in refused.stderr
    assert (
        "variables/epochs: "
        in run("job", "submit", "-t", "digits-lenet", "-d", "digits", "-v", "epochs=-1", expected=6).stderr
    )
    run("job", "show", "999", expected=4)
    run("job", "submit", "-t", "none", expected=4)
    run("job", "submit", "-t", "digits-lenet", "-d", "none", expected=4)
    run("job", "submit", "-t", "digits-lenet", "-v", "epochs", expected=2)
    run("job", "submit", "-t", "digits-lenet", "--time-limit", "soon", expected=2)
    run("job", "show", "x1", expected=2)


def test_a_wrong_or_missing_token_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDCREW_TOKEN", "gc_1_wrong")
    run("workspace", "list", expected=3)
    monkeypatch.delenv("GROUNDCREW_TOKEN")
    assert "groundcrew login" in run("workspace", "list", expected=3).stderr
    monkeypatch.delenv("GROUNDCREW_URL")
    assert "GROUNDCREW_URL" in run("workspace", "list", expected=2).stderr


def test_a_server_that_is_not_there_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDCREW_URL", "http://127.0.0.1:1")
    assert "does not answer" in run("node", "list", expected=1).stderr


def test_a_log_is_written_as_it_is_and_followed_to_the_end(lab: Lab, run: Run) -> None:
    job_id = submit(run)
    folder = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job_id, 0) / "out"
    folder.mkdir(parents=True)
    text = "에폭 1\n" * 60_000
    (folder / "rank-0.stdout").write_text(text)
    (folder / "rank-0.stderr").write_text("warned\n")
    end(lab, job_id, JobState.FINISHED, "exit.finished")
    assert run("job", "logs", str(job_id), "-f").stdout == text
    assert run("job", "logs", str(job_id), "--stderr").stdout == "warned\n"
    assert len(run("job", "logs", str(job_id)).stdout.encode()) <= 65536


def test_all_logs_are_read_and_searched_in_one(lab: Lab, run: Run) -> None:
    job_id = submit(run)
    folder = folders.attempt_folder(lab.cluster.settings, lab.workspace.id, job_id, 0) / "out"
    folder.mkdir(parents=True)
    (folder / "rank-0.stdout").write_text("epoch 1\nepoch 2\n")
    (folder / "rank-1.stderr").write_text("ValueError: bad\n")
    merged = run("job", "logs", str(job_id), "--merged").stdout
    assert "– rank-0.stdout: epoch 1\n" in merged and "– rank-1.stderr: ValueError: bad\n" in merged
    found = run("job", "logs", str(job_id), "--grep", "EPOCH")
    assert found.stdout == "– rank-0.stdout:1: epoch 1\n– rank-0.stdout:2: epoch 2\n"
    assert "First error, rank-1.stderr:1: ValueError: bad" in found.stderr
    assert run("job", "logs", str(job_id), "--grep", "nowhere", expected=1).stdout == ""


def test_whoever_follows_a_waiting_job_reads_what_it_waits_for(
    lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = submit(run)
    reason = json.loads(run("job", "show", str(job_id), "-o", "json").stdout)["waiting"]["sentence"]
    polls: list[float] = []

    def end_at_the_second_poll(seconds: float) -> None:
        polls.append(seconds)
        if len(polls) == 2:
            end(lab, job_id, JobState.FINISHED, "exit.finished")

    monkeypatch.setattr("portal.cli.commands.jobs.time", SimpleNamespace(sleep=end_at_the_second_poll))
    followed = run("job", "logs", "-f", str(job_id))
    assert followed.stderr.splitlines() == [reason] and followed.stdout == "" and len(polls) == 2


def test_waiting_for_a_job_returns_its_result(lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = [(JobState.FINISHED, "exit.finished"), (JobState.FAILED, "exit.failed")]
    made: list[int] = []

    def end_the_newest(seconds: float) -> None:
        with lab.cluster.store.read() as session:
            newest = session.query(Job.id).order_by(Job.id.desc()).first()
        assert newest is not None
        end(lab, newest[0], *outcome[len(made)])
        made.append(newest[0])

    # The command's own clock only: the server's threads sleep in this process too.
    monkeypatch.setattr(
        "portal.cli.commands.jobs.time", SimpleNamespace(sleep=end_the_newest, monotonic=time.monotonic)
    )
    submit_and_wait = ("job", "submit", "-t", "digits-lenet", "-d", "digits", "--wait")
    run(*submit_and_wait)
    run(*submit_and_wait, expected=1)


def test_waiting_ends_after_the_given_time(lab: Lab, run: Run) -> None:
    wait = ("--wait", "--timeout", "1s")
    waiting = run("job", "submit", "-t", "digits-lenet", "-d", "digits", *wait, expected=124)
    assert "the job goes on" in waiting.stderr
