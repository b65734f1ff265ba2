"""Hundreds of jobs are inserted at once, each with its own values, ids that nobody else gets, and a place in line."""

from typing import Any

import pytest
from sqlalchemy import select

from cluster.domain.states import DesiredState, JobState, Launcher
from cluster.services.context import Cluster
from cluster.store.jobs import Job, first_position, job_shape
from cluster.store.sql import bulk_insert
from cluster.store.sql.bulk_insert import insert_jobs, reserve_ids
from cluster.store.trainings import Training
from tests.builders import a_job, a_training, a_workspace


@pytest.fixture
def training(cluster: Cluster) -> Training:
    return a_training(cluster, a_workspace(cluster))


def shared_columns(cluster: Cluster, training: Training, **columns: object) -> dict[str, Any]:
    return {
        "workspace_id": training.workspace_id,
        "training_id": training.id,
        "user_id": training.owner_id,
        "sweep_id": None,
        "name": "shared",
        "state": JobState.WAITING,
        "desired": DesiredState.RUN,
        "fence": 0,
        "units": 2,
        "launcher": Launcher.PLAIN,
        "command": ["shared"],
        "variables": {"shared": True},
        "code_version": 1,
        "dataset_id": None,
        "priority": 3,
        "time_limit_seconds": 3600,
        "submitted_at": cluster.clock(),
        **columns,
    }


def own_columns(number: int) -> dict[str, Any]:
    return {
        "sweep_number": number,
        "name": f'rate {number} "quoted"; 김',
        "command": ["train.py", "--rate", str(number), "it's"],
        "variables": {"rate": number / 10, "nested": {"list": [1, None, True]}},
    }


def test_each_job_has_its_own_values_and_the_shared_ones(cluster: Cluster, training: Training) -> None:
    own = [own_columns(number) for number in range(1, 4)]
    with cluster.store.write() as session:
        insert_jobs(session, shared_columns(cluster, training), own)
    with cluster.store.read() as session:
        jobs = session.scalars(select(Job).order_by(Job.id)).all()
    assert [
        {
            "sweep_number": job.sweep_number,
            "name": job.name,
            "command": job.command,
            "variables": job.variables,
        }
        for job in jobs
    ] == own
    for job in jobs:
        assert (job.units, job.launcher, job.state) == (2, Launcher.PLAIN, JobState.WAITING)
        assert (job.submitted_at, job.time_limit_seconds) == (cluster.clock(), 3600)
        assert job.position == first_position(job.id, 3)
        assert job.shape == job_shape(2, 3600, None, None)


def test_more_jobs_than_one_statement_takes(
    cluster: Cluster, training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_insert, "BATCH_SIZE", 3)
    own = [own_columns(number) for number in range(1, 9)]
    with cluster.store.write() as session:
        insert_jobs(session, shared_columns(cluster, training), own)
    with cluster.store.read() as session:
        assert session.scalars(select(Job.sweep_number).order_by(Job.id)).all() == list(range(1, 9))


def test_reserved_ids_are_given_to_nobody_else(cluster: Cluster, training: Training) -> None:
    first = a_job(cluster, training).id
    with cluster.store.write() as session:
        reserved = reserve_ids(session, 3)
        assert reserved == [first + 1, first + 2, first + 3]
        insert_jobs(session, shared_columns(cluster, training), [own_columns(1)])
    later = a_job(cluster, training).id
    with cluster.store.read() as session:
        inserted = session.scalars(select(Job.id).where(Job.sweep_number == 1)).one()
    assert len({first, inserted, later}) == 3
    if not cluster.store.is_sqlite:  # A sequence goes on; on SQLite what reserves ids also inserts them.
        assert inserted > reserved[-1]


def test_ids_of_deleted_jobs_are_not_reserved_again(cluster: Cluster, training: Training) -> None:
    gone = a_job(cluster, training)
    with cluster.store.write() as session:
        session.delete(session.get_one(Job, gone.id))
    with cluster.store.write() as session:
        assert reserve_ids(session, 1) == [gone.id + 1]
