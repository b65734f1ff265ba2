"""Read a node's conditions: silent, container runtime down, network down, under pressure.

Sources: Kubernetes v1.34, pkg/controller/nodelifecycle, pkg/kubelet/nodestatus/setters.go, pkg/kubelet/runtime.go.
"""

from cluster.domain.kubernetes.api_objects import ApiObject, conditions_of, is_condition_true, true_since
from cluster.domain.kubernetes.reasons import (
    ContainerRuntimeDown,
    KubernetesReason,
    NodeShuttingDown,
    NodeSilent,
    PodNetworkDown,
    unrecognised_message,
)

SPEAKER = "kubelet"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
ENGINE = ("container runtime is down", "PLEG is not healthy", "container runtime status check may not have")
NETWORK = ("network plugin", "NetworkPluginNotReady", "cni ", "NetworkReady=false")


def reason_of_node(node: ApiObject) -> KubernetesReason | None:
    """Returns None if the node is ready."""
    ready, name = conditions_of(node).get("Ready"), str(node["metadata"]["name"])
    if ready is None:
        return NodeSilent(name)
    if is_condition_true(ready):
        return None
    word, message, since = str(ready.get("reason", "")), str(ready.get("message", "")), true_since(ready)
    if ready.get("status") == "Unknown":
        return NodeSilent(name, since)
    if any(sign in message for sign in ENGINE):
        return ContainerRuntimeDown(name, since)
    if any(sign in message for sign in NETWORK):
        return PodNetworkDown(name, since)
    if "node is shutting down" in message:
        return NodeShuttingDown(name, since)
    return unrecognised_message(SPEAKER, word, message)


def node_pressures(node: ApiObject) -> tuple[str, ...]:
    """The resources that the kubelet reports short: memory, disk, pid. Conditions of a silent node are outdated and
    ignored."""
    known = conditions_of(node)
    return tuple(
        name.removesuffix("Pressure").lower() for name in PRESSURES if is_condition_true(known.get(name))
    )
