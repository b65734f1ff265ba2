"""The scheduler is killed at the n-th commit or outside call, for every n until none is left to be killed at.

Whatever n is: every job ends as it should, ran once, and all units are free again.
"""

import random
import time

import pytest

from cluster.domain.jobs import JobRequest
from cluster.domain.states import ENDED_JOB_STATES, JobState
from cluster.services import jobs
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.integration.executors.conftest import until
from tests.integration.scheduler.conftest import Field, nothing_lives

SHORT = "import time\nprint('begin', flush=True)\ntime.sleep(0.2)\nprint('end')\n"
LONG = "import time\nprint('begin', flush=True)\ntime.sleep(600)\n"
MOST_POINTS = 40


def test_killed_at_every_point_everything_comes_right(field_: Field) -> None:
    for number in range(1, MOST_POINTS):
        short, long = field_.submit(SHORT), field_.submit(LONG)
        began = time.monotonic()
        was_killed = run_with_a_kill(field_, number, short, long)
        print(f"killed at point {number}: right after {time.monotonic() - began:.1f} s")
        check_invariants(field_, short, long)
        if not was_killed:
            assert number > 8, "the loop ended before it reached the points that matter"
            return
    raise AssertionError("there is always one more point to be killed at")


def run_with_a_kill(field: Field, number: int, short: Job, long: Job) -> bool:
    """One scheduler that dies at the point and one that follows it; False where the first survived."""
    doomed = scheduler = field.start_scheduler(GC_CRASH=f"any:{number}")
    deadline = time.monotonic() + 40
    while any(field.read(job).state not in ENDED_JOB_STATES for job in (short, long)):
        assert time.monotonic() < deadline, f"not right within 40 s of a kill at point {number}"
        if scheduler is doomed and doomed.poll() is not None:
            scheduler = field.start_scheduler()
        if field.read(long).state is JobState.RUNNING and field.log(long):
            field.stop(long)
        time.sleep(0.02)
    was_killed = doomed.poll() is not None
    until(lambda: nothing_lives(field), 5)
    field.kill(scheduler)
    return was_killed


def check_invariants(field: Field, short: Job, long: Job) -> None:
    assert (field.read(short).state, field.read(short).exit_code) == (JobState.FINISHED, 0)
    assert field.read(long).state is JobState.STOPPED
    assert field.log(short) == b"begin\nend\n"
    assert field.log(long) == b"begin\n"
    assert [len(field.attempts(job)) for job in (short, long)] == [1, 1]


@pytest.mark.parametrize("seed", [20261120, 42])
def test_forty_acknowledged_jobs_are_there_and_run_once(field_: Field, seed: int) -> None:
    """Submitted while schedulers are killed at random moments."""
    chance = random.Random(seed)
    print(f"seed {seed}")
    template = field_.submit("print('once')")
    actor = actor_of(field_.person)
    scheduler = field_.start_scheduler()
    accepted = []
    for number in range(40):
        request = JobRequest(name=f"job-{number}", units=1, command=("train.py",))
        accepted.append(jobs.submit_job(field_.cluster, actor, template.training_id, request))
        if chance.random() < 0.1:
            field_.kill(scheduler)
            scheduler = field_.start_scheduler()
    field_.kill(scheduler)
    field_.start_scheduler()
    assert len({job.id for job in accepted}) == 40
    for job in accepted:
        ended = field_.wait_for_end(job, 90)
        assert ended.state is JobState.FINISHED
        assert field_.log(job) == b"once\n"
        assert len(field_.attempts(job)) == 1
