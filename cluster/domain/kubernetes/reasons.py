"""The reasons why Kubernetes does not start, or has stopped, a pod of ours: one class each with its data.

`cluster.words` says each in both languages; what Kubernetes wrote itself is kept only where nothing here fits.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from cluster.domain.kubernetes.node_reasons import (
    ContainerRuntimeDown,
    NodeOutOfResource,
    NodeShuttingDown,
    NodeSilent,
    PodNetworkDown,
)
from cluster.domain.kubernetes.pod_reasons import (
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
    NoNodeFits,
    PodEvicted,
    PodPreempted,
    PodRemovedFromNode,
    SchedulingGated,
    UnitsUnavailable,
    VolumeMissing,
)
from cluster.domain.kubernetes.queue_reasons import (
    KueueFlavorUnfit,
    KueueLacksResource,
    KueuePreempted,
    KueueQueueMissing,
    KueueQuotaTooSmall,
    KueueQuotaUsed,
    KueueStopped,
    PodsReadyTimeout,
    WorkloadDeactivated,
)


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
