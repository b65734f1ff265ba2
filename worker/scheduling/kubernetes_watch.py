"""A thread beside the scheduler keeps the objects of workspaces in Kubernetes equal to their rows and reads the
cluster's status.

The thread waits for the API server as long as necessary, and the scheduler writes the result in its next pass, under
its lease. Nothing is concluded from an API server that does not answer.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import structlog

from cluster.domain.kubernetes.disagreements import (
    Disagreement,
    OwnershipMarks,
    find_disagreements,
    find_units_held_twice,
)
from cluster.domain.kubernetes.pod_network import LEASE_NAMESPACE
from cluster.domain.kubernetes.status import KubernetesStatus, build_kubernetes_status, with_silence
from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from cluster.services.context import Cluster
from cluster.services.kubernetes import status
from cluster.services.leases import HeldLease
from worker.executors.contract import Executor
from worker.executors.kubernetes import KubernetesExecutor
from worker.kubernetes import object_names
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi, KubernetesObject
from worker.kubernetes.namespaces.drift import FieldDifference
from worker.kubernetes.namespaces.sync import (
    ChangeKind,
    NamespaceSync,
    ObjectChange,
    ObjectKey,
    SyncReport,
    WriteRefusal,
)

log = structlog.get_logger()

SYNC_SECONDS = 10.0
"""The interval of the comparison while no workspace changes."""
AUDIT_ACTIONS = {ChangeKind.PUT_RIGHT: "workspace.put_right", ChangeKind.MADE_AGAIN: "workspace.made_again"}


@dataclass(frozen=True)
class KubernetesReport:
    """The result of one reading. `standing` is None if Kubernetes gave no answer."""

    kept: SyncReport
    standing: KubernetesStatus | None


def open_kubernetes_watch(cluster: Cluster, executor: Executor) -> "KubernetesWatch | None":
    """Returns None if jobs do not run there."""
    if not isinstance(executor, KubernetesExecutor):
        return None
    return KubernetesWatch(cluster, executor.api, lambda: executor.installation)


class KubernetesWatch:
    """The watch can be killed at any moment, because it remembers nothing that is not in the cluster or in the rows."""

    def __init__(
        self,
        cluster: Cluster,
        api: KubernetesApi,
        read_installation: Callable[[], str],
        pause_seconds: float = SYNC_SECONDS,
    ) -> None:
        self.cluster = cluster
        self.pause_seconds = pause_seconds
        self.synced_tenancies: list[WorkspaceNamespace] = []
        self.read_at = float("-inf")
        self.api = api  # The caller has put failpoints around it.
        self.read_installation = read_installation
        self.pool = ThreadPoolExecutor(1, "kubernetes")
        self.pending_report: Future[KubernetesReport] | None = None
        self.corrected: dict[ObjectKey, tuple[FieldDifference, ...]] = {}
        """The corrections of the last reading. A change that somebody makes repeatedly is reported once."""

    @cached_property
    def namespace_sync(self) -> NamespaceSync:
        return NamespaceSync(self.api, self.read_installation())

    @cached_property
    def ownership_marks(self) -> OwnershipMarks:
        return ownership_marks_of(self.read_installation())

    def advance(self, held: HeldLease) -> None:
        """Writes the result of the last reading, and begins the next one if it is due or a workspace has changed.

        Raises LeaseLost.
        """
        if self.pending_report is not None:
            if not self.pending_report.done():
                return
            looked, self.pending_report = self.pending_report, None
            self.record(held, looked.result())
        tenancies = status.list_workspace_namespaces(self.cluster)
        if tenancies == self.synced_tenancies and time.monotonic() - self.read_at < self.pause_seconds:
            return
        self.synced_tenancies, self.read_at = tenancies, time.monotonic()
        reports = status.read_reported_units(self.cluster)
        before, now = status.read_kubernetes_status(self.cluster), self.cluster.clock()
        self.pending_report = self.pool.submit(self.read_report, tenancies, reports, before, now)

    def read_report(
        self,
        tenancies: Collection[WorkspaceNamespace],
        reports: Mapping[int, Collection[str]],
        before: KubernetesStatus | None,
        now: datetime,
    ) -> KubernetesReport:
        kept = SyncReport()
        try:
            self.namespace_sync.sync(tenancies, kept)
            told = [
                *self.find_disagreements_in_cluster(now),
                *find_units_held_twice(reports),
                *map(write_refusal_disagreement, kept.refusals),
            ]
            told += [namespace_deletion_disagreement(workspace) for workspace in kept.deleting]
            return KubernetesReport(kept, self.read_cluster_status(told, before, now))
        except ApiUnreachable as silence:
            log.warning("Kubernetes does not answer", **silence.data)
        except ApiRefused as refusal:
            log.warning(
                "Kubernetes refuses the scheduler's requests", status=refusal.status, said=refusal.message
            )
            return KubernetesReport(
                kept,
                keep_last_status(
                    build_kubernetes_status([], [], [access_refused_disagreement(refusal)], before, now),
                    before,
                ),
            )
        return KubernetesReport(kept, None)

    def find_disagreements_in_cluster(self, now: datetime) -> list[Disagreement]:
        pods, workloads = (self.api.list_all(kind).things for kind in ("Pod", "Workload"))
        return find_disagreements(pods, workloads, self.ownership_marks, now)

    def read_cluster_status(
        self, told: Collection[Disagreement], before: KubernetesStatus | None, now: datetime
    ) -> KubernetesStatus:
        nodes = self.api.list_all("Node").things
        kinds = ("Deployment", "DaemonSet", "StatefulSet")
        workloads = [each for kind in kinds for each in self.api.list_all(kind).things]
        leases = self.list_watcher_leases()
        return build_kubernetes_status(nodes, workloads, told, before, now, leases)

    def list_watcher_leases(self) -> Sequence[KubernetesObject]:
        """The leases of the pod network's watchers; empty while the scheduler has the rights of an earlier release,
        which may not list leases.
        """
        try:
            return self.api.list_all("Lease", namespace=LEASE_NAMESPACE).things
        except ApiRefused as refusal:
            log.warning("leases of the pod network are not read", status=refusal.status, said=refusal.message)
            return ()

    def record(self, held: HeldLease, seen: KubernetesReport) -> None:
        for change in seen.kept.changes:
            log.info("a workspace's object in Kubernetes", what=change.kind.value, **describe_change(change))
        before, self.corrected = (
            self.corrected,
            {change.key: change.differences for change in seen.kept.changes if change.is_by_hand},
        )
        told = [
            (change.workspace, AUDIT_ACTIONS[change.kind], describe_change(change))
            for change in seen.kept.changes
            if change.is_by_hand and before.get(change.key) != change.differences
        ]
        if told:
            status.record_corrections(self.cluster, held, told)
        standing = seen.standing or with_silence(
            status.read_kubernetes_status(self.cluster), self.cluster.clock()
        )
        status.record_kubernetes_status(self.cluster, held, standing)

    def close(self) -> None:
        self.pool.shutdown(wait=True)


def ownership_marks_of(installation: str) -> OwnershipMarks:
    return OwnershipMarks(
        object_names.INSTALLATION,
        installation,
        object_names.JOB,
        object_names.ATTEMPT,
        object_names.RUN_NAME,
        object_names.NAMESPACE_PREFIX,
    )


def keep_last_status(standing: KubernetesStatus, before: KubernetesStatus | None) -> KubernetesStatus:
    """Keeps the result of the last reading that Kubernetes allowed."""
    return replace(standing, nodes=before.nodes, operators=before.operators) if before else standing


def describe_change(change: ObjectChange) -> dict[str, Any]:
    kind, namespace, name = change.key
    return {
        "object": f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}",
        "differences": [difference.to_data() for difference in change.differences],
        "by": list(change.other_managers),
    }


def write_refusal_disagreement(refusal: WriteRefusal) -> Disagreement:
    kind, namespace, name = refusal.key
    thing = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
    data = {"object": thing, "status": refusal.status, "said": refusal.message[:300]}
    return Disagreement("disagreement.not_kept", thing, data=data)


def namespace_deletion_disagreement(workspace: int) -> Disagreement:
    namespace = object_names.workspace_namespace(workspace)
    return Disagreement("disagreement.namespace_goes", namespace, data={"namespace": namespace})


def access_refused_disagreement(refusal: ApiRefused) -> Disagreement:
    data = {"status": refusal.status, "said": refusal.message[:300]}
    return Disagreement("disagreement.closed_door", "kubernetes", data=data)
