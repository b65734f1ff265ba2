"""What the watch over Kubernetes brings, and what the scheduler writes of it."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from cluster.services.context import Cluster
from cluster.services.kubernetes.status import read_kubernetes_status
from cluster.services.leases import HeldLease
from tests.builders import a_workspace
from tests.unit.worker.kubernetes.fake_api import FewObjects, a_machine
from worker.executors.simulated import SimulatedCluster, SimulatedExecutor
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi
from worker.kubernetes.namespaces.sync import SyncReport, WriteRefusal
from worker.scheduling.kubernetes_watch import (
    KubernetesWatch,
    namespace_deletion_disagreement,
    open_kubernetes_watch,
    write_refusal_disagreement,
)
from worker.scheduling.scheduler_lease import acquire_scheduler_lease


class Quiet:
    """Keeps namespaces as it is told, and counts how often."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.synced: list[int] = []

    def sync(self, tenancies: Any, kept: SyncReport) -> None:
        self.synced.append(len(tenancies))
        if self.problem is not None:
            raise self.problem


@pytest.fixture
def held(light_cluster: Cluster) -> HeldLease:
    lease = acquire_scheduler_lease(light_cluster, "a scheduler")
    assert lease is not None
    return lease


@pytest.fixture
def watch(light_cluster: Cluster) -> Iterator[KubernetesWatch]:
    server = cast(KubernetesApi, FewObjects(a_machine("w1", "True")))
    watch = KubernetesWatch(light_cluster, server, lambda: "here", pause_seconds=1000.0)
    watch.__dict__["namespace_sync"] = Quiet()
    yield watch
    watch.close()


def finish(watch: KubernetesWatch, held: HeldLease) -> None:
    """The read that is under way is awaited, and written at the next turn."""
    assert watch.pending_report is not None
    watch.pending_report.exception(timeout=30)
    watch.advance(held)


def test_what_was_read_is_written_and_the_next_read_waits_for_a_change(
    light_cluster: Cluster, watch: KubernetesWatch, held: HeldLease
) -> None:
    watch.advance(held)
    finish(watch, held)
    status = read_kubernetes_status(light_cluster)
    assert status is not None and [node.name for node in status.nodes] == ["w1"]
    assert watch.pending_report is None, "nothing has changed, and its pause is not over"
    a_workspace(light_cluster)
    watch.advance(held)
    assert watch.pending_report is not None
    finish(watch, held)
    assert cast(Quiet, watch.namespace_sync).synced == [0, 1]


def test_of_an_api_server_that_is_away_nothing_is_concluded(
    light_cluster: Cluster, watch: KubernetesWatch, held: HeldLease
) -> None:
    watch.advance(held)
    finish(watch, held)
    a_workspace(light_cluster)
    watch.__dict__["namespace_sync"] = Quiet(ApiUnreachable("refused"))
    watch.advance(held)
    finish(watch, held)
    status = read_kubernetes_status(light_cluster)
    assert status is not None and status.silent_since == light_cluster.clock()
    assert [node.name for node in status.nodes] == ["w1"]


def test_who_is_not_let_in_keeps_what_was_seen_and_says_so(
    light_cluster: Cluster, watch: KubernetesWatch, held: HeldLease
) -> None:
    watch.advance(held)
    finish(watch, held)
    a_workspace(light_cluster)
    watch.__dict__["namespace_sync"] = Quiet(ApiRefused(403, "Forbidden", "no list of pods"))
    watch.advance(held)
    finish(watch, held)
    status = read_kubernetes_status(light_cluster)
    assert status is not None and [node.name for node in status.nodes] == ["w1"]
    assert [each.code for each in status.disagreements] == ["disagreement.closed_door"]


@pytest.mark.parametrize(
    ("key", "thing"),
    [(("Role", "ws-1", "jobs"), "Role ws-1/jobs"), (("Namespace", "", "ws-1"), "Namespace ws-1")],
)
def test_a_write_that_was_refused_names_its_object(key: tuple[str, str, str], thing: str) -> None:
    found = write_refusal_disagreement(WriteRefusal(7, key, 403, "x" * 999))
    assert (found.code, found.data["object"], len(found.data["said"])) == (
        "disagreement.not_kept",
        thing,
        300,
    )


def test_a_namespace_that_somebody_deletes_is_named() -> None:
    found = namespace_deletion_disagreement(7)
    assert found.code == "disagreement.namespace_goes" and "7" in found.data["namespace"]


def test_without_kubernetes_there_is_no_watch(light_cluster: Cluster, tmp_path: Any) -> None:
    executor = SimulatedExecutor(SimulatedCluster(tmp_path / "world"))
    assert open_kubernetes_watch(light_cluster, executor) is None
