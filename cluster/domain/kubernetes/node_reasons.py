"""Reasons why a node takes no pod."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar


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
