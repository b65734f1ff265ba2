"""A backup is put back on a machine whose jobs have gone on meanwhile: nothing that has run runs again."""

from datetime import UTC, datetime
from pathlib import Path

from cluster.domain.states import JobState
from cluster.services.context import utc_now
from cluster.services.queue import holds_and_moves
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, nothing_lives
from worker.backups.dump import make_backup
from worker.backups.restore import restore_backup


def backed_up(field: Field) -> Path:
    settings = field.cluster.settings
    return settings.backups / str(make_backup(settings, datetime.now(UTC))["name"])


def restore(field: Field, file: Path) -> None:
    field.cluster.store.close()
    restore_backup(field.cluster.settings, file, utc_now)


def started(field: Field, job: Job) -> float:
    return (field.out(job).parent / "control" / "started").stat().st_mtime


def test_a_job_that_has_run_since_keeps_its_real_end_once_it_is_let_go(field_: Field) -> None:
    job = field_.submit("print('ran')")
    file = backed_up(field_)
    scheduler = field_.start_scheduler()
    assert field_.wait_for_end(job).state is JobState.FINISHED
    field_.kill(scheduler)
    before = started(field_, job)
    restore(field_, file)
    assert field_.read(job).held_at is not None and field_.attempts(job) == []
    holds_and_moves.release_job(field_.cluster, actor_of(field_.person), job.id)
    field_.start_scheduler()
    assert field_.wait_for_end(job).state is JobState.FINISHED
    assert (field_.log(job), started(field_, job)) == (b"ran\n", before)
    assert [attempt.number for attempt in field_.attempts(job)] == [1]


def test_a_job_that_still_runs_is_ended_for_its_row_is_lost(field_: Field) -> None:
    job = field_.submit("import time\nprint('begin', flush=True)\ntime.sleep(600)\n")
    scheduler = field_.start_scheduler()
    field_.wait_for(job, JobState.RUNNING)
    file = backed_up(field_)
    field_.kill(scheduler)
    restore(field_, file)
    assert (field_.read(job).state, field_.read(job).end_code) == (JobState.FAILED, "exit.restored")
    field_.start_scheduler()
    until(lambda: nothing_lives(field_), 60, "the shim has ended")
    assert [attempt.number for attempt in field_.attempts(job)] == [1]
