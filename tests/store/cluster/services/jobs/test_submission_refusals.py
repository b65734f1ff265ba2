"""A job that can never run is refused before there is a row."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from cluster.domain.errors import Refused
from cluster.domain.states import (
    DatasetState,
    Launcher,
)
from cluster.services.context import Cluster
from cluster.services.jobs import queries, submission
from cluster.services.queue import submission_preview
from cluster.store.jobs import Job
from tests.builders import (
    a_dataset,
    a_training,
    a_workspace,
    actor_of,
)
from tests.conftest import Clock
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def count_jobs(cluster: Cluster) -> int:
    with cluster.store.read() as session:
        return session.scalar(select(func.count(Job.id))) or 0


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"units": 0}, "units", "job.units_too_few"),
        ({"units": -1}, "units", "job.units_too_few"),
        ({"units": 3, "launcher": Launcher.HOROVOD}, "units", "job.units_over_quota"),
        ({"units": 2}, "launcher", "job.plain_is_one_process"),
        ({"name": "a b"}, "name", "name.bad_character"),
        ({"priority": 1000}, "priority", "job.priority_range"),
        ({"time_limit_seconds": 0}, "time_limit_seconds", "job.time_limit_range"),
        ({"dataset_id": None}, "dataset", "job.dataset_needed"),
        ({"dataset_id": 999}, "dataset", "job.dataset_unknown"),
        ({"command": ("train.py",)}, "command", "job.command_of_built_in"),
        ({"variables": {"epochs": "NaN"}}, "variables.epochs", "variable.not_finite"),
        ({"variables": {"dropout": "1.2"}}, "variables.dropout", "variable.too_large"),
        ({"variables": {"colour": "red"}}, "variables.colour", "variable.unknown"),
    ],
)
def test_what_can_never_run_is_refused_by_name_and_leaves_no_row(
    cluster: Cluster, lab: Lab, changes: dict[str, Any], field: str, code: str
) -> None:
    request = replace(lab.request, **changes)
    for attempt in (submission.submit_job, submission_preview.preview_submission):
        with pytest.raises(Refused) as refusal:
            attempt(cluster, lab.actor, lab.training.id, request)
        assert (refusal.value.field, refusal.value.code) == (field, code)
    assert count_jobs(cluster) == 0


def test_more_units_than_any_node_has_are_refused(cluster: Cluster, lab: Lab) -> None:
    large = a_workspace(cluster, lab.manager, units=8)
    dataset = a_dataset(cluster, large)
    training = a_training(cluster, large)
    request = replace(lab.request, units=3, launcher=Launcher.HOROVOD, dataset_id=dataset.id)
    with pytest.raises(Refused) as refusal:
        submission.submit_job(cluster, actor_of(lab.manager), training.id, request)
    assert (refusal.value.code, refusal.value.data["most"]) == ("job.units_over_node", 2)


def test_a_dataset_of_another_workspace_does_not_exist_and_a_failed_one_is_named(
    cluster: Cluster, lab: Lab
) -> None:
    foreign = a_dataset(cluster, a_workspace(cluster, lab.manager))
    failed = a_dataset(cluster, lab.workspace, state=DatasetState.FAILED)
    for dataset, code in ((foreign, "job.dataset_unknown"), (failed, "job.dataset_failed")):
        with pytest.raises(Refused) as refusal:
            submission.submit_job(
                cluster, lab.actor, lab.training.id, replace(lab.request, dataset_id=dataset.id)
            )
        assert refusal.value.code == code


def test_an_expired_workspace_takes_no_job_and_keeps_the_old_ones_readable(
    cluster: Cluster, lab: Lab, clock: Clock
) -> None:
    job = submission.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    clock.move(days=60)
    with pytest.raises(Refused) as refusal:
        submission.submit_job(cluster, lab.actor, lab.training.id, lab.request)
    assert refusal.value.code == "workspace.expired"
    assert queries.read_job(cluster, lab.actor, job.id).id == job.id
