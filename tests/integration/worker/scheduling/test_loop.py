"""The scheduler with everything real: rows to running programs and back."""

import os
import signal
import time

import pytest

from cluster.domain.states import JobState
from tests.integration.worker.executors.conftest import IS_ROOT, until
from tests.integration.worker.scheduling.conftest import Field, nothing_lives, stops_well
from tests.machine.unix_id_ranges import TEST_IDS

COUNTS = """
import os, sys, time
go = os.path.join(os.environ['GROUNDCREW_OUT'], 'go')
n = 0
while not os.path.exists(go):
    print(n)
    n += 1
    time.sleep(0.005)
print('end', n)
"""
TELLS = """
import json, os
print(json.dumps({key: os.environ[key] for key in os.environ if key.startswith(('GROUNDCREW', 'CUDA'))}))
print(os.getcwd(), os.getuid(), os.getgid())
"""


def let_go(field: Field, *jobs_and_attempts: tuple) -> None:
    for job, attempt in jobs_and_attempts:
        (field.out(job, attempt) / "go").touch()


def test_three_jobs_on_two_units(field_: Field) -> None:
    scheduler = field_.start_scheduler()
    jobs = [field_.submit(COUNTS) for _ in range(3)]
    for job in jobs[:2]:
        field_.wait_for(job, JobState.RUNNING)
    waiting = until(lambda: field_.read(jobs[2]).waiting_code and field_.read(jobs[2]))
    assert waiting.waiting_code == "waiting.not_enough_units"
    let_go(field_, (jobs[0], 1))
    assert field_.wait_for_end(jobs[0]).state is JobState.FINISHED
    field_.wait_for(jobs[2], JobState.RUNNING)
    let_go(field_, (jobs[1], 1), (jobs[2], 1))
    for job in jobs:
        ended = field_.wait_for_end(job)
        assert (ended.state, ended.exit_code, ended.end_code) == (JobState.FINISHED, 0, "exit.finished")
    assert field_.events(jobs[2]) == [
        "waiting.not_enough_units",
        "job.placed",
        "job.started",
        "exit.finished",
    ]
    assert nothing_lives(field_)
    assert stops_well(scheduler)


def test_from_submission_to_running_is_quick(field_: Field) -> None:
    field_.start_scheduler()
    field_.wait_for_end(field_.submit("print('warm')"))
    spans = []
    for _ in range(5):
        job = field_.submit("print('quick')")
        ended = field_.wait_for_end(job)
        spans.append((ended.started_at - ended.submitted_at).total_seconds())
    print(f"submitted to running: {sorted(spans)}")
    assert min(spans) < 1.0  # The promise is 0.1 s on an idle machine; tests share theirs.


def test_a_job_is_told_what_it_needs(field_: Field) -> None:
    field_.start_scheduler()
    job = field_.submit(TELLS, units=2)
    field_.wait_for_end(job)
    told, place = field_.log(job).decode().splitlines()
    assert '"GROUNDCREW_UNITS": "cpu-' in told and '"CUDA_VISIBLE_DEVICES": ""' in told
    assert f'"GROUNDCREW_JOB": "{job.id}"' in told
    folder, uid, gid = place.rsplit(" ", 2)
    assert folder.endswith("/out/work")
    if IS_ROOT:
        assert (int(uid), int(gid)) == (
            TEST_IDS.uid_of(job.user_id),
            TEST_IDS.gid_of(job.workspace_id),
        )


@pytest.mark.parametrize(
    ("program", "exit_code", "code"),
    [
        ("raise SystemExit(3)", 3, "exit.other"),
        ("1/0", 1, "exit.error"),
        (None, 127, "exit.command_not_found"),
    ],
)
def test_a_failure_is_told_as_it_was(field_: Field, program: str | None, exit_code: int, code: str) -> None:
    field_.start_scheduler()
    columns = {} if program else {"command": ["nowhere.py"]}
    job = field_.submit(program or "")
    if columns:
        job = field_.submit("", **columns)
    ended = field_.wait_for_end(job)
    assert (ended.state, ended.exit_code, ended.end_code) == (JobState.FAILED, exit_code, code)


def test_a_stop_ends_the_whole_tree(field_: Field) -> None:
    field_.start_scheduler()
    job = field_.submit(
        "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    os.setsid()\nprint(os.getpid())\ntime.sleep(1000)\n"
    )
    until(lambda: field_.log(job).count(b"\n") == 2)
    began = time.monotonic()
    field_.stop(job)
    assert field_.read(job).state is JobState.STOPPING
    ended = field_.wait_for_end(job)
    assert time.monotonic() - began < 10
    assert (ended.state, ended.end_code) == (JobState.STOPPED, "exit.stopped")
    assert ended.end_data and ended.end_data["by"] == field_.person.name
    for pid in field_.log(job).split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_a_waiting_job_stops_at_once(field_: Field) -> None:
    job = field_.submit(COUNTS)
    field_.stop(job)
    assert field_.read(job).state is JobState.STOPPED
    field_.start_scheduler()
    # One that was submitted later has run: the queue has been looked at.
    field_.wait_for_end(field_.submit("print('another')"))
    assert field_.attempts(job) == []


