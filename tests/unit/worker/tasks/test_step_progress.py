"""Steps make up the whole by their weights; the row is written when a step begins or ends, else once a second."""

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle
from cluster.services.people.users import service_actor
from cluster.store.operations import Operation
from worker.tasks import step_progress
from worker.tasks.step_progress import StepProgress

WEIGHTS = {"download": 1.0, "compile": 3.0}


@pytest.fixture
def progress(light_cluster: Cluster) -> StepProgress:
    with light_cluster.store.write() as session:
        actor = service_actor(light_cluster)
        asked = lifecycle.request_operation(session, OperationKind.BACKUP, None, actor, light_cluster.clock())
    operation = lifecycle.claim_operation(light_cluster, asked.id, "a task worker")
    assert operation is not None
    return StepProgress(light_cluster, operation, WEIGHTS)


def row(progress: StepProgress) -> Operation:
    with progress.cluster.store.read() as session:
        return session.get_one(Operation, progress.operation.id)


@pytest.mark.parametrize(
    ("step", "share", "expected"),
    [
        ("download", 0.0, 0.0),
        ("download", 1.0, 0.25),
        ("compile", 0.0, 0.25),
        ("compile", 0.5, 0.625),
        ("compile", 1.0, 1.0),
        ("surprise", 0.5, 0.0),
    ],
)
def test_a_step_counts_by_its_weight(
    progress: StepProgress, step: str, share: float, expected: float
) -> None:
    assert progress.total_share(step, share) == pytest.approx(expected)


def test_all_steps_are_there_before_the_first_begins(progress: StepProgress) -> None:
    progress.start()
    assert [(step["code"], step["state"]) for step in row(progress).steps] == [
        ("download", "to_come"),
        ("compile", "to_come"),
    ]


def test_the_row_is_written_once_a_second_and_when_a_step_begins_or_ends(
    progress: StepProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(step_progress.time, "monotonic", lambda: now[0])
    seen = []
    for seconds, step, share in (
        (0.0, "download", 0.1),
        (0.5, "download", 0.5),
        (0.6, "download", 0.8),
        (0.1, "download", 0.9),
        (0.1, "download", 1.0),
        (0.1, "compile", 0.0),
    ):
        now[0] += seconds
        progress.report(step, share, f"{share}")
        seen.append(row(progress).progress)
    assert seen == pytest.approx([0.025, 0.025, 0.2, 0.2, 0.25, 0.25])
    assert [step["state"] for step in row(progress).steps] == ["done", "now"]


def test_a_report_for_an_operation_of_somebody_else_is_refused(progress: StepProgress) -> None:
    progress.cluster.clock.now += lifecycle.CLAIM_LASTS * 2  # type: ignore[attr-defined]
    assert lifecycle.claim_operation(progress.cluster, progress.operation.id, "another") is not None
    with pytest.raises(Conflict):
        progress.report("download", 0.5)
