"""Refuse a GPU job whose environment or image was built for CPUs only."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import SubmissionWarning
from cluster.domain.queue.reasons import NoGpuEnvironment
from cluster.domain.states import TrainingKind, UnitKind

CPU_ONLY_LIBRARY = "tensorflow-cpu"
GPU_LIBRARY_PREFIX = "nvidia-"
"""The prefix of NVIDIA's packages. Each build for GPUs contains some."""


class GpuSupport(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class EnvironmentOrImage:
    """The environment `name`, or an image, in which programs run. `name` is empty if there is no environment yet."""

    name: str
    support: GpuSupport
    is_image: bool = False
    container_image: str = ""
    """The container image of the Docker executor. An administrator chooses it; it has programs of its own."""

    @property
    def image(self) -> str | None:
        return self.name if self.is_image else None


def gpu_support_of(contents: Sequence[Sequence[str]]) -> GpuSupport:
    """The GPU support according to the libraries in [[library, version, purpose], …]."""
    versions = {str(library): str(version) for library, version, *_ in contents}
    if any(library.startswith(GPU_LIBRARY_PREFIX) for library in versions):
        return GpuSupport.YES
    if CPU_ONLY_LIBRARY in versions or versions.get("torch", "").endswith("+cpu"):
        return GpuSupport.NO
    return GpuSupport.UNKNOWN


def no_gpu_reason(ground: EnvironmentOrImage) -> NoGpuEnvironment | None:
    """The reason for which no job on GPUs can run, whatever its program is."""
    if ground.support is not GpuSupport.NO or ground.container_image:
        return None
    return NoGpuEnvironment(ground.name, ground.image)


def check_gpu_support(
    ground: EnvironmentOrImage, kind: UnitKind, training: TrainingKind, command: Sequence[str]
) -> tuple[SubmissionWarning, ...]:
    """Raises Refused for a GPU job that would compute on CPUs. Returns warnings that say what is assumed."""
    if kind is not UnitKind.GPU or ground.support is GpuSupport.YES or not ground.name:
        return ()
    if ground.container_image and not is_run_by_environment(training, command):
        data = {"image": ground.container_image, "program": command[0]}
        return (SubmissionWarning("units", "job.gpus_by_image", data),)
    if ground.support is GpuSupport.UNKNOWN:
        return (SubmissionWarning("units", "job.gpus_assumed", {"name": ground.name}),)
    raise Refused("units", "job.no_gpu_environment", name=ground.name, image=ground.image)


def is_run_by_environment(training: TrainingKind, command: Sequence[str]) -> bool:
    """Whether the environment runs the program (see cluster.domain.jobs.launch): models, Python files and Python
    itself.
    """
    return (
        training is TrainingKind.BUILT_IN or command[0].endswith(".py") or command[0] in ("python", "python3")
    )
