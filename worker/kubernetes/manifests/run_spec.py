"""The run spec holds everything in which the manifests of two attempts may differ."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cluster.domain.jobs import notebooks


class GangKind(StrEnum):
    """How the ranks of one attempt find each other."""

    NONE = "none"
    """One pod has all of them."""
    MPI = "mpi"
    """An MPIJob: a launcher, and workers that it reaches by ssh."""
    INDEXED = "indexed"
    """An Indexed Job: pods that know their number and reach each other by name."""
    NOTEBOOK = "notebook"
    """One pod that is spoken to from outside."""


@dataclass(frozen=True)
class PodMount:
    """A folder of the shared storage, or a file in one, as the program finds it."""

    source: Path
    target: Path
    is_writable: bool = False


@dataclass(frozen=True)
class GangNode:
    """What of a gang lies on one node."""

    node: str
    """As Kubernetes calls it."""
    units: int


@dataclass(frozen=True)
class RuntimeFolder:
    """A folder of what runs inside, and the volume and the ConfigMap that it is in."""

    path: Path
    """Beneath the topmost, which is `.`."""
    digest: str
    """Of all of them: what was changed has another name."""

    @property
    def volume(self) -> str:
        """Names have no underscores in Kubernetes."""
        return "-".join(["runtime", *(each.replace("_", "-") for each in self.path.parts)])

    @property
    def config_map(self) -> str:
        return f"gc-{self.volume}-{self.digest}"


@dataclass(frozen=True)
class RunSpec:
    """One attempt. Sizes are bytes, times seconds."""

    installation: str
    workspace: int
    job: int
    attempt: int
    folder: Path
    image: str
    uid: int
    gid: int
    command: tuple[str, ...]
    """Of the pod in which the shim is."""
    members: tuple[GangNode, ...]
    gang: GangKind = GangKind.NONE
    shown: tuple[PodMount, ...] = ()
    has_gpus: bool = False
    """Its units are GPUs; else CPU slots, which are their part of processors and memory."""
    cpus: float | None = None
    """Of one unit."""
    memory: int | None = None
    """Of one unit."""
    grace: int = 30
    storage: Path = Path("/nonexistent")
    """The root of the shared storage, at this place on every node."""
    exported: str = ""
    """`server:/folder` where the nodes mount it by NFS when a pod needs it; empty: it is there already."""
    runtime: tuple[RuntimeFolder, ...] = ()
    """What runs inside."""
    port: int = notebooks.PORT
    """Of a notebook."""

    @property
    def units(self) -> int:
        return sum(member.units for member in self.members)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(member.node for member in self.members)

    @property
    def is_even(self) -> bool:
        return len({member.units for member in self.members}) == 1
