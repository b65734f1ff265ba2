"""What a notebook says of itself is recorded; an idle one is announced, then stopped."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.states import DesiredState, NotificationKind
from cluster.services.leases import HeldLease
from cluster.services.notebooks import use
from cluster.services.notebooks.use import NotebookUse, record_use
from cluster.store.alerts import NotificationChoice, NotificationEvent
from cluster.store.jobs import Job, JobEvent
from tests.notebook_lab import NotebookLab


def at(lab: NotebookLab, now: datetime) -> NotebookLab:
    return replace(lab, cluster=replace(lab.cluster, clock=lambda: now))


@pytest.fixture
def job(lab: NotebookLab, held: HeldLease) -> Job:
    """Ready a moment ago."""
    job = lab.start()
    lab.run(job)
    record_use(lab.cluster, held, {job.id: NotebookUse(1, None, address="10.0.0.7:8888")})
    return job


def events(lab: NotebookLab, job: Job) -> list[str]:
    with lab.cluster.store.read() as session:
        return [
            event.code for event in session.query(JobEvent).filter_by(job_id=job.id).order_by(JobEvent.id)
        ]


def test_the_first_answer_makes_it_ready(lab: NotebookLab, job: Job) -> None:
    row = lab.row(job)
    assert (row.ready_attempt, row.address) == (1, "10.0.0.7:8888") and row.used_at is not None
    assert events(lab, job)[-1] == "notebook.ready"


def test_an_answer_of_an_earlier_attempt_counts_for_nothing(
    lab: NotebookLab, held: HeldLease, job: Job
) -> None:
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).fence = 2
    record_use(lab.cluster, held, {job.id: NotebookUse(1, None)})
    assert lab.row(job).ready_attempt == 1


def test_an_idle_one_is_announced_told_and_stopped(lab: NotebookLab, held: HeldLease, job: Job) -> None:
    with lab.cluster.store.write() as session:
        kinds = [NotificationKind.NOTEBOOK_IDLE.value]
        session.add(NotificationChoice(user_id=lab.owner.id, kinds=kinds, wait_hours=4))
    used_at = lab.row(job).used_at
    assert used_at is not None
    idle = {job.id: NotebookUse(1, None)}
    record_use(at(lab, used_at + timedelta(minutes=104)).cluster, held, idle)
    assert lab.row(job).stops_at is None
    record_use(at(lab, used_at + timedelta(minutes=105)).cluster, held, idle)
    assert lab.row(job).stops_at == used_at + timedelta(minutes=120)
    with lab.cluster.store.read() as session:
        (told,) = session.query(NotificationEvent)
    assert (told.user_id, told.data["path"]) == (lab.owner.id, f"/jobs/{job.id}/notebook")
    assert lab.job(job).desired is DesiredState.RUN
    record_use(at(lab, used_at + timedelta(minutes=121)).cluster, held, idle)
    assert lab.job(job).desired is DesiredState.STOP
    assert events(lab, job)[-2:] == ["notebook.idle_stop", "job.stop_requested"]


def test_a_use_takes_the_announcement_back(lab: NotebookLab, held: HeldLease, job: Job) -> None:
    used_at = lab.row(job).used_at
    assert used_at is not None
    later = used_at + timedelta(minutes=106)
    record_use(at(lab, later).cluster, held, {job.id: NotebookUse(1, None)})
    saved = NotebookUse(1, later + timedelta(minutes=1))
    record_use(at(lab, later + timedelta(minutes=2)).cluster, held, {job.id: saved})
    assert lab.row(job).stops_at is None


@pytest.mark.parametrize("claims", [timedelta(days=400), timedelta(minutes=3)])
def test_a_notebook_that_lies_about_its_clock_keeps_itself_no_longer_than_now(
    lab: NotebookLab, held: HeldLease, job: Job, claims: timedelta
) -> None:
    now = lab.cluster.clock() + timedelta(minutes=2)
    record_use(at(lab, now).cluster, held, {job.id: NotebookUse(1, now + claims)})
    used_at = lab.row(job).used_at
    assert used_at is not None and used_at <= now


def test_its_person_keeps_it_and_nobody_else(lab: NotebookLab, held: HeldLease, job: Job) -> None:
    later = lab.cluster.clock() + timedelta(minutes=110)
    record_use(at(lab, later).cluster, held, {job.id: NotebookUse(1, None)})
    assert lab.row(job).stops_at is not None
    with pytest.raises(NotFound):
        use.keep_notebook(lab.cluster, lab.actor(lab.member), job.id)
    use.keep_notebook(at(lab, later).cluster, lab.actor(), job.id)
    assert (lab.row(job).stops_at, lab.row(job).used_at) == (None, later)
    waiting = lab.start(lab.member)
    with pytest.raises(Conflict):
        use.keep_notebook(lab.cluster, lab.actor(lab.member), waiting.id)
