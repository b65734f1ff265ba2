"""Reads a snapshot of our attempts in the cluster: their pods, the objects that own them, and the nodes that are not
ready.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cluster.domain.kubernetes.api_objects import (
    conditions_of,
    is_condition_true,
    parse_api_time,
    parse_quantity,
)
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesApi, KubernetesObject

OWNER_KINDS = ("Job", "MPIJob")
LEAST_GRACE_SECONDS = 1
"""Seconds. With 0 the API server would forget a pod of which a process may still run."""
ENDED_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass
class RunObjects:
    """The objects of one attempt."""

    job: int
    attempt: int
    workspace: int
    owner: KubernetesObject | None = None
    """The Job or MPIJob. None for a notebook, whose pod has no owner."""
    pods: list[KubernetesObject] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, int]:
        return self.job, self.attempt

    @property
    def shim_pod(self) -> KubernetesObject | None:
        """The pod with the shim: an MPIJob's launcher, the pod with number 0 of an Indexed Job, else the only one."""
        return next((pod for pod in self.pods if is_shim_pod(pod)), None)

    @property
    def live_pods(self) -> list[KubernetesObject]:
        return [pod for pod in self.pods if not is_pod_over(pod)]


@dataclass(frozen=True)
class ClusterSnapshot:
    """The objects of all attempts in the cluster. `read_at` is the beginning of the list, in steady seconds."""

    read_at: float
    runs: Mapping[tuple[int, int], RunObjects]
    silent_nodes: frozenset[str]
    """Nodes whose pods have an unknown state."""
    rdma_nodes: frozenset[str] = frozenset()
    """Nodes of which pods may request a share of an RDMA card."""


def read_snapshot(
    api: KubernetesApi, installation: str, taken: float, namespace: str = "", **labels: str
) -> ClusterSnapshot:
    """Raises ApiUnreachable. `labels` and `namespace` limit the snapshot to one attempt."""
    wanted = object_names.label_selector(installation=installation, part=object_names.RUN_PART, **labels)
    things = [
        thing for kind in (*OWNER_KINDS, "Pod") for thing in api.list_all(kind, wanted, namespace).things
    ]
    nodes = api.list_all("Node").things
    silent = frozenset(
        node["metadata"]["name"] for node in nodes if not is_condition_true(conditions_of(node).get("Ready"))
    )
    rdma = frozenset(node["metadata"]["name"] for node in nodes if has_rdma_cards(node))
    return ClusterSnapshot(taken, group_by_attempt(things), silent, rdma)


def has_rdma_cards(node: KubernetesObject) -> bool:
    """Whether the device plugin offers cards there now; it offers 0 of those that are gone."""
    allocatable = node.get("status", {}).get("allocatable") or {}
    return parse_quantity(allocatable.get(object_names.RDMA_RESOURCE)) > 0


def group_by_attempt(things: Sequence[KubernetesObject]) -> dict[tuple[int, int], RunObjects]:
    """Ignores objects whose labels name no attempt, or that lie in another namespace than their workspace's."""
    runs: dict[tuple[int, int], RunObjects] = {}
    for thing in things:
        if (numbers := attempt_key_of_object(thing)) is None:
            continue
        job, attempt, workspace = numbers
        found = runs.setdefault((job, attempt), RunObjects(job, attempt, workspace))
        if thing["kind"] == "Pod":
            found.pods.append(thing)
        else:
            found.owner = thing
    return runs


def attempt_key_of_object(thing: KubernetesObject) -> tuple[int, int, int] | None:
    """Job, attempt and workspace, if the labels have our format and the namespace belongs to that workspace."""
    about = thing["metadata"]
    told = [
        (about.get("labels") or {}).get(key, "")
        for key in (object_names.JOB, object_names.ATTEMPT, object_names.WORKSPACE)
    ]
    if not all(number.isdecimal() and number == str(int(number)) for number in told):
        return None
    job, attempt, workspace = map(int, told)
    return (
        (job, attempt, workspace)
        if about.get("namespace") == object_names.workspace_namespace(workspace)
        else None
    )


def is_shim_pod(pod: KubernetesObject) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return not is_mpi_worker(pod) and str(labels.get(object_names.INDEX, "0")) == "0"


def is_pod_over(pod: KubernetesObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ENDED_PHASES


def is_pod_running(pod: KubernetesObject) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running"


def pod_node(pod: KubernetesObject) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


def is_bound(pod: KubernetesObject) -> bool:
    """Whether a node has been chosen. Its kubelet may have started the pod already."""
    return bool(pod_node(pod))


def is_deleting(thing: KubernetesObject) -> bool:
    return bool(thing["metadata"].get("deletionTimestamp"))


def is_deleting_now(pod: KubernetesObject) -> bool:
    """Whether the pod was deleted with the shortest possible grace time."""
    grace = pod["metadata"].get("deletionGracePeriodSeconds")
    return is_deleting(pod) and (grace or 0) <= LEAST_GRACE_SECONDS


def container_exit(pod: KubernetesObject) -> KubernetesObject | None:
    """The container's `exitCode`, `reason` and `message`. None if it has not ended or its end is unknown."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if ended := (status.get("state") or {}).get("terminated"):
            return dict(ended)
    return None


def deletion_requested_at(pod: KubernetesObject) -> datetime | None:
    """The time at which the deletion was requested, in whole seconds, aware UTC. Kubernetes stores the end of the grace
    time.
    """
    about = pod["metadata"]
    if not is_deleting(pod):
        return None
    grace = timedelta(seconds=about.get("deletionGracePeriodSeconds") or 0)
    return parse_api_time(about["deletionTimestamp"]) - grace


def was_removed_by_operator(pod: KubernetesObject, main: KubernetesObject | None) -> bool:
    """Whether the MPI operator deleted the worker after the launcher's end, which is no disruption.

    Times have whole seconds. A worker that was deleted in the second of the launcher's end counts as disrupted.
    """
    ended = (container_exit(main) or {}).get("finishedAt") if main is not None else None
    asked = deletion_requested_at(pod)
    return bool(ended) and asked is not None and is_mpi_worker(pod) and asked > parse_api_time(ended)


def has_replaced_worker(found: RunObjects) -> bool:
    """Whether a worker is younger than the launcher. It then replaces a lost worker, whose ranks are lost."""
    main = found.shim_pod
    if main is None:
        return False
    born = main["metadata"]["creationTimestamp"]
    return any(pod["metadata"]["creationTimestamp"] > born for pod in found.pods if is_mpi_worker(pod))


def is_mpi_worker(pod: KubernetesObject) -> bool:
    return (
        str((pod["metadata"].get("labels") or {}).get(object_names.ROLE, object_names.LAUNCHER))
        != object_names.LAUNCHER
    )


def has_failed_by_itself(pod: KubernetesObject) -> bool:
    """Whether the pod's program failed although nobody deleted the pod. A worker's sshd is no program of the job."""
    ended = container_exit(pod)
    if is_mpi_worker(pod) and (ended or {}).get("reason") != "OOMKilled":
        return False
    disturbed = is_condition_true(conditions_of(pod).get("DisruptionTarget")) or (
        pod.get("status") or {}
    ).get("reason")
    return bool(ended and ended.get("exitCode")) and not disturbed and not is_deleting(pod)
