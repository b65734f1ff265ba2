"""The reasons why Kubernetes does not start, or has stopped, a pod of ours: one class each with its data.

`cluster.words` has a sentence for each in both languages. The original text of Kubernetes is kept only if no class
fits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar


@dataclass(frozen=True)
class NodeOutOfResource:
    code: ClassVar[str] = "kubernetes.node_full"
    resource: str
    node: str
    needed: int
    used: int
    all: int


@dataclass(frozen=True)
class NodeSilent:
    """The node's kubelet does not report. Programs there may go on running."""

    code: ClassVar[str] = "kubernetes.node_silent"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class ContainerRuntimeDown:
    """The kubelet reports that the container engine beside it does not answer."""

    code: ClassVar[str] = "kubernetes.engine_down"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class PodNetworkDown:
    """Pods of the node get no address."""

    code: ClassVar[str] = "kubernetes.network_down"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class NodeShuttingDown:
    code: ClassVar[str] = "kubernetes.shutting_down"
    node: str
    since: datetime | None = None


@dataclass(frozen=True)
class NoNodeFits:
    """kube-scheduler: none of `nodes` accepts the pod. `causes` are {code, data}, most nodes first.

    `chosen` are the nodes to which the pod is bound. If they are known, the causes are those of these nodes.
    """

    code: ClassVar[str] = "kubernetes.nodes_refuse"
    nodes: int
    causes: tuple[Mapping[str, Any], ...]
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class VolumeMissing:
    """The claim, or its volume, does not exist."""

    code: ClassVar[str] = "kubernetes.volume_missing"
    name: str = ""


@dataclass(frozen=True)
class SchedulingGated:
    """A gate keeps the pod from being scheduled. For our pods it is Kueue's, until Kueue admits them."""

    code: ClassVar[str] = "kubernetes.gated"


@dataclass(frozen=True)
class ImageNotPulled:
    """The node cannot get the image from its registry."""

    code: ClassVar[str] = "kubernetes.image_not_pulled"
    image: str
    node: str


@dataclass(frozen=True)
class ImageNotOnNode:
    """The node lacks an image that may only come from the bundle."""

    code: ClassVar[str] = "kubernetes.image_not_there"
    image: str
    node: str


@dataclass(frozen=True)
class ImageNameInvalid:
    code: ClassVar[str] = "kubernetes.image_name_broken"
    image: str


@dataclass(frozen=True)
class ImageRunsAsRoot:
    """The image runs as root, which workspaces may not."""

    code: ClassVar[str] = "kubernetes.image_is_root"
    image: str
    container: str


@dataclass(frozen=True)
class ConfigMissing:
    """A secret or a config map that the container reads does not exist."""

    code: ClassVar[str] = "kubernetes.setting_missing"
    name: str
    container: str


@dataclass(frozen=True)
class CommandMissing:
    code: ClassVar[str] = "kubernetes.command_missing"
    command: str
    image: str


@dataclass(frozen=True)
class ContainerNotCreated:
    """The node's container engine refused the container, for a reason other than its name or image."""

    code: ClassVar[str] = "kubernetes.container_not_made"
    container: str
    node: str


@dataclass(frozen=True)
class ContainerCrashLoops:
    """The container ends as soon as it has begun, and the kubelet waits before it starts it again."""

    code: ClassVar[str] = "kubernetes.keeps_crashing"
    container: str
    times: int


@dataclass(frozen=True)
class ContainerOutOfMemory:
    """`limit` is the pod's own, as `4Gi`. Empty: the node itself had no memory left."""

    code: ClassVar[str] = "kubernetes.out_of_memory"
    container: str
    node: str
    limit: str = ""


@dataclass(frozen=True)
class PodEvicted:
    """The kubelet evicted the pod because the node had too little of `resource`."""

    code: ClassVar[str] = "kubernetes.evicted"
    resource: str
    node: str
    container: str = ""
    used: str = ""


@dataclass(frozen=True)
class EphemeralStorageExceeded:
    """The pod wrote more into its container or a scratch volume than it may."""

    code: ClassVar[str] = "kubernetes.disk_allowance_used"
    limit: str
    node: str


@dataclass(frozen=True)
class PodRemovedFromNode:
    """Somebody drained the node, or it disappeared, and its pods were deleted."""

    code: ClassVar[str] = "kubernetes.taken_off"
    node: str


