"""Finds the places where Kubernetes does not do what our queue decided: foreign pods, refusals, units held twice.

Our own pods are identified by their labels. Only our queue decides, so an administrator is told of any foreign pod
with units and of any refusal of what the queue placed.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cluster.domain.kubernetes.api_objects import (
    ApiObject,
    namespaced_name,
    parse_api_time,
    requested_amount,
    requested_units,
)
from cluster.domain.kubernetes.kubelet_messages import reason_of_pod
from cluster.domain.kubernetes.kueue_messages import reason_of_workload
from cluster.domain.kubernetes.reasons import KubernetesReason, SchedulingGated, kubernetes_reason_data
from cluster.domain.kubernetes.scheduler_messages import TOO_LITTLE
from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE

IGNORED_WHILE_NEW = timedelta(seconds=15)
"""A new pod may be refused while caches are filled. A refusal that ends before this time is no disagreement."""
SYSTEM_NAMESPACES = ("kube-system", "kube-flannel", "kueue-system", "mpi-operator")
"""The namespaces of workloads that the cluster needs."""
REFUSED_CODE = "disagreement.refused"
ENDED_PHASES = frozenset({"Succeeded", "Failed"})
CHECK_NAMESPACE = "groundcrew-verify"
"""The namespace in which the role `verify` runs a pod for a minute, which multiplies matrices on free GPUs."""


@dataclass(frozen=True)
class OwnershipMarks:
    """The marks by which objects of an attempt are recognised: labels, or the owner's name for objects that others
    make.
    """

    installation: str
    value: str
    job: str
    attempt: str
    name: re.Pattern[str]
    """The pattern of the name of a Job or MPIJob. Its groups are job and attempt."""
    namespace: str
    """The prefix of the namespaces of workspaces."""


@dataclass(frozen=True)
class Disagreement:
    """`subject` identifies it for as long as it lasts. `node` is set if one node is concerned."""

    code: str
    subject: str
    node: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        return {"code": self.code, "subject": self.subject, "node": self.node, "data": dict(self.data)}


def find_disagreements(
    pods: Iterable[ApiObject], workloads: Iterable[ApiObject], ours: OwnershipMarks, now: datetime
) -> list[Disagreement]:
    """The disagreements sorted by name, so that equal snapshots give equal lists."""
    pods = list(pods)
    refusals = list(find_refusals(pods, workloads, ours, now))
    found = [*find_foreign_pods(pods, ours), *refusals, *find_blocking_pods(pods, refusals, ours)]
    return sorted(found, key=lambda each: (each.code, each.subject))


def find_foreign_pods(pods: Iterable[ApiObject], ours: OwnershipMarks) -> Iterator[Disagreement]:
    """Pods that our queue does not know, on nodes that have units."""
    for pod in pods:
        node = (pod.get("spec") or {}).get("nodeName")
        is_over = (pod.get("status") or {}).get("phase") in ENDED_PHASES
        units = requested_units(pod, GPU_RESOURCE)
        is_check = (pod.get("metadata") or {}).get("namespace") == CHECK_NAMESPACE
        if node and units and not is_over and not is_check and attempt_of_pod(pod, ours) is None:
            data = {"pod": namespaced_name(pod), "node": node, "units": units, "kind": "gpu"}
            yield Disagreement("disagreement.stranger", namespaced_name(pod), node, data)


def find_refusals(
    pods: Iterable[ApiObject], workloads: Iterable[ApiObject], ours: OwnershipMarks, now: datetime
) -> Iterator[Disagreement]:
    """Refusals of what we placed, one per attempt. Kueue's refusal comes before that of a
    pod, which waits for Kueue.
    """
    refused: dict[tuple[str, str], tuple[KubernetesReason, str]] = {}
    for workload in workloads:
        if (key := attempt_of_workload(workload, ours)) and is_old_enough(workload, now):
            reason = reason_of_workload(workload)
            if reason is not None:
                refused[key] = reason, ""
    for pod in pods:
        if (key := attempt_of_pod(pod, ours)) and key not in refused and is_old_enough(pod, now):
            if (pod.get("status") or {}).get("phase") in ENDED_PHASES:
                continue
            reason = reason_of_pod(pod)
            if reason is not None and not isinstance(reason, SchedulingGated):
                refused[key] = reason, str((pod.get("spec") or {}).get("nodeName", ""))
    for (job, attempt), (reason, node) in refused.items():
        why = {"code": reason.code, "data": kubernetes_reason_data(reason)}
        data = {"job": f"job-{job}", "job_id": int(job), "attempt": int(attempt), "why": why}
        yield Disagreement(REFUSED_CODE, f"job-{job}", node, data)


def find_blocking_pods(
    pods: Collection[ApiObject], refusals: Iterable[Disagreement], ours: OwnershipMarks
) -> Iterator[Disagreement]:
    """Yields, for each node and each resource that a job of ours lacks there, the foreign pod that takes most of it.

    Pods with units are left out because they are reported anyway, and Kubernetes' own pods because they are needed.
    """
    lacks = {
        (node, what): refusal.data["job"]
        for refusal in refusals
        for node in refusal.data["why"]["data"].get("chosen", ())
        for what in resources_lacking(refusal.data["why"]["data"].get("causes", ()))
    }
    for (node, what), job in lacks.items():
        others = [pod for pod in pods if is_blocking_pod(pod, node, ours)]
        most = max(others, key=lambda pod: (requested_amount(pod, what), namespaced_name(pod)), default=None)
        if most is None or not requested_amount(most, what):
            continue
        name, amount = namespaced_name(most), float(requested_amount(most, what))
        data = {"pod": name, "node": node, "what": what, "amount": amount, "job": job}
        yield Disagreement("disagreement.in_the_way", f"{name} {what}", node, data)


def resources_lacking(causes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for cause in causes:
        if cause["code"] == TOO_LITTLE and cause["data"]["what"] != GPU_RESOURCE:
            yield cause["data"]["what"]


def is_blocking_pod(pod: ApiObject, node: str, ours: OwnershipMarks) -> bool:
    is_there = (pod.get("spec") or {}).get("nodeName") == node
    is_over = (pod.get("status") or {}).get("phase") in ENDED_PHASES
    is_a_part = pod["metadata"].get("namespace") in SYSTEM_NAMESPACES
    return is_there and not is_over and not is_a_part and attempt_of_pod(pod, ours) is None


def find_units_held_twice(reports: Mapping[int, Collection[str]]) -> list[Disagreement]:
    """`reports` are the units that the shim of each live job says it has. Two jobs on one unit raise an alert."""
    holders: dict[str, set[int]] = defaultdict(set)
    for job, units in reports.items():
        for unit in units:
            holders[unit].add(job)
    doubled = {unit: sorted(jobs) for unit, jobs in sorted(holders.items()) if len(jobs) > 1}
    return [
        Disagreement(
            "disagreement.unit_twice", unit, data={"unit": unit, "jobs": [f"job-{job}" for job in jobs]}
        )
        for unit, jobs in doubled.items()
    ]


def attempt_of_pod(thing: ApiObject, ours: OwnershipMarks) -> tuple[str, str] | None:
    """Job and attempt. None if the pod belongs to no attempt of this installation."""
    labels = thing["metadata"].get("labels") or {}
    job, attempt = str(labels.get(ours.job, "")), str(labels.get(ours.attempt, ""))
    is_ours = labels.get(ours.installation) == ours.value
    return (job, attempt) if is_ours and job.isdecimal() and attempt.isdecimal() else None


def attempt_of_workload(workload: ApiObject, ours: OwnershipMarks) -> tuple[str, str] | None:
    """Job and attempt by the Workload's owner, because Kueue does not copy our labels to it."""
    about = workload["metadata"]
    if not str(about.get("namespace", "")).startswith(ours.namespace):
        return None
    owners = (str(owner.get("name", "")) for owner in about.get("ownerReferences") or ())
    found = next(filter(None, map(ours.name.fullmatch, owners)), None)
    return (found[1], found[2]) if found else None


def is_old_enough(thing: ApiObject, now: datetime) -> bool:
    made = thing["metadata"].get("creationTimestamp")
    return not made or now - parse_api_time(made) >= IGNORED_WHILE_NEW
