"""A job is submitted again as it was."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.domain.states import JobKind, JobState, Launcher, TrainingKind
from cluster.services.context import Cluster
from cluster.services.jobs import reruns
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job
from tests.builders import a_code_version, a_job, a_training
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_a_job_runs_again_as_it_was(cluster: Cluster, lab: Lab) -> None:
    columns = {
        "name": "again", "units": 2, "launcher": Launcher.TORCHRUN, "command": ["train.py", "--lr", "0.1"],
        "code_version": 1, "time_limit_seconds": 3600, "retries": 2, "priority": 3, "grace_seconds": 60,
    }  # fmt: skip
    training = a_training(cluster, lab.workspace, lab.manager, kind=TrainingKind.ADVANCED, code_version=2)
    for number in (1, 2):
        a_code_version(cluster, training, [("train.py", b"%d" % number)], number)
    before = a_job(cluster, training, lab.manager, state=JobState.FAILED, **columns)
    (made,) = reruns.rerun_jobs(cluster, lab.actor, [before.id])
    with cluster.store.read() as session:
        job = session.get_one(Job, made)
        assert {name: getattr(job, name) for name in columns} == columns
        assert (job.state, job.user_id, job.training_id) == (
            JobState.WAITING,
            lab.actor.user_id,
            before.training_id,
        )
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "job.submitted")).one()
        assert (entry.object_id, entry.data["like"]) == (made, before.id)


def test_all_of_them_or_none_run_again(cluster: Cluster, lab: Lab) -> None:
    good = a_job(
        cluster, lab.training, lab.member, dataset_id=lab.request.dataset_id, variables={"epochs": 3}
    )
    without_data = a_job(cluster, lab.training, lab.member)
    with pytest.raises(Refused):
        reruns.rerun_jobs(cluster, lab.actor, [good.id, without_data.id])
    with cluster.store.read() as session:
        assert len(session.scalars(select(Job.id)).all()) == 2
    assert len(reruns.rerun_jobs(cluster, lab.actor, [good.id])) == 1


def test_a_notebook_is_started_and_not_submitted_again(cluster: Cluster, lab: Lab) -> None:
    training = a_training(cluster, lab.workspace, lab.manager, kind=TrainingKind.ADVANCED)
    notebook = a_job(cluster, training, lab.manager, state=JobState.STOPPED, kind=JobKind.NOTEBOOK)
    with pytest.raises(Refused) as refused:
        reruns.rerun_jobs(cluster, lab.actor, [notebook.id])
    assert (refused.value.code, refused.value.data["id"]) == ("notebook.not_rerun", notebook.id)
