"""Assigns each pod of an uneven gang its node: Kubernetes knows the gang's nodes, but not how many pods belong on
each.

All pods are created equal and wait; then each gets a node by its number. Kubernetes allows a waiting pod's node
selection to be narrowed only: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
"""

from collections.abc import Iterator, Sequence

from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.pod_template import HOST
from worker.kubernetes.manifests.run_spec import GangNode
from worker.kubernetes.snapshot import RunObjects


def format_assignment(members: Sequence[GangNode]) -> str:
    return ",".join(f"{member.node}={member.units}" for member in members)


def parse_assignment(text: str) -> list[str]:
    """A node for each unit, in the order of the pods' numbers. Empty if the text has another format."""
    told = [each.rpartition("=") for each in text.split(",")]
    if not all(node and units.isdecimal() for node, _, units in told):
        return []
    return [node for node, _, units in told for _ in range(int(units))]


def node_patches(found: RunObjects) -> Iterator[tuple[KubernetesObject, KubernetesObject]]:
    """Yields each pod that waits for its node, and the patch that assigns it."""
    notes = (found.owner or {"metadata": {}})["metadata"].get("annotations") or {}
    if object_names.UNITS not in notes:
        return
    places = parse_assignment(str(notes[object_names.UNITS]))
    for pod in filter(is_gated, found.pods):
        number = pod_number(pod)
        if number is not None and number < len(places):
            yield pod, {"spec": {"nodeSelector": {HOST: places[number]}, "schedulingGates": None}}


def is_gated(pod: KubernetesObject) -> bool:
    return any(
        each.get("name") == object_names.SCHEDULING_GATE for each in pod["spec"].get("schedulingGates") or ()
    )


def pod_number(pod: KubernetesObject) -> int | None:
    labels = pod["metadata"].get("labels") or {}
    told = str(labels.get(object_names.INDEX, labels.get(object_names.REPLICA, "")))
    return int(told) if told.isdecimal() else None
