"""Parse kube-scheduler's message about a pod without a node: how many nodes, and the cause on each.

The message is `0/X nodes are available: <before any node>. <count> <why>, …. <preemption>`. Source: kubernetes v1.34,
pkg/scheduler/framework/types.go, FitError.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from cluster.domain.kubernetes.api_objects import ApiObject, conditions_of, requested_amount
from cluster.domain.kubernetes.reasons import (
    KubernetesReason,
    NoNodeFits,
    SchedulingGated,
    VolumeMissing,
    unrecognised_message,
)

SPEAKER = "kube-scheduler"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
BEFORE_ITS_PLACE = frozenset(
    f"kubernetes.node.{cause}" for cause in ("closed", "away", "pressed", "master", "tainted")
)
"""The causes that come before the check of the node's name, in kube-scheduler's order.
https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins
"""
NOT_PLACED_THERE, TOO_LITTLE = "kubernetes.node.not_placed_there", "kubernetes.node.too_little"
NONE_OF = re.compile(r"^0/(\d+) nodes are available: (.*)$", re.DOTALL)
CLAIM = re.compile(r'persistentvolumeclaim "([^"]+)" not found')
INSUFFICIENT = re.compile(r"^Insufficient (\S+)$")
OF_TAINT = re.compile(r"^node\(s\) had untolerated taint \{(\S*?):")
CAUSES = (
    ("Too many pods", "kubernetes.node.many_pods"),
    ("didn't match Pod's node affinity/selector", NOT_PLACED_THERE),
    ("didn't match scheduler-enforced node affinity", NOT_PLACED_THERE),
    ("didn't match the requested node name", NOT_PLACED_THERE),
    ("didn't match node selector", NOT_PLACED_THERE),
    ("were unschedulable", "kubernetes.node.closed"),
    ("unknown conditions", "kubernetes.node.away"),
    ("didn't match PersistentVolume's node affinity", "kubernetes.node.volume_elsewhere"),
    ("volume node affinity conflict", "kubernetes.node.volume_elsewhere"),
    ("available persistent volumes to bind", "kubernetes.node.no_volume"),
    ("non-existent pv", "kubernetes.node.no_volume"),
    ("exceed max volume count", "kubernetes.node.no_volume"),
    ("free ports for the requested pod ports", "kubernetes.node.port_taken"),
    ("anti-affinity", "kubernetes.node.kept_apart"),
    ("pod affinity rules", "kubernetes.node.kept_apart"),
    ("topology spread constraints", "kubernetes.node.kept_apart"),
)
AWAY = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready", "node.kubernetes.io/out-of-service")
CLOSED = ("node.kubernetes.io/unschedulable",)
PRESSED = ("memory-pressure", "disk-pressure", "pid-pressure")


def reason_of_scheduling(pod: ApiObject) -> KubernetesReason | None:
    """Returns None if the pod has a node or has not been scheduled yet."""
    scheduled = conditions_of(pod).get("PodScheduled")
    if scheduled is None or scheduled.get("status") != "False":
        return None
    word, message = str(scheduled.get("reason", "")), str(scheduled.get("message", ""))
    said = SchedulingGated() if word == "SchedulingGated" else parse_scheduler_message(word, message)
    return with_pod_requests(said, pod) if isinstance(said, NoNodeFits) else said


def with_pod_requests(said: NoNodeFits, pod: ApiObject) -> NoNodeFits:
    """Adds what the pod requests, and removes the nodes to which the pod was not bound."""
    chosen = nodes_bound_by_name(pod)
    causes = causes_of_chosen(said.causes, len(chosen)) if chosen else said.causes
    if not causes:
        return said
    return replace(said, causes=tuple(with_requested_amount(each, pod) for each in causes), chosen=chosen)


def causes_of_chosen(causes: Collection[Mapping[str, Any]], chosen: int) -> Collection[Mapping[str, Any]]:
    """A closed, absent or master node in the message may be one that the pod was not bound to: kube-scheduler reports
    only the first cause of each node.

    Causes that come after the check of the node's name are only reported for chosen nodes. If they cover all of
    these, the other causes are those of other nodes.
    """
    causes = [each for each in causes if each["code"] != NOT_PLACED_THERE]
    later = [each for each in causes if each["code"] not in BEFORE_ITS_PLACE]
    return later if any(each["data"]["nodes"] >= chosen for each in later) else causes


def nodes_bound_by_name(pod: ApiObject) -> tuple[str, ...]:
    """The nodes to which the pod is bound by name, as our pods are."""
    affinity = ((pod.get("spec") or {}).get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    wanted = [each for term in terms for each in term.get("matchExpressions") or () if each["key"] == HOST]
    return tuple(name for each in wanted for name in each.get("values") or ())


def with_requested_amount(cause: Mapping[str, Any], pod: ApiObject) -> Mapping[str, Any]:
    what = cause["data"].get("what", "")
    asked = float(requested_amount(pod, what)) if cause["code"] == TOO_LITTLE else 0.0
    needed = {"needed": int(asked) if asked.is_integer() else asked} if asked else {}
    return {**cause, "data": {**cause["data"], **needed}}


def parse_scheduler_message(word: str, message: str) -> KubernetesReason:
    found = NONE_OF.match(message.partition(" preemption: ")[0].strip())
    if found is None:
        claim = CLAIM.search(message)
        return VolumeMissing(claim[1]) if claim else unrecognised_message(SPEAKER, word, message)
    nodes, why = int(found[1]), found[2].strip().rstrip(".")
    if claim := CLAIM.search(why):
        return VolumeMissing(claim[1])
    if "unbound immediate PersistentVolumeClaims" in why:
        return VolumeMissing()
    causes = parse_causes(why)
    return NoNodeFits(nodes, causes) if causes else unrecognised_message(SPEAKER, word, message)


def parse_causes(why: str) -> tuple[dict[str, Any], ...]:
    """Parses `1 Insufficient cpu, 2 node(s) …`, most nodes first. Equal causes (two taints that mean "unreachable")
    are joined.

    Empty if one of them is unknown here, because an incomplete list would mislead.
    """
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for part in re.split(r", (?=\d+ )", why):
        number, _, said = part.partition(" ")
        known = parse_cause(said.strip()) if number.isdigit() else None
        if known is None:
            return ()
        counts[known] += int(number)
    return tuple(
        {"code": code, "data": {"nodes": count} | ({"what": what} if what else {})}
        for (code, what), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def parse_cause(said: str) -> tuple[str, str] | None:
    """A code, and the resource or taint that the text names."""
    if found := INSUFFICIENT.match(said):
        return TOO_LITTLE, found[1]
    if found := OF_TAINT.match(said):
        return cause_of_taint(found[1])
    if said.startswith(
        ("node(s) had untolerated taint(s)", "node(s) had taints that the pod didn't tolerate")
    ):
        return "kubernetes.node.tainted", ""
    return next(((code, "") for words, code in CAUSES if words in said), None)


def cause_of_taint(key: str) -> tuple[str, str]:
    if key in AWAY:
        return "kubernetes.node.away", ""
    if key in CLOSED:
        return "kubernetes.node.closed", ""
    if key.endswith(PRESSED):
        return "kubernetes.node.pressed", key.rpartition("/")[2].removesuffix("-pressure")
    if key in ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"):
        return "kubernetes.node.master", ""
    return "kubernetes.node.tainted", ""
