"""A GPU job that would compute on CPUs is refused by what was built; what is not recorded is said to be assumed."""

import tomllib

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs.gpu_support import (
    EnvironmentOrImage,
    GpuSupport,
    check_gpu_support,
    gpu_support_of,
    no_gpu_reason,
)
from cluster.domain.queue.reasons import NoGpuEnvironment
from cluster.domain.states import TrainingKind, UnitKind
from worker.environments.description import DEFAULT

YES, NO, UNKNOWN = GpuSupport.YES, GpuSupport.NO, GpuSupport.UNKNOWN
MODEL, OWN = TrainingKind.BUILT_IN, TrainingKind.ADVANCED
GPU, SLOT = UnitKind.GPU, UnitKind.CPU_SLOT


@pytest.mark.parametrize(
    ("contents", "support"),
    [
        ([["tensorflow-cpu", "2.18.1", ""]], NO),
        ([["torch", "2.8.0+cpu", ""], ["numpy", "2", ""]], NO),
        ([["tensorflow", "2.18.1", ""], ["nvidia-cudnn-cu12", "9", ""]], YES),
        ([["tensorflow-cpu", "2.18.1", ""], ["torch", "2.8.0", ""], ["nvidia-nccl-cu12", "2", ""]], YES),
        ([["tensorflow", "2.18.1", ""]], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_support_is_read_from_what_was_built(contents: list[list[str]], support: GpuSupport) -> None:
    assert gpu_support_of(contents) is support


def test_what_the_product_builds_is_known() -> None:
    environment = tomllib.loads((DEFAULT / "environment.toml").read_text())["contents"]
    variants = tomllib.loads((DEFAULT / "image.toml").read_text())["variants"]
    known = {"environment": environment} | {name: each["contents"] for name, each in variants.items()}
    assert {
        name: gpu_support_of([(library, "1", "") for library in each]) for name, each in known.items()
    } == {
        "environment": NO,
        "cpu": NO,
        "cuda": YES,
    }


ON_CPUS, ON_GPUS = EnvironmentOrImage("default", NO), EnvironmentOrImage("default", YES)
IN_DOCKER = EnvironmentOrImage("default", NO, container_image="site:1")
IMAGE = EnvironmentOrImage("groundcrew-default:1", NO, is_image=True)


@pytest.mark.parametrize(
    ("ground", "kind", "training", "command", "said"),
    [
        (ON_CPUS, GPU, MODEL, (), "job.no_gpu_environment"),
        (ON_CPUS, GPU, OWN, ("train.py",), "job.no_gpu_environment"),
        (ON_CPUS, GPU, OWN, ("./train.sh",), "job.no_gpu_environment"),
        (IMAGE, GPU, OWN, ("./train.sh",), "job.no_gpu_environment"),
        (IN_DOCKER, GPU, MODEL, (), "job.no_gpu_environment"),
        (IN_DOCKER, GPU, OWN, ("train.py",), "job.no_gpu_environment"),
        (IN_DOCKER, GPU, OWN, ("python3", "train.py"), "job.no_gpu_environment"),
        (IN_DOCKER, GPU, OWN, ("/opt/conda/bin/python", "train.py"), "job.gpus_by_image"),
        (EnvironmentOrImage("default", UNKNOWN), GPU, MODEL, (), "job.gpus_assumed"),
        (EnvironmentOrImage("site:1", UNKNOWN, is_image=True), GPU, OWN, ("train.py",), "job.gpus_assumed"),
        (EnvironmentOrImage("", UNKNOWN), GPU, MODEL, (), None),
        (ON_GPUS, GPU, MODEL, (), None),
        (ON_CPUS, SLOT, MODEL, (), None),
        (EnvironmentOrImage("", YES), GPU, MODEL, (), None),
    ],
)
def test_who_asks_for_gpus_is_told(
    ground: EnvironmentOrImage,
    kind: UnitKind,
    training: TrainingKind,
    command: tuple[str, ...],
    said: str | None,
) -> None:
    if said == "job.no_gpu_environment":
        with pytest.raises(Refused) as refusal:
            check_gpu_support(ground, kind, training, command)
        assert (refusal.value.field, refusal.value.code) == ("units", said)
        assert refusal.value.data == {"name": ground.name, "image": ground.image}
    else:
        assert [each.code for each in check_gpu_support(ground, kind, training, command)] == (
            [said] if said else []
        )


@pytest.mark.parametrize(
    ("ground", "reason"),
    [
        (ON_CPUS, NoGpuEnvironment("default")),
        (IMAGE, NoGpuEnvironment("groundcrew-default:1", "groundcrew-default:1")),
        (ON_GPUS, None),
        (IN_DOCKER, None),
        (EnvironmentOrImage("", UNKNOWN), None),
    ],
)
def test_what_waits_says_why(ground: EnvironmentOrImage, reason: NoGpuEnvironment | None) -> None:
    assert no_gpu_reason(ground) == reason
