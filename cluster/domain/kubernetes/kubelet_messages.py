"""Parse the kubelet's messages in a pod's status: why a container does not start, or why it was ended.

Sources of the words: kubernetes v1.34, pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go,
pkg/kubelet/eviction/helpers.go, pkg/kubelet/lifecycle/predicate.go.
"""

import re
from collections.abc import Iterator

from cluster.domain.kubernetes.api_objects import ApiObject, conditions_of, is_condition_true
from cluster.domain.kubernetes.reasons import (
    CommandMissing,
    ConfigMissing,
    ContainerCrashLoops,
    ContainerNotCreated,
    ContainerOutOfMemory,
    EphemeralStorageExceeded,
    ImageNameInvalid,
    ImageNotOnNode,
    ImageNotPulled,
    ImageRunsAsRoot,
    KubernetesReason,
    NodeOutOfResource,
    NodeShuttingDown,
    PodEvicted,
    PodPreempted,
    PodRemovedFromNode,
    UnitsUnavailable,
    unrecognised_message,
)
from cluster.domain.kubernetes.scheduler_messages import reason_of_scheduling

SPEAKER = "kubelet"
NORMAL = frozenset({"ContainerCreating", "PodInitializing", ""})
NOT_PULLED = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "RegistryUnavailable", "SignatureValidationFailed"}
)
NOT_MADE = frozenset(
    {
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError",
        "ContainerCannotRun", "CreatePodSandboxError", "ConfigPodSandboxError", "PreCreateHookError",
        "PreStartHookError", "PostStartHookError", "ImageInspectError", "ErrImageInspect",
    }
)  # fmt: skip
AS_ROOT = "runAsNonRoot and image will run as root"
NOT_NUMBERED = "runAsNonRoot and image has non-numeric user"
SETTING = re.compile(r'(?:secret|configmap) "([^"]+)" not found')
KEY = re.compile(r"couldn't find key \S+ in (?:Secret|ConfigMap) (?:\S+/)?(\S+)")
COMMAND = re.compile(
    r'exec: "([^"]+)": (?:executable file not found|stat \S+: no such file|permission denied)'
)
LOW = re.compile(r"low on resource: ([a-z-]+)")
CONDITION = re.compile(r"had condition: \[?([A-Za-z]+)Pressure")
USING = re.compile(r"Container (\S+) was using ([0-9A-Za-z]+)")
ALLOWANCE = re.compile(
    r'(?:exceeded its local ephemeral storage limit|total limit of containers|exceeds the limit) "?([0-9A-Za-z.]+)'
)
TAKEN = re.compile(r"devices unavailable for (\S+?)\. Requested: (\d+), Available: (\d+)")
FULL = re.compile(r"enough resource: (\S+), requested: (\d+), used: (\d+), capacity: (\d+)")
PRESSURES = {"Memory": "memory", "Disk": "ephemeral-storage", "PID": "pids"}


def reason_of_pod(pod: ApiObject) -> KubernetesReason | None:
    """The reason why the pod does not run or was ended by others. None if it runs, starts normally, or ended by
    itself.
    """
    status, node = pod.get("status") or {}, str((pod.get("spec") or {}).get("nodeName", ""))
    if status.get("phase") == "Failed" and (ended := reason_of_failed_pod(pod, node)) is not None:
        return ended
    for container, state, kind in container_states(pod):
        if kind == "waiting" and str(state.get("reason", "")) not in NORMAL:
            return reason_of_waiting(container, state, node)
        if (
            kind == "terminated"
            and (killed := reason_of_termination(pod, container, state, node)) is not None
        ):
            return killed
    if disrupted := reason_of_disruption(pod, node):
        return disrupted
    return reason_of_scheduling(pod)


def container_states(pod: ApiObject) -> Iterator[tuple[ApiObject, ApiObject, str]]:
    """Each container's status with its state and the kind of the state. Init containers come first."""
    status = pod.get("status") or {}
    for part in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(part) or ():
            for kind, state in (container.get("state") or {}).items():
                yield container, state or {}, kind


