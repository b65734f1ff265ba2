"""Looks at Kubernetes beside the scheduler's own work: keeps workspaces' objects equal, and sees how it stands.

Asking takes as long as it takes, in a thread of its own; what came of it is written by the scheduler at its next
turn, under its lease. An API server that is away is no event: nothing is concluded from it.
"""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import structlog

from cluster.domain.kube.disagreements import (
    Disagreement,
    OurMarks,
    find_disagreements,
    find_doubled,
)
from cluster.domain.kube.standing import Standing, silenced, standing_of
from cluster.domain.kube.tenancies import Tenancy
from cluster.services import kubernetes
from cluster.services.context import Cluster
from cluster.services.leases import Held
from worker.executors.contract import Executor
from worker.executors.kubernetes import KubernetesExecutor
from worker.kube import names
from worker.kube.api import Api, NoAnswer, Refused
from worker.kube.tenants.differences import Difference
from worker.kube.tenants.keeping import Change, Keeper, Kept, Key, Refusal, What

log = structlog.get_logger()

LOOK_SECONDS = 10.0
"""Between two looks while no workspace changes."""
ACTIONS = {What.PUT_RIGHT: "workspace.put_right", What.MADE_AGAIN: "workspace.made_again"}


@dataclass(frozen=True)
class Seen:
    """What one look has brought. `standing` is None where Kubernetes gave no answer."""

    kept: Kept
    standing: Standing | None


def watch_kubernetes(cluster: Cluster, executor: Executor) -> "KubernetesWatch | None":
    """None where jobs do not run there."""
    if not isinstance(executor, KubernetesExecutor):
        return None
    return KubernetesWatch(cluster, executor.api, lambda: executor.installation)


class KubernetesWatch:
    """Safe to kill anywhere: it remembers nothing that is not in the cluster or in the rows."""

    def __init__(
        self,
        cluster: Cluster,
        api: Api,
        read_installation: Callable[[], str],
        pause_seconds: float = LOOK_SECONDS,
    ) -> None:
        self.cluster = cluster
        self.pause_seconds = pause_seconds
        self.looked_for: list[Tenancy] = []
        self.looked_at = float("-inf")
        self.api = api  # With the crash points of whoever opened it.
        self.read_installation = read_installation
        self.asker = ThreadPoolExecutor(1, "kubernetes")
        self.looking: Future[Seen] | None = None
        self.put_right: dict[Key, tuple[Difference, ...]] = {}
        """At the last look: whoever does the same again and again is told of once."""

    @cached_property
    def keeper(self) -> Keeper:
        return Keeper(self.api, self.read_installation())

    @cached_property
    def ours(self) -> OurMarks:
        return marks_of(self.read_installation())

    def take_turn(self, held: Held) -> None:
        """Writes what the last look has found, and begins the next where one is due or a workspace has changed.

        Raises LeaseLost.
        """
        if self.looking is not None:
            if not self.looking.done():
                return
            looked, self.looking = self.looking, None
            self.record(held, looked.result())
        tenancies = kubernetes.list_tenancies(self.cluster)
        if tenancies == self.looked_for and time.monotonic() - self.looked_at < self.pause_seconds:
            return
        self.looked_for, self.looked_at = tenancies, time.monotonic()
        reports = kubernetes.reported_units(self.cluster)
        before, now = kubernetes.read_standing(self.cluster), self.cluster.clock()
        self.looking = self.asker.submit(self.look, tenancies, reports, before, now)

    def look(
        self,
        tenancies: Collection[Tenancy],
        reports: Mapping[int, Collection[str]],
        before: Standing | None,
        now: datetime,
    ) -> Seen:
        kept = Kept()
        try:
            self.keeper.keep(tenancies, kept)
            told = [*self.find(now), *find_doubled(reports), *map(of_refusal, kept.refusals)]
            told += [of_going(workspace) for workspace in kept.going]
            return Seen(kept, self.stand(told, before, now))
        except NoAnswer as silence:
            log.warning("Kubernetes does not answer", **silence.data)
        except Refused as refusal:
            log.warning("Kubernetes does not let us look", status=refusal.status, said=refusal.message)
            return Seen(kept, refused(standing_of([], [], [of_closed_door(refusal)], before, now), before))
        return Seen(kept, None)

    def find(self, now: datetime) -> list[Disagreement]:
        pods, workloads = (self.api.list_all(kind).things for kind in ("Pod", "Workload"))
        return find_disagreements(pods, workloads, self.ours, now)

    def stand(self, told: Collection[Disagreement], before: Standing | None, now: datetime) -> Standing:
        nodes = self.api.list_all("Node").things
        kinds = ("Deployment", "DaemonSet", "StatefulSet")
        workloads = [each for kind in kinds for each in self.api.list_all(kind).things]
        return standing_of(nodes, workloads, told, before, now)

    def record(self, held: Held, seen: Seen) -> None:
        for change in seen.kept.changes:
            log.info("a workspace's object in Kubernetes", what=change.what.value, **describe(change))
        before, self.put_right = (
            self.put_right,
            {change.key: change.differences for change in seen.kept.changes if change.is_by_hand},
        )
        told = [
            (change.workspace, ACTIONS[change.what], describe(change))
            for change in seen.kept.changes
            if change.is_by_hand and before.get(change.key) != change.differences
        ]
        if told:
            kubernetes.note_put_right(self.cluster, held, told)
        standing = seen.standing or silenced(kubernetes.read_standing(self.cluster), self.cluster.clock())
        kubernetes.note_standing(self.cluster, held, standing)

    def close(self) -> None:
        self.asker.shutdown(wait=True)


def marks_of(installation: str) -> OurMarks:
    return OurMarks(names.INSTALLATION, installation, names.JOB, names.ATTEMPT, names.RUNS, names.NAMESPACES)


def refused(standing: Standing, before: Standing | None) -> Standing:
    """What was seen while we were let in still stands."""
    return replace(standing, nodes=before.nodes, operators=before.operators) if before else standing


def describe(change: Change) -> dict[str, Any]:
    kind, namespace, name = change.key
    return {
        "object": f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}",
        "differences": [difference.to_data() for difference in change.differences],
        "by": list(change.by),
    }


def of_refusal(refusal: Refusal) -> Disagreement:
    kind, namespace, name = refusal.key
    thing = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
    data = {"object": thing, "status": refusal.status, "said": refusal.message[:300]}
    return Disagreement("disagreement.not_kept", thing, data=data)


def of_going(workspace: int) -> Disagreement:
    namespace = names.namespace_of(workspace)
    return Disagreement("disagreement.namespace_goes", namespace, data={"namespace": namespace})


def of_closed_door(refusal: Refused) -> Disagreement:
    data = {"status": refusal.status, "said": refusal.message[:300]}
    return Disagreement("disagreement.closed_door", "kubernetes", data=data)
