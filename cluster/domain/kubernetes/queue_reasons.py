"""Reasons why Kueue holds back or evicts a workload."""

from dataclasses import dataclass
from typing import ClassVar


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
