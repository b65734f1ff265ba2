"""The task worker of backups on servers is root: it runs backups that the rows ask for, and nothing else."""

from dataclasses import replace

import pytest

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import enqueue_operation, request_operation
from cluster.store.operations import Operation
from tests.builders import actor_of, an_administrator
from tests.conftest import RecordingBell
from worker.tasks import backup_worker
from worker.tasks.backup_worker import run_requested_backups


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The operations that the worker began."""
    numbers: list[int] = []
    monkeypatch.setattr(backup_worker, "run_operation", numbers.append)
    return numbers


def request(cluster: Cluster, kind: OperationKind) -> Operation:
    with cluster.store.write() as session:
        operation = request_operation(
            session, kind, None, actor_of(an_administrator(cluster)), cluster.clock()
        )
    enqueue_operation(cluster, operation)
    return operation


@pytest.mark.parametrize("kind", OperationKind)
def test_root_runs_backups_alone(cluster: Cluster, taken: list[int], kind: OperationKind) -> None:
    asked = request(cluster, kind)
    expected = [asked.id] if kind is OperationKind.BACKUP else []
    assert run_requested_backups(cluster) == len(expected)
    assert taken == expected


@pytest.mark.parametrize(("launcher", "queued"), [("systemd", 0), ("detached", 1)])
def test_on_servers_no_backup_is_asked_for_through_redis(
    cluster: Cluster, bell: RecordingBell, launcher: str, queued: int
) -> None:
    asked = request(
        replace(cluster, settings=replace(cluster.settings, launcher=launcher)), OperationKind.BACKUP
    )
    assert bell.enqueued == [("backups", asked.id)] * queued
    assert ("operations", asked.id) in bell.rung
