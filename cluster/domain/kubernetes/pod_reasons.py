"""Reasons why a pod has no node, is not started by the kubelet, or was removed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


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
