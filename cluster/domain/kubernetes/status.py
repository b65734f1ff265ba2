"""The status of Kubernetes as last read: nodes, system workloads and disagreements.

It is stored as plain JSON in one installation fact. The portal shows the fact and never asks Kubernetes itself.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from cluster.domain.kubernetes.api_objects import ApiObject, namespaced_name, parse_quantity
from cluster.domain.kubernetes.disagreements import REFUSED_CODE, SYSTEM_NAMESPACES, Disagreement
from cluster.domain.kubernetes.node_conditions import node_pressures, reason_of_node
from cluster.domain.kubernetes.pod_network import renewed_leases, watcher_silent_since
from cluster.domain.kubernetes.reasons import kubernetes_reason_data
from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE

Part = TypeVar("Part", "KubernetesNodeStatus", "SystemWorkloadStatus", Disagreement)
MAX_PER_CODE = 50
"""The number of disagreements per code that are stored. More of them are only counted."""


@dataclass(frozen=True)
class KubernetesNodeStatus:
    """`problem` is {code, data} while the node is not ready. `units` is what its device plugin offers."""

    name: str
    is_ready: bool
    is_open: bool
    kubelet: str = ""
    engine: str = ""
    units: int = 0
    pressures: tuple[str, ...] = ()
    problem: Mapping[str, Any] | None = None
    watcher_silent_since: str | None = None
    """The moment since which its watcher of the pod network has heard nothing; None while it hears."""

    @property
    def kept_out(self) -> Mapping[str, Any] | None:
        """The reason, as {code, data}, for which no job starts there. The node's original message is for
        administrators only.
        """
        if self.problem is not None:
            data = {key: value for key, value in self.problem["data"].items() if key != "said"}
            return {"code": self.problem["code"], "data": data}
        return None if self.is_open else {"code": "kubernetes.closed", "data": {"node": self.name}}


@dataclass(frozen=True)
class SystemWorkloadStatus:
    """A workload of Kubernetes or of an add-on, as kueue-system/kueue-controller-manager."""

    name: str
    ready: int
    wanted: int

    @property
    def is_whole(self) -> bool:
        return self.ready >= self.wanted


@dataclass(frozen=True)
class KubernetesStatus:
    """`at` is when Kubernetes last answered. `seen` counts the disagreements since this installation began."""

    at: datetime
    nodes: tuple[KubernetesNodeStatus, ...] = ()
    operators: tuple[SystemWorkloadStatus, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)
    """The number of disagreements by code that are not stored."""
    seen: int = 0
    silent_since: datetime | None = None
    """The time since which Kubernetes does not answer. The other fields are older then."""

    @cached_property
    def nodes_by_name(self) -> Mapping[str, KubernetesNodeStatus]:
        return {node.name: node for node in self.nodes}

    def node(self, name: str) -> KubernetesNodeStatus | None:
        """Finds the node by Groundcrew's name for it; Kubernetes writes names in lower case."""
        return self.nodes_by_name.get(name.lower())

    def kept_out(self, name: str) -> Mapping[str, Any] | None:
        """Returns why Kubernetes starts nothing on the node. None if no node was ever read; a node that Kubernetes
        does not know cannot be used.
        """
        if not self.nodes:
            return None
        node = self.node(name)
        return node.kept_out if node else {"code": "kubernetes.node_missing", "data": {"node": name}}

    def count(self) -> Counter[str]:
        """The number of all disagreements by code."""
        return Counter(each.code for each in self.disagreements) + Counter(self.more)

    def refusal_of(self, job_id: int, attempt: int) -> Mapping[str, Any] | None:
        """The reason, as {code, data}, for which Kubernetes does not start a placed attempt."""
        wanted = {"job_id": job_id, "attempt": attempt}
        for each in self.disagreements:
            if each.code == REFUSED_CODE and wanted.items() <= each.data.items():
                why: Mapping[str, Any] = each.data["why"]
                return why
        return None

    def disagreements_of_node(self, name: str) -> list[Disagreement]:
        return [each for each in self.disagreements if each.node == name.lower()]


def build_kubernetes_status(
    nodes: Iterable[ApiObject],
    workloads: Iterable[ApiObject],
    disagreements: Iterable[Disagreement],
    before: KubernetesStatus | None,
    now: datetime,
    leases: Iterable[ApiObject] = (),
) -> KubernetesStatus:
    """`workloads` are Deployments, DaemonSets and StatefulSets, `leases` those of the pod network's watchers. New
    disagreements are added to `seen`.
    """
    renewed = renewed_leases(leases)
    told, more = limit_per_code(disagreements)
    operators = (
        system_workload_status_of(each)
        for each in workloads
        if each["metadata"]["namespace"] in SYSTEM_NAMESPACES
    )
    return KubernetesStatus(
        at=now,
        nodes=tuple(
            sorted((node_status_of(node, renewed, now) for node in nodes), key=lambda node: node.name)
        ),
        operators=tuple(sorted(operators, key=lambda each: each.name)),
        disagreements=told,
        more=more,
        seen=(before.seen if before else 0) + count_new_disagreements(told, more, before),
    )


