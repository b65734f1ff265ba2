"""Maps paths of this machine to the paths under which a program finds them. For a process they are the same; in a
container or pod they are fixed.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cluster.domain.executors import ExecutorCapabilities
from worker.executors.contract import Mount
from worker.executors.docker_request import FOLDER_INSIDE, RUNTIME_INSIDE
from worker.images.description import ENVIRONMENT_PATH

CONTAINER_ROOT = Path("/groundcrew")


class PathMapping(Protocol):
    mounts: list[Mount]
    """The mounts that a container needs so that the mapped paths exist."""

    def map_path(self, path: Path, name: str) -> Path:
        """The path under which the program finds `path`. `name` is its unique name within the attempt."""
        ...

    def map_writable(self, path: Path, name: str) -> Path:
        """Maps a folder that the program may write and that belongs to the job's user, as `map_path` does."""
        ...

    def map_runtime(self, runtime: Path) -> Path: ...

    def map_environment(self, environment: Path) -> Path: ...

    def map_attempt(self, folder: Path) -> Path: ...


@dataclass
class HostPaths:
    """The mapping for a process, which finds everything under the machine's own paths."""

    mounts: list[Mount] = field(default_factory=list)
    visible: list[Path] = field(default_factory=list)
    """The paths that a sandbox has to keep visible."""
    written: list[Path] = field(default_factory=list)
    """The paths that the program may write."""

    def map_path(self, path: Path, name: str) -> Path:
        return self._keep(path)

    def map_writable(self, path: Path, name: str) -> Path:
        self.written.append(path)
        return path

    def map_runtime(self, runtime: Path) -> Path:
        return self._keep(runtime)

    def map_environment(self, environment: Path) -> Path:
        return self._keep(environment)

    def map_attempt(self, folder: Path) -> Path:
        return folder

    def _keep(self, path: Path) -> Path:
        self.visible.append(path)
        return path


@dataclass
class ContainerPaths:
    """The mapping for a container: the same few paths in every container."""

    mounts: list[Mount] = field(default_factory=list)

    def map_path(self, path: Path, name: str) -> Path:
        return self._give(path, CONTAINER_ROOT / name)

    def map_writable(self, path: Path, name: str) -> Path:
        self.mounts.append(Mount(path, CONTAINER_ROOT / name, is_writable=True))
        return CONTAINER_ROOT / name

    def map_runtime(self, runtime: Path) -> Path:
        return self._give(runtime, RUNTIME_INSIDE)

    def map_environment(self, environment: Path) -> Path:
        """Keeps the path of a Python environment, because its programs contain it. The image needs the same Python in
        /usr/bin.
        """
        return self._give(environment, environment) if environment.is_dir() else environment

    def map_attempt(self, folder: Path) -> Path:
        """The attempt's folder. The executor itself mounts `control` and `out`."""
        return FOLDER_INSIDE

    def _give(self, path: Path, target: Path) -> Path:
        self.mounts.append(Mount(path, target))
        return target


@dataclass
class PodPaths(ContainerPaths):
    """The mapping for a pod: as in a container, but its node has no file of the master, so the job runtime comes from
    ConfigMaps.
    """

    def map_runtime(self, runtime: Path) -> Path:
        return RUNTIME_INSIDE

    def map_environment(self, environment: Path) -> Path:
        return ENVIRONMENT_PATH


def path_mapping_of(executor: ExecutorCapabilities) -> PathMapping:
    if not executor.needs_image:
        return HostPaths()
    return PodPaths() if executor.has_environment_in_image else ContainerPaths()
