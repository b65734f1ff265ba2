"""The command shows the queue."""

from datetime import datetime, timedelta

from sqlalchemy import update

from cluster.domain.states import JobState
from cluster.store.jobs import Attempt
from cluster.store.nodes import Unit
from portal.cli.output import local_datetime
from tests.builders import a_job, holding
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab
from tests.queue_reports import report_queue


def test_the_queue_is_told_by_state(lab: Lab, run: Run) -> None:
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    runs = a_job(lab.cluster, lab.training, lab.member, 2, JobState.RUNNING)
    attempt = holding(lab.cluster, runs, units)
    ends_at = lab.cluster.clock() + timedelta(minutes=30)
    told = {"progress": 0.5, "expected_end_at": ends_at, "earliest_end_at": ends_at, "latest_end_at": ends_at}
    with lab.cluster.store.write() as session:
        session.execute(update(Attempt).where(Attempt.id == attempt.id).values(**told))
    waits = a_job(lab.cluster, lab.training, lab.member)
    running = run("queue", "--state", "running").stdout
    assert f"job-{runs.id}" in running and "50 %" in running and f"job-{waits.id}" not in running
    report_queue(lab.cluster)
    waiting = run("queue", "--state", "waiting").stdout
    assert f"job-{waits.id}" in waiting and f"job-{runs.id} ends" in waiting
    assert f"job-{waits.id}" not in run("queue", "--state", "held").stdout


def test_a_queue_that_goes_on_says_what_there_is_more_of(lab: Lab, run: Run) -> None:
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    for unit in units[:2]:
        holding(lab.cluster, a_job(lab.cluster, lab.training, lab.member, 1, JobState.RUNNING), [unit])
        a_job(lab.cluster, lab.training, lab.member)
    for state, said in (("running", "More jobs run"), ("waiting", "More jobs wait")):
        assert said in run("queue", "--state", state, "--limit", "1").stderr


def test_a_moment_of_another_day_says_which() -> None:
    now = datetime.now().astimezone()
    later = (now + timedelta(days=400)).astimezone()
    assert local_datetime(now.isoformat()) == f"{now:%H:%M}"
    assert local_datetime(later.isoformat()) == f"{later:%Y-%m-%d %H:%M}"
    assert local_datetime(None) == ""