def limit_per_code(disagreements: Iterable[Disagreement]) -> tuple[tuple[Disagreement, ...], Counter[str]]:
    """The disagreements that are stored, and the number of further ones by code."""
    met, kept = Counter[str](), list[Disagreement]()
    for each in disagreements:
        met[each.code] += 1
        if met[each.code] <= MAX_PER_CODE:
            kept.append(each)
    return tuple(kept), met - Counter(each.code for each in kept)


def count_new_disagreements(
    told: Collection[Disagreement], more: Counter[str], before: KubernetesStatus | None
) -> int:
    """Counts the disagreements that are new. Those that are not stored have no name; their number may have grown."""
    known = {(each.code, each.subject) for each in before.disagreements} if before else set()
    had, have = before.count() if before else Counter[str](), Counter(each.code for each in told) + more
    crowded = {*more, *(before.more if before else ())}
    named = sum((each.code, each.subject) not in known for each in told if each.code not in crowded)
    return named + sum(max(0, have[code] - had[code]) for code in crowded)


def node_status_of(node: ApiObject, renewed: Mapping[str, datetime], now: datetime) -> KubernetesNodeStatus:
    reason, status = reason_of_node(node), node.get("status") or {}
    silent = watcher_silent_since(node, renewed, now) if reason is None else None
    info = status.get("nodeInfo") or {}
    return KubernetesNodeStatus(
        name=node["metadata"]["name"],
        is_ready=reason is None,
        is_open=not (node.get("spec") or {}).get("unschedulable", False),
        kubelet=str(info.get("kubeletVersion", "")),
        engine=str(info.get("containerRuntimeVersion", "")),
        units=int(parse_quantity((status.get("allocatable") or {}).get(GPU_RESOURCE))),
        pressures=node_pressures(node),
        problem={"code": reason.code, "data": kubernetes_reason_data(reason)} if reason else None,
        watcher_silent_since=silent.isoformat() if silent else None,
    )


def system_workload_status_of(workload: ApiObject) -> SystemWorkloadStatus:
    """Counts the pods that are ready and up to date, and the pods that there should be."""
    status, spec = workload.get("status") or {}, workload.get("spec") or {}
    is_current = status.get("observedGeneration", 0) >= workload["metadata"].get("generation", 0)
    if workload["kind"] == "DaemonSet":
        wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        new = status.get("updatedNumberScheduled", 0)
    else:
        wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
        new = status.get("updatedReplicas", 0)
    return SystemWorkloadStatus(namespaced_name(workload), min(ready, new) if is_current else 0, wanted)


def with_silence(before: KubernetesStatus | None, now: datetime) -> KubernetesStatus:
    """The status after no answer: the old values stay, and `silent_since` is set."""
    if before is None:
        return KubernetesStatus(at=now, silent_since=now)
    return before if before.silent_since else replace(before, silent_since=now)


def kubernetes_status_to_data(standing: KubernetesStatus) -> dict[str, Any]:
    return {
        "at": standing.at.isoformat(),
        "nodes": [asdict(node) | {"pressures": list(node.pressures)} for node in standing.nodes],
        "operators": [asdict(each) for each in standing.operators],
        "disagreements": [each.to_data() for each in standing.disagreements],
        "more": dict(standing.more),
        "seen": standing.seen,
        "silent_since": standing.silent_since.isoformat() if standing.silent_since else None,
    }


def parse_kubernetes_status(told: Mapping[str, Any]) -> KubernetesStatus:
    """Parses the fact, also one that another release has written: unknown fields are ignored, missing ones get their
    defaults.
    """
    silent = told.get("silent_since")
    return KubernetesStatus(
        at=datetime.fromisoformat(told["at"]),
        nodes=tuple(
            replace(node, pressures=tuple(node.pressures))
            for node in parse_list_of(KubernetesNodeStatus, told.get("nodes"))
        ),
        operators=tuple(parse_list_of(SystemWorkloadStatus, told.get("operators"))),
        disagreements=tuple(parse_list_of(Disagreement, told.get("disagreements"))),
        more=told.get("more") or {},
        seen=told.get("seen", 0),
        silent_since=datetime.fromisoformat(silent) if silent else None,
    )


def parse_list_of(kind: type[Part], told: Iterable[Mapping[str, Any]] | None) -> Iterator[Part]:
    """Parses the entries, without those that lack a required field."""
    names = {each.name for each in fields(kind)}
    needed = {each.name for each in fields(kind) if each.default is each.default_factory is MISSING}
    for each in told or ():
        if needed <= each.keys():
            yield kind(**{name: value for name, value in each.items() if name in names})


def has_status_changed(before: KubernetesStatus | None, now: KubernetesStatus) -> bool:
    """Whether pages would show anything else. The time of reading alone is no change."""
    return before is None or replace(before, at=now.at) != now