@dataclass(frozen=True)
class PodPreempted:
    """kube-scheduler deleted the pod for one of higher priority."""

    code: ClassVar[str] = "kubernetes.pushed_out"
    node: str


@dataclass(frozen=True)
class UnitsUnavailable:
    """The kubelet has fewer units than the scheduler assumed, because of a foreign pod or a broken unit."""

    code: ClassVar[str] = "kubernetes.units_taken"
    resource: str
    node: str
    needed: int
    free: int


@dataclass(frozen=True)
class KueueQuotaUsed:
    """Kueue: the workspace's queue has too little quota left. Quantities are in Kubernetes' notation, as `2` or
    `3Gi`.
    """

    code: ClassVar[str] = "kubernetes.queue_full"
    resource: str
    flavor: str
    lacking: str


@dataclass(frozen=True)
class KueueQuotaTooSmall:
    """Kueue: the workload exceeds the queue's whole quota."""

    code: ClassVar[str] = "kubernetes.queue_too_small"
    resource: str
    flavor: str
    needed: str
    most: str


@dataclass(frozen=True)
class KueueLacksResource:
    """Kueue: the queue does not have this resource."""

    code: ClassVar[str] = "kubernetes.queue_lacks"
    resource: str
    queue: str = ""


@dataclass(frozen=True)
class KueueStopped:
    """Kueue: the queue is stopped, by a person or because the term has ended."""

    code: ClassVar[str] = "kubernetes.queue_stopped"
    queue: str = ""


@dataclass(frozen=True)
class KueueQueueMissing:
    """Kueue: the queue, or its access to the workspace's namespace, does not exist."""

    code: ClassVar[str] = "kubernetes.queue_missing"
    queue: str = ""


@dataclass(frozen=True)
class KueueFlavorUnfit:
    """Kueue: nodes of this flavor do not accept it, because of a taint or a label, or the flavor does not exist."""

    code: ClassVar[str] = "kubernetes.flavor_unfit"
    flavor: str


@dataclass(frozen=True)
class KueuePreempted:
    """Kueue preempted it for a workload of another queue or of higher priority."""

    code: ClassVar[str] = "kubernetes.queue_preempted"
    queue: str = ""


@dataclass(frozen=True)
class PodsReadyTimeout:
    """Kueue gave up waiting for its pods."""

    code: ClassVar[str] = "kubernetes.pods_late"


@dataclass(frozen=True)
class WorkloadDeactivated:
    """Kueue: somebody has set the workload inactive."""

    code: ClassVar[str] = "kubernetes.switched_off"


@dataclass(frozen=True)
class UnrecognisedMessage:
    """No class fits the message. `said` is the original text for the administrator, `speaker` its author."""

    code: ClassVar[str] = "kubernetes.no_words"
    speaker: str
    word: str
    said: str


KubernetesReason = (
    KueueQuotaUsed
    | KueueQuotaTooSmall
    | KueueLacksResource
    | KueueStopped
    | KueueQueueMissing
    | KueueFlavorUnfit
    | KueuePreempted
    | PodsReadyTimeout
    | WorkloadDeactivated
    | NoNodeFits
    | VolumeMissing
    | SchedulingGated
    | ImageNotPulled
    | ImageNotOnNode
    | ImageNameInvalid
    | ImageRunsAsRoot
    | ConfigMissing
    | CommandMissing
    | ContainerNotCreated
    | ContainerCrashLoops
    | ContainerOutOfMemory
    | PodEvicted
    | EphemeralStorageExceeded
    | PodRemovedFromNode
    | PodPreempted
    | UnitsUnavailable
    | NodeOutOfResource
    | NodeSilent
    | ContainerRuntimeDown
    | PodNetworkDown
    | NodeShuttingDown
    | UnrecognisedMessage
)
KUBERNETES_REASONS: dict[str, type[KubernetesReason]] = {
    kind.code: kind for kind in KubernetesReason.__args__
}

LONGEST_QUOTE = 1000


def unrecognised_message(speaker: str, word: str, said: str) -> UnrecognisedMessage:
    return UnrecognisedMessage(speaker, word, said[:LONGEST_QUOTE])


def kubernetes_reason_data(reason: KubernetesReason) -> dict[str, Any]:
    """The reason as plain JSON for a row, without unknown values."""
    return {name: _plain(value) for name, value in vars(reason).items() if value not in (None, "", ())}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
