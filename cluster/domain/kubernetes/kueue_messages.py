"""Parse Kueue's conditions of a Workload. Source of the messages: kubernetes-sigs/kueue v0.15, pkg/scheduler and
pkg/controller/core/workload_controller.go.
"""

import re

from cluster.domain.kubernetes.api_objects import ApiObject, conditions_of, is_condition_true
from cluster.domain.kubernetes.reasons import (
    KubernetesReason,
    KueueFlavorUnfit,
    KueueLacksResource,
    KueuePreempted,
    KueueQueueMissing,
    KueueQuotaTooSmall,
    KueueQuotaUsed,
    KueueStopped,
    PodRemovedFromNode,
    PodsReadyTimeout,
    WorkloadDeactivated,
    unrecognised_message,
)

SPEAKER = "Kueue"
FULL = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed")
TOO_SMALL = re.compile(
    r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \((\S+)\) "
    r"\+ current podset request \((\S+)\) > maximum capacity \((\S+)\)"
)
TOO_SMALL_BEFORE_V0_15 = re.compile(
    r"insufficient quota for (\S+) in flavor (\S+), request > maximum capacity \((\S+) > (\S+)\)"
)
LACKS = re.compile(r"resource (\S+) unavailable in ClusterQueue(?: (\S+))?")
STOPPED = re.compile(r"(?:Cluster|Local)Queue (\S+) is (?:stopped|inactive)")
MISSING = re.compile(r"(?:Cluster|Local)Queue (\S+) (?:doesn't exist|not found|is terminating or missing)")
UNFIT = (
    re.compile(r"untolerated taint .{1,400}? in flavor ([^\s,;]+)"),
    re.compile(r"flavor ([^\s,;]+) doesn't match node affinity"),
    re.compile(r"flavor ([^\s,;]+) not found"),
)
PREEMPTOR = re.compile(r"preemptor path: (?:[^/;\s]{0,253}/){0,20}([^/;\s]{1,253})(?:;|$)")
FAILED_NODES = re.compile(r"node failures, including: (.+)$")


def reason_of_workload(workload: ApiObject) -> KubernetesReason | None:
    """Returns None if Kueue admits the workload or has not considered it yet."""
    known = conditions_of(workload)
    if is_condition_true(evicted := known.get("Evicted")) and evicted is not None:
        return reason_of_kueue_eviction(str(evicted.get("reason", "")), str(evicted.get("message", "")))
    if is_condition_true(known.get("Admitted")) or is_condition_true(known.get("Finished")):
        return None
    reserved = known.get("QuotaReserved")
    if reserved is None or is_condition_true(reserved):
        return None
    return reason_of_kueue_refusal(str(reserved.get("reason", "")), str(reserved.get("message", "")))


def reason_of_kueue_refusal(word: str, message: str) -> KubernetesReason:
    """The reason of the first pod set that does not fit."""
    if found := FULL.search(message):
        return KueueQuotaUsed(found[1], found[2], found[3])
    if found := TOO_SMALL.search(message):
        needed = add_quantities(found[3], found[4])
        return KueueQuotaTooSmall(found[1], found[2], needed, found[5])
    if found := TOO_SMALL_BEFORE_V0_15.search(message):
        return KueueQuotaTooSmall(found[1], found[2], found[3], found[4])
    if found := LACKS.search(message):
        return KueueLacksResource(found[1], found[2] or "")
    if found := STOPPED.search(message):
        return KueueStopped(found[1])
    if found := MISSING.search(message):
        return KueueQueueMissing(found[1])
    if "doesn't match ClusterQueue selector" in message:
        return KueueQueueMissing()
    for pattern in UNFIT:
        if found := pattern.search(message):
            return KueueFlavorUnfit(found[1])
    return unrecognised_message(SPEAKER, word, message)


def add_quantities(before: str, now: str) -> str:
    """The sum of two integers. For quantities such as `1500m` it is the request of this part alone."""
    return str(int(before) + int(now)) if before.isdigit() and now.isdigit() else now


def reason_of_kueue_eviction(word: str, message: str) -> KubernetesReason:
    """Source of the words: apis/kueue/v1beta2/workload_types.go."""
    if word == "Preempted":
        found = PREEMPTOR.search(message)
        return KueuePreempted(found[1] if found and found[1] != "UNKNOWN" else "")
    if word == "PodsReadyTimeout":
        return PodsReadyTimeout()
    if word in ("ClusterQueueStopped", "LocalQueueStopped"):
        return KueueStopped()
    if word == "NodeFailures":
        found = FAILED_NODES.search(message)
        return PodRemovedFromNode(found[1]) if found else unrecognised_message(SPEAKER, word, message)
    if word == "Deactivated" or word.startswith("DeactivatedDueTo"):
        return WorkloadDeactivated()
    return unrecognised_message(SPEAKER, word, message)