def reason_of_waiting(container: ApiObject, state: ApiObject, node: str) -> KubernetesReason:
    word, message = str(state.get("reason", "")), str(state.get("message", ""))
    name, image = str(container.get("name", "")), str(container.get("image", ""))
    if word in NOT_PULLED:
        return ImageNotPulled(image, node)
    if word == "ErrImageNeverPull":
        return ImageNotOnNode(image, node)
    if word == "InvalidImageName":
        return ImageNameInvalid(image)
    if word == "CrashLoopBackOff":
        return ContainerCrashLoops(name, int(container.get("restartCount", 0)))
    if word in NOT_MADE:
        return reason_of_creation_error(name, image, node, message)
    return unrecognised_message(SPEAKER, word, message)


def reason_of_creation_error(name: str, image: str, node: str, message: str) -> KubernetesReason:
    if AS_ROOT in message or NOT_NUMBERED in message:
        return ImageRunsAsRoot(image, name)
    if found := SETTING.search(message) or KEY.search(message):
        return ConfigMissing(found[1], name)
    if found := COMMAND.search(message):
        return CommandMissing(found[1], image)
    return ContainerNotCreated(name, node)


def reason_of_termination(
    pod: ApiObject, container: ApiObject, state: ApiObject, node: str
) -> KubernetesReason | None:
    """Returns None if the program ended by itself, because the shim reports exit codes."""
    word, name = str(state.get("reason", "")), str(container.get("name", ""))
    if word == "OOMKilled":
        return ContainerOutOfMemory(name, node, memory_limit(pod, name))
    if word in NOT_MADE:
        return reason_of_creation_error(
            name, str(container.get("image", "")), node, str(state.get("message", ""))
        )
    return None


def memory_limit(pod: ApiObject, container: str) -> str:
    for each in (pod.get("spec") or {}).get("containers") or ():
        if each.get("name") == container:
            return str(((each.get("resources") or {}).get("limits") or {}).get("memory", ""))
    return ""


def reason_of_failed_pod(pod: ApiObject, node: str) -> KubernetesReason | None:
    """The reason why the whole pod was refused or ended. None if its containers give a better one."""
    status = pod["status"]
    word, message = str(status.get("reason", "")), str(status.get("message", ""))
    if word == "Evicted":
        return reason_of_pod_eviction(message, node)
    if word == "UnexpectedAdmissionError" and (found := TAKEN.search(message)):
        return UnitsUnavailable(found[1], node, int(found[2]), int(found[3]))
    if word.startswith("OutOf") and (found := FULL.search(message)):
        return NodeOutOfResource(found[1], node, int(found[2]), int(found[3]), int(found[4]))
    if word in ("NodeShutdown", "Terminated", "NodeLost", "NodeAffinity"):
        return NodeShuttingDown(node) if word in ("NodeShutdown", "Terminated") else PodRemovedFromNode(node)
    return unrecognised_message(SPEAKER, word, message) if word and word != "DeadlineExceeded" else None


def reason_of_pod_eviction(message: str, node: str) -> KubernetesReason:
    if found := ALLOWANCE.search(message):
        return EphemeralStorageExceeded(found[1].rstrip("."), node)
    using = USING.search(message)
    used = {"container": using[1], "used": using[2]} if using else {}
    if found := LOW.search(message):
        return PodEvicted(found[1], node, **used)
    if found := CONDITION.search(message):
        return PodEvicted(PRESSURES.get(found[1], found[1].lower()), node)
    return unrecognised_message(SPEAKER, "Evicted", message)


def reason_of_disruption(pod: ApiObject, node: str) -> KubernetesReason | None:
    """The reason in the pod's condition.
    https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
    """
    target = conditions_of(pod).get("DisruptionTarget")
    if target is None or not is_condition_true(target):
        return None
    word, message = str(target.get("reason", "")), str(target.get("message", ""))
    if word == "PreemptionByScheduler":
        return PodPreempted(node)
    if word in ("DeletionByTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC"):
        return PodRemovedFromNode(node)
    return (
        reason_of_pod_eviction(message, node)
        if word == "TerminationByKubelet"
        else unrecognised_message(SPEAKER, word, message)
    )