def test_a_placed_job_that_is_stopped_before_its_start_never_runs(field_: Field) -> None:
    scheduler = field_.start_scheduler(GC_CRASH="queue.dispatch.place_waiting_jobs committed:1")
    job = field_.submit("print('ran')")
    scheduler.wait(60)
    field_.stop(job)
    field_.start_scheduler()
    assert field_.wait_for_end(job).end_code == "exit.stopped_before_start"
    assert field_.log(job) == b""


def test_the_time_limit_is_told(field_: Field) -> None:
    field_.start_scheduler()
    job = field_.submit(COUNTS, time_limit_seconds=1)
    assert field_.wait_for_end(job).end_code == "exit.timed_out"


def test_a_killed_scheduler_changes_nothing_for_what_runs(field_: Field) -> None:
    scheduler = field_.start_scheduler()
    job = field_.submit(COUNTS)
    field_.wait_for(job, JobState.RUNNING)
    until(lambda: field_.log(job))
    field_.kill(scheduler)
    before = len(field_.log(job))
    until(lambda: len(field_.log(job)) > before + 100)
    field_.start_scheduler()
    let_go(field_, (job, 1))
    ended = field_.wait_for_end(job)
    assert ended.state is JobState.FINISHED
    numbers = field_.log(job).split()
    assert numbers[:-2] == [str(n).encode() for n in range(len(numbers) - 2)]
    assert len(field_.attempts(job)) == 1


def test_an_end_while_nobody_watches_is_learnt_afterwards(field_: Field) -> None:
    scheduler = field_.start_scheduler()
    job = field_.submit(COUNTS)
    field_.wait_for(job, JobState.RUNNING)
    until(lambda: field_.log(job))
    field_.kill(scheduler)
    let_go(field_, (job, 1))
    until(lambda: not field_.executor.list_running())
    field_.start_scheduler()
    assert field_.wait_for_end(job).state is JobState.FINISHED


def test_a_killed_shim_is_another_attempt(field_: Field) -> None:
    field_.start_scheduler()
    job = field_.submit(COUNTS)
    field_.wait_for(job, JobState.RUNNING)
    until(lambda: field_.log(job))
    (run,) = field_.executor.list_running()
    os.kill(run.handle["pid"], signal.SIGKILL)
    until(lambda: field_.log(job, attempt=2))
    let_go(field_, (job, 2))
    assert field_.wait_for_end(job).state is JobState.FINISHED
    first, second = field_.attempts(job)
    assert (first.end_code, second.end_code) == ("interrupted.shim_lost", "exit.finished")


def test_a_second_scheduler_waits_for_the_lease(field_: Field) -> None:
    first = field_.start_scheduler()
    second = field_.start_scheduler()
    jobs = [field_.submit("print('once')") for _ in range(4)]
    for job in jobs:
        field_.wait_for_end(job)
        assert field_.log(job) == b"once\n"
    assert stops_well(first)
    field_.wait_for_end(field_.submit("print('again')"))
    assert stops_well(second)


def test_without_redis_it_only_takes_longer(field_: Field) -> None:
    import redis

    connection = redis.Redis.from_url(field_.cluster.settings.redis_url)
    with pytest.raises(redis.ConnectionError):
        connection.shutdown(nosave=True)
        connection.ping()
    connection.close()
    field_.start_scheduler()
    # The first one is found by the look at the start, the second although nothing rings.
    for _ in range(2):
        job = field_.submit("print('done')")
        assert field_.wait_for_end(job).state is JobState.FINISHED


def test_a_stray_run_is_ended(field_: Field) -> None:
    scheduler = field_.start_scheduler()
    job = field_.submit(COUNTS)
    field_.wait_for(job, JobState.RUNNING)
    field_.kill(scheduler)
    with field_.cluster.store.write() as session:
        from sqlalchemy import text

        session.execute(text("UPDATE attempts SET ended_at = created_at, state = 'ended'"))
        session.execute(text("UPDATE allocations SET ended_at = begun_at"))
        session.execute(text("UPDATE jobs SET state = 'failed'"))
    field_.start_scheduler()
    until(lambda: not field_.executor.list_running())
