"""A lost node works again once nothing old is left there, and people learn what confines jobs."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.nodes.executor_outage import read_executor_outage
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from worker.executors.contract import Executor, ExecutorUnreachable, RunningAttempt
from worker.executors.process import ProcessExecutor
from worker.scheduling import node_watch
from worker.scheduling.node_watch import NodeWatch, end_orphan_runs
from worker.scheduling.scheduler_lease import acquire_scheduler_lease

SAID = {"reason": "refused"}


class Runs:
    """An executor with these runs; without any it does not answer."""

    def __init__(self, *keys: tuple[int, int], is_silent: bool = False) -> None:
        self.keys, self.is_silent = keys, is_silent
        self.killed: list[Any] = []
        self.kept: set[tuple[int, int]] = set()

    def list_running(self) -> list[RunningAttempt]:
        if self.is_silent:
            raise ExecutorUnreachable("engine.silent", **SAID)
        return [RunningAttempt(job, attempt, cast(Any, None), {"key": job}) for job, attempt in self.keys]

    def kill(self, handle: Any) -> None:
        self.killed.append(handle)

    def remove_ended_except(self, known: set[tuple[int, int]]) -> None:
        self.kept = known


@pytest.fixture
def held(light_cluster: Cluster) -> HeldLease:
    lease = acquire_scheduler_lease(light_cluster, "a scheduler")
    assert lease is not None
    return lease


class Passes:
    count = 0

    def request(self) -> None:
        self.count += 1


def watch(
    monkeypatch: pytest.MonkeyPatch, cluster: Cluster, runs: Runs, recovered: list[int]
) -> tuple[NodeWatch, Passes, list[Any]]:
    """With the nodes that are returned to service."""
    passes, returned = Passes(), list[Any]()
    monkeypatch.setattr(node_watch, "list_recovered_nodes", lambda cluster: recovered)
    monkeypatch.setattr(node_watch, "return_to_service", lambda cluster, held, nodes: returned.append(nodes))
    return NodeWatch(cluster, cast(Executor, runs), passes.request), passes, returned


@pytest.mark.parametrize(
    ("runs", "recovered", "returned"),
    [
        (Runs(), [3], [[3]]),
        (Runs(), [], []),
        (Runs((9, 1)), [3], []),  # It ends now; at the next look it is known that it did.
        (Runs(is_silent=True), [3], []),
    ],
)
def test_a_node_is_back_once_the_executor_says_that_nothing_old_is_left(
    monkeypatch: pytest.MonkeyPatch,
    light_cluster: Cluster,
    held: HeldLease,
    runs: Runs,
    recovered: list[int],
    returned: list[list[int]],
) -> None:
    nodes, passes, found = watch(monkeypatch, light_cluster, runs, recovered)
    nodes.end_orphan_runs(held)
    assert (found, passes.count) == (returned, len(returned))


def test_people_learn_whether_the_executor_answers(light_cluster: Cluster, held: HeldLease) -> None:
    runs = Runs(is_silent=True)
    nodes = NodeWatch(light_cluster, cast(Executor, runs), Passes().request)
    nodes.end_orphan_runs(held)
    outage = read_executor_outage(light_cluster)
    assert outage is not None and (outage.code, outage.data) == ("engine.silent", SAID)
    runs.is_silent = False
    nodes.end_orphan_runs(held)
    assert read_executor_outage(light_cluster) is None


def test_only_runs_without_a_live_attempt_are_ended(light_cluster: Cluster) -> None:
    training = a_training(light_cluster, a_workspace(light_cluster))
    job = a_job(light_cluster, training, state=JobState.RUNNING)
    attempt = holding(light_cluster, job, a_node(light_cluster).units[:1])
    key = (job.id, attempt.number)
    runs = Runs(key, (job.id, attempt.number + 1), (job.id + 1, attempt.number))
    assert end_orphan_runs(light_cluster, cast(Executor, runs)) == 2
    assert runs.killed == [{"key": job.id}, {"key": job.id + 1}]
    assert runs.kept == {key}


def test_each_node_that_is_lost_asks_for_a_pass(
    monkeypatch: pytest.MonkeyPatch, light_cluster: Cluster, held: HeldLease
) -> None:
    monkeypatch.setattr(node_watch, "mark_silent_nodes_lost", lambda cluster, held: [4, 5])
    nodes, passes, _ = watch(monkeypatch, light_cluster, Runs(), [])
    nodes.mark_silent_nodes(held)
    assert passes.count == 2


def test_only_processes_of_this_machine_are_asked_what_confines_them(
    monkeypatch: pytest.MonkeyPatch, light_cluster: Cluster, held: HeldLease
) -> None:
    settings, recorded = light_cluster.settings, list[Any]()
    asked: list[tuple[int, int]] = []
    processes = ProcessExecutor(settings.runtime_dir, settings.storage_dir)
    monkeypatch.setattr(processes, "read_confinement", lambda uids: asked.append(uids) or {"cgroup": True})
    monkeypatch.setattr(
        node_watch,
        "record_confinement_features",
        lambda cluster, held, node, features: recorded.append(features),
    )
    for executor in (processes, cast(Executor, SimpleNamespace())):
        NodeWatch(light_cluster, executor, Passes().request).record_confinement(held)
    assert recorded == [{"cgroup": True}, None]
    assert asked == [settings.job_ids.uid_range]
