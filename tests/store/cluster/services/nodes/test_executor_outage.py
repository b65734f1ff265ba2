"""An outage of the container engine is recorded once, told to administrators, and taken back."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes.executor_outage import read_executor_outage, record_executor_outage
from tests.conftest import Clock, RecordingBell
from worker.executors.contract import ExecutorUnreachable
from worker.scheduling.reconciler import Reconciler

LASTS = timedelta(seconds=10)
SAID = {"socket": "/run/docker.sock"}


@pytest.fixture
def held(cluster: Cluster) -> HeldLease:
    found = acquire_lease(cluster, "scheduler", "one", LASTS)
    assert found
    return found


def test_silence_is_noted_once_with_its_beginning(
    cluster: Cluster, held: HeldLease, clock: Clock, bell: RecordingBell
) -> None:
    assert read_executor_outage(cluster) is None
    assert not record_executor_outage(cluster, held, None, {})
    assert record_executor_outage(cluster, held, "engine.silent", SAID)
    assert bell.rung == [("nodes", 0)]
    began = clock.now
    clock.move(seconds=5)
    assert not record_executor_outage(cluster, held, "engine.silent", SAID)
    known = read_executor_outage(cluster)
    assert known and (known.code, known.data, known.since) == ("engine.silent", SAID, began)
    assert record_executor_outage(cluster, held, None, {})
    assert read_executor_outage(cluster) is None


def test_who_lost_the_lease_notes_nothing(cluster: Cluster, held: HeldLease, clock: Clock) -> None:
    clock.move(hours=1)
    assert acquire_lease(cluster, "scheduler", "another", LASTS)
    with pytest.raises(LeaseLost):
        record_executor_outage(cluster, held, "engine.silent", SAID)


def test_the_look_for_strays_says_whether_the_executor_answers(light_cluster: Cluster, tmp_path: Any) -> None:
    answers = [ExecutorUnreachable("engine.silent", **SAID), []]

    def list_running() -> list[object]:
        answer = answers.pop(0)
        if isinstance(answer, ExecutorUnreachable):
            raise answer
        return answer

    executor: Any = SimpleNamespace(list_running=list_running, remove_ended_except=lambda known: None)
    reconciler = Reconciler(light_cluster, executor, tmp_path)
    assert reconciler.orphan_runs.end_all() is None
    assert reconciler.orphan_runs.executor_problem and reconciler.orphan_runs.executor_problem.data == SAID
    assert reconciler.orphan_runs.end_all() == 0
    assert reconciler.orphan_runs.executor_problem is None
    reconciler.starts.pool.shutdown()
