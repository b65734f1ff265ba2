"""The run spec holds everything in which the manifests of two attempts may differ."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cluster.domain.notebooks import jupyter_server


class GangKind(StrEnum):
    """The ways in which the ranks of one attempt find each other."""

    NONE = "none"
    """One pod runs all ranks."""
    MPI = "mpi"
    """An MPIJob: its launcher reaches its workers by ssh."""
    INDEXED = "indexed"
    """An Indexed Job: each pod knows its index, and pods reach each other by name."""
    NOTEBOOK = "notebook"
    """One pod that the portal connects to."""


@dataclass(frozen=True)
class PodMount:
    """A folder or file of the shared storage, and the path at which the program finds it."""

    source: Path
    target: Path
    is_writable: bool = False


@dataclass(frozen=True)
class GangNode:
    """The part of an attempt that runs on one node."""

    node: str
    """The node's name in Kubernetes."""
    units: int


@dataclass(frozen=True)
class RuntimeFolder:
    """One folder of the job runtime; a ConfigMap holds its files and a volume mounts them."""

    path: Path
    """The path relative to the runtime's root; `.` is the root itself."""
    digest: str
    """The digest of the whole runtime, so that a changed runtime gets new ConfigMaps."""

    @property
    def volume(self) -> str:
        """The volume's name. Kubernetes allows no underscores in names."""
        return "-".join(["runtime", *(each.replace("_", "-") for each in self.path.parts)])

    @property
    def config_map(self) -> str:
        return f"gc-{self.volume}-{self.digest}"


@dataclass(frozen=True)
class RunSpec:
    """The values that the manifests of one attempt need. Sizes are in bytes, times in seconds."""

    installation: str
    workspace: int
    job: int
    attempt: int
    folder: Path
    image: str
    uid: int
    gid: int
    command: tuple[str, ...]
    """The command of the pod that runs the shim."""
    members: tuple[GangNode, ...]
    gang: GangKind = GangKind.NONE
    shown: tuple[PodMount, ...] = ()
    has_gpus: bool = False
    """Whether the units are GPUs. Otherwise they are CPU slots: shares of processors and memory."""
    has_rdma: bool = False
    """Whether each pod with units also requests a share of its node's RDMA card."""
    cpus: float | None = None
    """Processors per unit."""
    memory: int | None = None
    """Bytes per unit."""
    grace: int = 30
    storage: Path = Path("/nonexistent")
    """The root of the shared storage; every node has it at this path."""
    exported: str = ""
    """`server:/folder` if nodes mount the storage by NFS for each pod; empty if every node has it mounted already."""
    runtime: tuple[RuntimeFolder, ...] = ()
    """The folders of the job runtime."""
    port: int = jupyter_server.PORT
    """The TCP port of a notebook."""

    @property
    def units(self) -> int:
        return sum(member.units for member in self.members)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(member.node for member in self.members)

    @property
    def is_even(self) -> bool:
        return len({member.units for member in self.members}) == 1
