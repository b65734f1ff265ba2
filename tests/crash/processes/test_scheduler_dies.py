"""Real programs under the process executor: the scheduler dies, the shims live on, nothing runs twice.

`CRASH=whole` (as `make crash` sets it) kills at every number, else at the first passing of each point.
"""

import os
import random
import signal
import time

import pytest

from cluster import failpoints
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import ENDED_JOB_STATES, JobState
from cluster.services.jobs import submission
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.crash.sweep import WHOLE, start_child
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, nothing_lives
from worker.commands.scheduler import run_scheduler

SHORT = "import time\nprint('begin', flush=True)\ntime.sleep(0.2)\nprint('end')\n"
LONG = "import time\nprint('begin', flush=True)\ntime.sleep(600)\n"
MOST_POINTS = 400


class Dies:
    """At the given number of points, or where it passes the named one for the first time."""

    def __init__(self, at: int | str) -> None:
        self.at = at
        self.passed = 0

    def __call__(self, point: str) -> None:
        self.passed += 1
        if self.at in (point, self.passed):
            os.kill(os.getpid(), signal.SIGKILL)


def start_scheduler(field: Field, die_at: int | str = 0) -> int:
    """Forked, so that nothing is imported again; its own session, as a service has."""

    def serve() -> None:
        signal.alarm(0)
        os.setsid()
        failpoints.listener = Dies(die_at) if die_at else None
        run_scheduler(field.cluster.settings)

    return start_child(serve, field.cluster.settings.state_dir / "scheduler.log")


def has_died(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def test_killed_at_each_point_everything_comes_right(field_: Field) -> None:
    killed: list[int | str] = []
    for at in range(1, MOST_POINTS) if WHOLE else sorted(RUNNING):
        began = time.monotonic()
        was_killed = one_death(field_, at)
        assert was_killed or WHOLE, f"{at} was not reached"
        if not was_killed:
            break
        killed.append(at)
        print(f"killed at {at}: right after {time.monotonic() - began:.1f} s")
    assert len(killed) >= len(RUNNING), "it ended before it reached the points that matter"


RUNNING = {
    "executor.start asking",
    "executor.start answered",
    "jobs.attempts.record_running committed",
    "executor.stop asking",
    "executor.stop answered",
    "jobs.attempts.record_end committing",
    "jobs.attempts.record_end committed",
}
"""What differs where programs are real; the rest is the simulated executor's affair as well."""


def one_death(field: Field, at: int | str) -> bool:
    """One scheduler that dies at the point and one that follows it; False where the first survived."""
    short, long = field.submit(SHORT), field.submit(LONG)
    scheduler, was_killed = start_scheduler(field, at), False
    deadline = time.monotonic() + 60
    while any(field.read(job).state not in ENDED_JOB_STATES for job in (short, long)):
        assert time.monotonic() < deadline, f"not right within 60 s of a kill at {at}"
        if not was_killed and has_died(scheduler):
            scheduler, was_killed = start_scheduler(field), True
        if field.read(long).state is JobState.RUNNING and field.log(long):
            field.stop(long)
        time.sleep(0.02)
    # Both ends may be in the commit that it died at.
    if not was_killed and has_died(scheduler):
        scheduler, was_killed = start_scheduler(field), True
    until(lambda: nothing_lives(field), 10)
    os.kill(scheduler, signal.SIGKILL)
    os.waitpid(scheduler, 0)
    check_invariants(field, short, long)
    return was_killed


def check_invariants(field: Field, short: Job, long: Job) -> None:
    assert (field.read(short).state, field.read(short).exit_code) == (JobState.FINISHED, 0)
    assert field.read(long).state is JobState.STOPPED
    assert field.log(short) == b"begin\nend\n"
    assert field.log(long) == b"begin\n"
    assert [len(field.attempts(job)) for job in (short, long)] == [1, 1]


@pytest.mark.long
@pytest.mark.parametrize("seed", [20261120, 42])
def test_acknowledged_jobs_are_there_and_run_once(field_: Field, seed: int) -> None:
    """Submitted while schedulers are killed at random moments."""
    chance = random.Random(seed)
    print(f"seed {seed}")
    template = field_.submit("print('once')")
    actor = actor_of(field_.person)
    scheduler = start_scheduler(field_)
    accepted = []
    for number in range(20):
        request = JobRequest(name=f"job-{number}", units=1, command=("train.py",))
        accepted.append(submission.submit_job(field_.cluster, actor, template.training_id, request))
        if chance.random() < 0.2:
            kill(scheduler)
            scheduler = start_scheduler(field_)
    for job in accepted:
        ended = field_.wait_for_end(job, 90)
        assert ended.state is JobState.FINISHED
        assert field_.log(job) == b"once\n"
        assert len(field_.attempts(job)) == 1
    kill(scheduler)


def kill(scheduler: int) -> None:
    os.kill(scheduler, signal.SIGKILL)
    os.waitpid(scheduler, 0)
