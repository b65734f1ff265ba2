"""The first jobs of each line, by index alone: held jobs and those of other lines are never among them."""

import pytest
from sqlalchemy.orm import Session

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.placement.queue_heads import (
    QueuedJobRow,
    read_heads_by_shape,
    read_queue_heads,
    read_workspace_queue,
    shape_above,
)
from cluster.store.jobs import Job, job_shape
from cluster.store.trainings import Training
from tests.builders import a_job, a_training, a_workspace


def waiting(cluster: Cluster, training: Training, units: int = 1, **changes: object) -> Job:
    return a_job(cluster, training, units=units, shape=job_shape(units, None, None, None), **changes)  # type: ignore[arg-type]


def ids(rows: list[QueuedJobRow]) -> list[int]:
    return [row.id for row in rows]


@pytest.fixture
def lines(cluster: Cluster) -> list[Training]:
    return [a_training(cluster, a_workspace(cluster)) for _ in range(2)]


def test_each_line_gives_its_first_jobs_and_what_is_held_or_runs_none(
    cluster: Cluster, lines: list[Training]
) -> None:
    first, second = lines
    low = [waiting(cluster, first) for _ in range(3)]
    high = waiting(cluster, first, priority=5)
    waiting(cluster, first, priority=9, held_at=cluster.clock(), held_by=first.owner_id)
    waiting(cluster, first, priority=9, state=JobState.RUNNING)
    other = waiting(cluster, second)
    with cluster.store.read() as session:
        assert sorted(ids(read_queue_heads(session, 2))) == sorted([high.id, low[0].id, other.id])
        assert ids(read_queue_heads(session, 1, [first.workspace_id])) == [high.id]
        assert read_queue_heads(session, 5, []) == []
        in_order = read_workspace_queue(session, first.workspace_id, 3)
        assert ids(in_order) == [high.id, low[0].id, low[1].id]


def by_shape(session: Session, line: Training, **sizes: int) -> list[int]:
    return ids(read_heads_by_shape(session, [line.workspace_id], **sizes))


def test_behind_a_large_front_the_first_of_every_smaller_shape_is_found(
    cluster: Cluster, lines: list[Training]
) -> None:
    line = lines[0]
    for _ in range(4):
        waiting(cluster, line, units=8)
    small = [waiting(cluster, line, units=1) for _ in range(3)]
    middle = waiting(cluster, line, units=4)
    with cluster.store.read() as session:
        assert by_shape(session, line, each=1, largest=4, most=9) == [small[0].id, middle.id]
        assert by_shape(session, line, each=2, largest=1, most=9) == [small[0].id, small[1].id]
        assert by_shape(session, line, each=1, largest=4, most=1) == [small[0].id]
        assert by_shape(session, line, each=1, largest=4, most=9, smallest=2) == [middle.id]


@pytest.mark.parametrize(("units", "fits"), [(1, False), (2, True), (10, True), (99, True)])
def test_shapes_sort_by_their_units(units: int, fits: bool) -> None:
    shape = job_shape(2, 3600, 7, None)
    assert (shape < shape_above(units)) is fits
