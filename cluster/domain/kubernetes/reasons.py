"""The reasons why Kubernetes does not start, or has stopped, a pod of ours: one class each with its data.

`cluster.words` says each in both languages; what Kubernetes wrote itself is kept only where nothing here fits.
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
    """Its kubelet does not report; what runs there may go on running."""

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
    """kube-scheduler: none of `nodes` takes it. `causes` are {code, data}, most nodes first.

    `chosen` are those to which the pod is bound; where they are known the causes are theirs alone.
    """

    code: ClassVar[str] = "kubernetes.nodes_refuse"
    nodes: int
    causes: tuple[Mapping[str, Any], ...]
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class VolumeMissing:
    """The claim, or the volume that it wants, is not there."""

    code: ClassVar[str] = "kubernetes.volume_missing"
    name: str = ""


@dataclass(frozen=True)
class SchedulingGated:
    """Something keeps the pod from being looked at; with us that is Kueue, until it admits it."""

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
    """The image runs as root, and workspaces may not."""

    code: ClassVar[str] = "kubernetes.image_is_root"
    image: str
    container: str


@dataclass(frozen=True)
class ConfigMissing:
    """A secret or a config map that the container reads is not there."""

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
    """Neither a name nor an image is what is wrong: the engine of the node refused."""

    code: ClassVar[str] = "kubernetes.container_not_made"
    container: str
    node: str


@dataclass(frozen=True)
class ContainerCrashLoops:
    """It ends as soon as it has begun, and the kubelet pauses in between."""

    code: ClassVar[str] = "kubernetes.keeps_crashing"
    container: str
    times: int


@dataclass(frozen=True)
class ContainerOutOfMemory:
    """`limit` as the pod has it, `4Gi`; empty: the node itself was full."""

    code: ClassVar[str] = "kubernetes.out_of_memory"
    container: str
    node: str
    limit: str = ""


@dataclass(frozen=True)
class PodEvicted:
    """The kubelet took it off the node, which had too little of `resource`."""

    code: ClassVar[str] = "kubernetes.evicted"
    resource: str
    node: str
    container: str = ""
    used: str = ""


@dataclass(frozen=True)
class EphemeralStorageExceeded:
    """It wrote more into the container or a scratch volume than it may."""

    code: ClassVar[str] = "kubernetes.disk_allowance_used"
    limit: str
    node: str


@dataclass(frozen=True)
class PodRemovedFromNode:
    """Somebody drained the node, or it went away: its pods were deleted."""

    code: ClassVar[str] = "kubernetes.taken_off"
    node: str


@dataclass(frozen=True)
class PodPreempted:
    """kube-scheduler made room for a pod of higher priority."""

    code: ClassVar[str] = "kubernetes.pushed_out"
    node: str


@dataclass(frozen=True)
class UnitsUnavailable:
    """The kubelet has fewer units to give than the scheduler believed: a stranger's pod, or one that broke."""

    code: ClassVar[str] = "kubernetes.units_taken"
    resource: str
    node: str
    needed: int
    free: int


@dataclass(frozen=True)
class KueueQuotaUsed:
    """Kueue: the workspace's queue has too little left. Quantities are Kubernetes' own, as `2` or `3Gi`."""

    code: ClassVar[str] = "kubernetes.queue_full"
    resource: str
    flavor: str
    lacking: str


@dataclass(frozen=True)
class KueueQuotaTooSmall:
    """Kueue: the queue could not hold it even when empty."""

    code: ClassVar[str] = "kubernetes.queue_too_small"
    resource: str
    flavor: str
    needed: str
    most: str


@dataclass(frozen=True)
class KueueLacksResource:
    """Kueue: the queue has no such resource at all."""

    code: ClassVar[str] = "kubernetes.queue_lacks"
    resource: str
    queue: str = ""


@dataclass(frozen=True)
class KueueStopped:
    """Kueue: somebody or the end of the term has stopped the queue."""

    code: ClassVar[str] = "kubernetes.queue_stopped"
    queue: str = ""


@dataclass(frozen=True)
class KueueQueueMissing:
    """Kueue: the queue, or its right to the workspace's namespace, is not there."""

    code: ClassVar[str] = "kubernetes.queue_missing"
    queue: str = ""


@dataclass(frozen=True)
class KueueFlavorUnfit:
    """Kueue: nodes of this kind do not take it: a taint, a label, or the kind is gone."""

    code: ClassVar[str] = "kubernetes.flavor_unfit"
    flavor: str


@dataclass(frozen=True)
class KueuePreempted:
    """Kueue took it back for a workload of another queue or of higher priority."""

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
    """Nothing here recognises it. `said` is the original, for the administrator; `speaker` who said it."""

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
    """Plain JSON for a row; nothing that is not known."""
    return {name: _plain(value) for name, value in vars(reason).items() if value not in (None, "", ())}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
