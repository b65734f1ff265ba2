"""Maps paths of this machine to the paths under which a program finds them: unchanged for a process, fixed ones in a
container or pod."""

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
    """What has to be given to a container so that the shown paths are there."""

    def map_path(self, path: Path, name: str) -> Path:
        """The path under which the program finds it; `name` is its own within the attempt."""
        ...

    def map_runtime(self, runtime: Path) -> Path: ...

    def map_environment(self, environment: Path) -> Path: ...

    def map_attempt(self, folder: Path) -> Path: ...


@dataclass
class HostPaths:
    """A process finds everything where it lies on the machine."""

    mounts: list[Mount] = field(default_factory=list)
    visible: list[Path] = field(default_factory=list)
    """What a sandbox has to leave in sight."""

    def map_path(self, path: Path, name: str) -> Path:
        return self._keep(path)

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
    """The same few paths in every container, whatever the machine calls them."""

    mounts: list[Mount] = field(default_factory=list)

    def map_path(self, path: Path, name: str) -> Path:
        return self._give(path, CONTAINER_ROOT / name)

    def map_runtime(self, runtime: Path) -> Path:
        return self._give(runtime, RUNTIME_INSIDE)

    def map_environment(self, environment: Path) -> Path:
        """At the same place, for its programs name it: the image needs the same Python in /usr/bin."""
        return self._give(environment, environment) if environment.is_dir() else environment

    def map_attempt(self, folder: Path) -> Path:
        """The executor gives its two folders itself, to write."""
        return FOLDER_INSIDE

    def _give(self, path: Path, target: Path) -> Path:
        self.mounts.append(Mount(path, target))
        return target


@dataclass
class PodPaths(ContainerPaths):
    """As in a container, on a node that has nothing of the master's: what runs inside comes with the pod."""

    def map_runtime(self, runtime: Path) -> Path:
        return RUNTIME_INSIDE

    def map_environment(self, environment: Path) -> Path:
        return ENVIRONMENT_PATH


def path_mapping_of(executor: ExecutorCapabilities) -> PathMapping:
    if not executor.needs_image:
        return HostPaths()
    return PodPaths() if executor.has_environment_in_image else ContainerPaths()
