"""Jobs that a person chose together are stopped, run again, tagged and noted: all of them or none."""

import pytest

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.states import DesiredState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import chosen_jobs, reruns, tags_and_notes
from tests.builders import a_job, a_user, actor_of
from tests.store.conftest import job_of
from tests.store.job_setup import Lab, a_lab, audited_ids


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_all_that_live_are_stopped_and_each_is_audited_ids(cluster: Cluster, lab: Lab) -> None:
    waiting = a_job(cluster, lab.training, lab.member)
    running = a_job(cluster, lab.training, lab.member, state=JobState.RUNNING)
    ended = a_job(cluster, lab.training, lab.member, state=JobState.FINISHED)
    ids = [ended.id, running.id, waiting.id]
    assert chosen_jobs.stop_jobs(cluster, lab.actor, ids) == [waiting.id, running.id]
    assert job_of(cluster, waiting).state is JobState.STOPPED
    assert job_of(cluster, running).desired is DesiredState.STOP
    assert job_of(cluster, ended).state is JobState.FINISHED
    assert audited_ids(cluster, "job.stop_requested") == [waiting.id, running.id]


def test_one_job_of_somebody_else_refuses_all(cluster: Cluster, lab: Lab) -> None:
    mine = a_job(cluster, lab.training, lab.member)
    foreign = a_job(cluster, lab.training, lab.manager)
    ids = [mine.id, foreign.id]
    member = actor_of(lab.member)
    for change in (
        lambda: chosen_jobs.stop_jobs(cluster, member, ids),
        lambda: tags_and_notes.change_tags(cluster, member, ids, ["a"]),
        lambda: tags_and_notes.write_note(cluster, member, ids, "a note"),
    ):
        with pytest.raises(Forbidden):
            change()
    assert job_of(cluster, mine).state is JobState.WAITING
    assert job_of(cluster, mine).note is None
    assert chosen_jobs.read_chosen_jobs(cluster, member, [mine.id])[0].tags == ()


def test_a_stranger_finds_none_of_them(cluster: Cluster, lab: Lab) -> None:
    job = a_job(cluster, lab.training, lab.member)
    stranger = actor_of(a_user(cluster))
    for change in (
        lambda: chosen_jobs.stop_jobs(cluster, stranger, [job.id]),
        lambda: reruns.rerun_jobs(cluster, stranger, [job.id]),
        lambda: tags_and_notes.change_tags(cluster, stranger, [job.id], ["a"]),
        lambda: tags_and_notes.write_note(cluster, stranger, [job.id], "a note"),
    ):
        with pytest.raises(NotFound):
            change()


@pytest.mark.parametrize("ids", [[], range(1, 202)])
def test_none_and_too_many_are_refused(cluster: Cluster, lab: Lab, ids: list[int]) -> None:
    with pytest.raises(Refused):
        chosen_jobs.stop_jobs(cluster, lab.actor, ids)
