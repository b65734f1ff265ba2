"""A job's place in line and its shape follow from its values; the database refuses a second live attempt."""

import pytest
from sqlalchemy.exc import IntegrityError

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.store.base import BaseRow
from cluster.store.jobs import POSITION_STEP, Attempt, Job, Sweep, first_position, job_shape
from cluster.store.nodes import Allocation
from tests.builders import a_job, a_node, a_training, a_workspace, add, holding


def test_a_new_job_stands_behind_those_of_its_priority_and_before_all_of_a_lower_one() -> None:
    line = [(1, 0), (2, 0), (3, 1), (2**31 - 1, 1), (4, -1)]
    by_position = sorted(line, key=lambda job: first_position(*job))
    assert by_position == [(3, 1), (2**31 - 1, 1), (1, 0), (2, 0), (4, -1)]
    assert first_position(2, 0) - first_position(1, 0) == POSITION_STEP
    assert first_position(1, 1000) >= -(2**63) and first_position(2**31 - 1, -1000) < 2**63


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ((1, None, None, None), "00001:-:-:-"),
        ((12, 3600, 3, 4), "00012:12:3:4"),
        ((12, 2048, 3, 4), "00012:12:3:4"),
        ((12, 4095, 3, 4), "00012:12:3:4"),
        ((12, 4096, 3, 4), "00012:13:3:4"),
    ],
)
def test_jobs_of_one_class_of_time_limit_have_one_shape(
    values: tuple[int, int | None, int | None, int | None], shape: str
) -> None:
    assert job_shape(*values) == shape


def test_shapes_sort_by_units() -> None:
    shapes = [job_shape(units, None, None, None) for units in (1, 2, 10, 100)]
    assert shapes == sorted(shapes)


def test_a_job_gets_its_shape_when_it_is_written(cluster: Cluster) -> None:
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), units=2, time_limit_seconds=60)
    with cluster.store.read() as session:
        assert session.get_one(Job, job.id).shape == job_shape(2, 60, None, None)


def test_a_job_has_one_live_attempt_and_a_unit_one_live_allocation(cluster: Cluster) -> None:
    node = a_node(cluster, units=2)
    training = a_training(cluster, a_workspace(cluster))
    job, other = (a_job(cluster, training, state=JobState.RUNNING) for _ in range(2))
    first = holding(cluster, job, node.units[:1])
    again = Attempt(job_id=job.id, number=2, node_id=node.id, created_at=cluster.clock())
    with pytest.raises(IntegrityError):
        add(cluster, again)
    with pytest.raises(IntegrityError):
        holding(cluster, other, node.units[:1])
    with cluster.store.write() as session:
        session.get_one(Attempt, first.id).ended_at = cluster.clock()
        session.get_one(Allocation, first.allocations[0].id).ended_at = cluster.clock()
    add(cluster, Attempt(job_id=job.id, number=2, node_id=node.id, created_at=cluster.clock()))
    assert holding(cluster, other, node.units[:1]).allocations[0].unit_id == node.units[0].id


@pytest.mark.parametrize("wrong", [{"units": 0}, {"retries": -1}, {"retries_used": -1}], ids=str)
def test_a_job_needs_units_and_no_negative_retries(cluster: Cluster, wrong: dict[str, int]) -> None:
    training = a_training(cluster, a_workspace(cluster))
    with pytest.raises(IntegrityError):
        a_job(cluster, training, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"jobs": 0}, {"most_at_once": 0}], ids=str)
def test_a_sweep_has_jobs_and_lets_at_least_one_run(cluster: Cluster, wrong: dict[str, int]) -> None:
    training = a_training(cluster, a_workspace(cluster))
    values: dict[str, object] = {
        "workspace_id": training.workspace_id,
        "training_id": training.id,
        "user_id": training.owner_id,
        "name": "rates",
        "plan": {},
        "jobs": 1,
        "submitted_at": cluster.clock(),
    }
    sweep: BaseRow = Sweep(**values | wrong)
    with pytest.raises(IntegrityError):
        add(cluster, sweep)
