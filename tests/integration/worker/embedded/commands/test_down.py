"""make down while a job runs: it is named, kept or put back in the queue, and goes on after the next make up."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cluster.domain.jobs.submission import JobRequest
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState, TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.jobs import queries, submission
from cluster.services.storage import folders
from cluster.store.jobs import Job
from tests.builders import a_user, a_workspace, actor_of
from tests.installation import Installation, an_installation, trainings_of
from tests.integration.ready_installation import ready_cluster, wait_until
from worker.embedded.processes import list_installation_processes

SLEEPING = """
import os, sys, time
import groundcrew_job
found = groundcrew_job.latest_checkpoint()
print("begins at", found["step"] if found else "the beginning")
for second in range(found["step"] if found else 0, 600):
    if groundcrew_job.asked_to_stop():
        path = os.path.join(groundcrew_job.checkpoints(), "second-%04d.txt" % second)
        with open(path, "w") as file:
            file.write("what it had reached")
        groundcrew_job.save_checkpoint_note(0, second, path)
        sys.exit(groundcrew_job.LEFT)
    print(second, flush=True)
    time.sleep(1)
"""


@dataclass
class Sleeper:
    """An installation in which one job runs for ten minutes, unless it is stopped."""

    installation: Installation
    cluster: Cluster
    actor: Actor
    job_id: int

    @property
    def job(self) -> Job:
        return queries.read_job(self.cluster, self.actor, self.job_id)

    def log(self, attempt: int) -> str:
        job, settings = self.job, self.cluster.settings
        path = folders.attempt_folder(settings, job.workspace_id, job.id, attempt) / "out" / "rank-0.stdout"
        return path.read_text() if path.exists() else ""

    def wait_until_running(self) -> None:
        wait_until(lambda: self.job.state is JobState.RUNNING, 60, "the job runs")


@pytest.fixture(scope="module")
def sleeper() -> Iterator[Sleeper]:
    with an_installation() as installation, ready_cluster(installation) as cluster:
        user = a_user(cluster, "minji")
        workspace = a_workspace(cluster, user, units=2, name="night")
        actor, code = actor_of(user), [("sleep.py", SLEEPING.encode())]
        advanced, public = TrainingKind.ADVANCED, Visibility.PUBLIC
        training = trainings.create_training(
            cluster, actor, workspace.id, "sleeping", "", advanced, None, public, code
        )
        request = JobRequest(name="sleeping-1", units=1, command=("sleep.py",))
        job = submission.submit_job(cluster, actor, training.id, request)
        yield Sleeper(installation, cluster, actor, job.id)


def test_without_a_terminal_it_names_the_job_and_stops_nothing(sleeper: Sleeper) -> None:
    sleeper.wait_until_running()
    done = sleeper.installation.make("down")
    assert done.returncode == 1
    assert f"job-{sleeper.job_id} sleeping-1 (workspace night, started by minji)" in done.stdout
    assert "make down YES=1" in done.stderr and "make down KEEP=1" in done.stderr
    assert sleeper.installation.health() == "ok"
    assert sleeper.job.state is JobState.RUNNING


@pytest.mark.long
def test_kept_it_runs_on_alone_and_is_adopted(sleeper: Sleeper) -> None:
    sleeper.installation.ensure_up()
    sleeper.wait_until_running()
    done = sleeper.installation.make("down", "--keep")
    assert done.returncode == 0, done.stderr
    assert f"still running: job-{sleeper.job_id}" in done.stdout
    assert list_installation_processes(sleeper.installation.places) == []
    alone = {each.pid for each in trainings_of(sleeper.installation.places)}
    assert alone
    sleeper.installation.up()
    time_to_look = time.monotonic() + 3
    while time.monotonic() < time_to_look:
        assert sleeper.job.state is JobState.RUNNING
        time.sleep(0.2)
    assert alone <= {each.pid for each in trainings_of(sleeper.installation.places)}
    assert len(sleeper.job.attempts) == 1


def test_told_yes_it_goes_back_to_the_queue_and_starts_again(sleeper: Sleeper) -> None:
    sleeper.installation.ensure_up()
    sleeper.wait_until_running()
    attempts = len(sleeper.job.attempts)
    done = sleeper.installation.make("down", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"back in the queue, interrupted: job-{sleeper.job_id}" in done.stdout
    assert (
        trainings_of(sleeper.installation.places)
        == list_installation_processes(sleeper.installation.places)
        == []
    )
    assert sleeper.job.state is JobState.WAITING
    assert sleeper.job.attempts[-1].end_code == "interrupted.services_stopped"
    saved = sleeper.job.resume_from
    assert saved is not None and saved.startswith(f"{attempts}/second-")
    sleeper.installation.up()
    sleeper.wait_until_running()
    assert len(sleeper.job.attempts) == attempts + 1
    assert sleeper.job.attempts[-1].resumed_from == saved
    second = int(saved.partition("second-")[2].partition(".")[0])
    wait_until(lambda: f"begins at {second}\n{second}\n" in sleeper.log(attempts + 1), 60, "it goes on")
    assert "job.resumed" in [event.code for event in sleeper.job.events]
