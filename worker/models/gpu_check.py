"""Multiplies on each GPU, compares the products with the CPU's, and prints a line of JSON with the UUIDs of the GPUs.

    python -m groundcrew_models.gpu_check --gpus 8

It runs as a process or in a container, as a training does. Without GPUs the CPU computes instead, and the line says so.
Exit code 1: a GPU is missing, does not compute, or computes something else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

SIZE = 512
TOLERANCE = 0.01
"""The largest difference, as a share of the largest element. Tensor cores round to 10 bits."""
CPU = -1
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader")


class Framework(Protocol):
    """A library that computes on GPUs."""

    name: str
    errors: tuple[type[Exception], ...]
    """The errors that a framework raises if a GPU does not compute."""

    def count_gpus(self) -> int: ...

    def name_gpu(self, gpu: int) -> str: ...

    def difference(self, gpu: int) -> float:
        """Returns how far the product of GPU number `gpu` (or `CPU`) is from the CPU's, as a share of the largest
        element.
        """


class Torch:
    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.name = f"torch {self.torch.__version__}"
        self.errors = (RuntimeError,)

    def count_gpus(self) -> int:
        return int(self.torch.cuda.device_count())

    def name_gpu(self, gpu: int) -> str:
        return str(self.torch.cuda.get_device_name(gpu))

    def difference(self, gpu: int) -> float:
        torch = self.torch
        left, right = torch.rand(SIZE, SIZE), torch.rand(SIZE, SIZE)
        device = "cpu" if gpu == CPU else f"cuda:{gpu}"
        product = (left.to(device) @ right.to(device)).cpu().double()
        expected = left.double() @ right.double()
        return float((product - expected).abs().max() / expected.abs().max())


class TensorFlow:
    def __init__(self) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        # It takes only the memory that it needs, because jobs may be running.
        os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
        self.tensorflow = importlib.import_module("tensorflow")
        self.name = f"tensorflow {self.tensorflow.__version__}"
        self.errors = (self.tensorflow.errors.OpError, RuntimeError)

    def count_gpus(self) -> int:
        return len(self.tensorflow.config.list_physical_devices("GPU"))

    def name_gpu(self, gpu: int) -> str:
        device = self.tensorflow.config.list_physical_devices("GPU")[gpu]
        return str(self.tensorflow.config.experimental.get_device_details(device).get("device_name", ""))

    def difference(self, gpu: int) -> float:
        tensorflow = self.tensorflow
        with tensorflow.device("/CPU:0"):
            left, right = (tensorflow.random.uniform((SIZE, SIZE)) for _ in range(2))
            wide = [tensorflow.cast(each, tensorflow.float64) for each in (left, right)]
            expected = tensorflow.matmul(*wide)
        with tensorflow.device("/CPU:0" if gpu == CPU else f"/GPU:{gpu}"):
            product = tensorflow.matmul(left, right)
        with tensorflow.device("/CPU:0"):
            distance = tensorflow.abs(tensorflow.cast(product, tensorflow.float64) - expected)
            return float(tensorflow.reduce_max(distance) / tensorflow.reduce_max(tensorflow.abs(expected)))


FRAMEWORKS: tuple[Callable[[], Framework], ...] = (Torch, TensorFlow)


def open_frameworks(kinds: Sequence[Callable[[], Framework]] = FRAMEWORKS) -> list[Framework]:
    """Opens the frameworks that this environment has."""
    found = []
    for kind in kinds:
        try:
            found.append(kind())
        except ImportError:
            continue
    return found


def read_uuids(visible: str) -> list[str]:
    """The UUIDs of the visible GPUs in their order: as CUDA_VISIBLE_DEVICES names them, else as nvidia-smi does."""
    named = [word.strip() for word in visible.split(",") if word.strip()]
    if named and all(word.startswith("GPU-") for word in named):
        return named
    try:
        done = subprocess.run(NVIDIA_SMI, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split()


def check_gpu(framework: Framework, gpu: int, uuid: str) -> dict[str, Any]:
    """The result of one GPU: its UUID, its name, the difference from the CPU, and the problem if there is one."""
    found: dict[str, Any] = {"uuid": uuid, "name": "", "difference": None, "problem": ""}
    try:
        found["name"] = "CPU" if gpu == CPU else framework.name_gpu(gpu)
        found["difference"] = framework.difference(gpu)
    except framework.errors as error:
        found["problem"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        return found
    # A product that is no number is unequal to everything.
    if not found["difference"] <= TOLERANCE:
        found["problem"] = (
            f"the product differs from the CPU's by {found['difference']:.3g} of the largest element"
        )
        found["difference"] = None
    return found


def check_all(frameworks: Sequence[Framework], wanted: int, uuids: Sequence[str]) -> dict[str, Any]:
    """Checks that `wanted` GPUs compute. If none is wanted, the CPU computes instead (`is_simulated`)."""
    if not frameworks:
        return {
            "framework": "",
            "is_simulated": wanted == 0,
            "gpus": [],
            "problem": "neither torch nor tensorflow can be imported here",
        }
    framework = max(frameworks, key=lambda each: each.count_gpus()) if wanted else frameworks[0]
    count = framework.count_gpus() if wanted else 0
    if wanted:
        names = [*uuids, *[""] * count]
        gpus = [check_gpu(framework, gpu, names[gpu]) for gpu in range(count)]
    else:
        gpus = [check_gpu(framework, CPU, "")]
    problem = f"{wanted} GPUs are wanted and {framework.name} shows {count}" if count < wanted else ""
    bad = [
        f"{each['uuid'] or each['name'] or number}: {each['problem']}"
        for number, each in enumerate(gpus)
        if each["problem"]
    ]
    return {
        "framework": framework.name,
        "is_simulated": wanted == 0,
        "gpus": gpus,
        "problem": "; ".join(filter(None, [problem, *bad])),
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__)
    parser.add_argument(
        "--gpus", type=int, required=True, help="how many have to compute; 0: the CPU stands in"
    )
    chosen = parser.parse_args(arguments)
    uuids = read_uuids(os.environ.get("CUDA_VISIBLE_DEVICES", "")) if chosen.gpus else []
    found = check_all(open_frameworks(), chosen.gpus, uuids)
    print(json.dumps(found))
    return 1 if found["problem"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
