"""The check multiplies on each GPU and tells those that are missing, fail, or compute something else."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worker.models import gpu_check

UUIDS = ["GPU-1", "GPU-2"]


class FakeFramework:
    """Each GPU gives this difference, or raises."""

    name = "fake 1.0"
    errors = (RuntimeError,)

    def __init__(self, *answers: float | Exception) -> None:
        self.answers = answers

    def count_gpus(self) -> int:
        return len(self.answers)

    def name_gpu(self, gpu: int) -> str:
        return f"Fake {gpu}"

    def difference(self, gpu: int) -> float:
        answer = 0.0 if gpu == gpu_check.CPU else self.answers[gpu]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ((1e-6, 2e-3), ""),
        ((1e-6,), "2 GPUs are wanted and fake 1.0 shows 1"),
        ((), "2 GPUs are wanted and fake 1.0 shows 0"),
        ((1e-6, 0.5), "GPU-2: the product differs from the CPU's by 0.5 of the largest element"),
        ((math.nan, 1e-6), "GPU-1: the product differs from the CPU's by nan of the largest element"),
        ((1e-6, RuntimeError("CUDA error: 802\nmore")), "GPU-2: CUDA error: 802"),
    ],
)
def test_each_gpu_has_to_compute_what_the_cpu_does(answers: tuple[Any, ...], problem: str) -> None:
    found = gpu_check.check_all([FakeFramework(*answers)], 2, UUIDS)
    assert found["problem"] == problem and found["is_simulated"] is False
    assert [each["uuid"] for each in found["gpus"]] == UUIDS[: len(answers)]
    assert "NaN" not in json.dumps(found)


def test_the_framework_that_sees_the_gpus_is_the_one_that_computes() -> None:
    blind, seeing = FakeFramework(), FakeFramework(0.0)
    assert gpu_check.check_all([blind, seeing], 1, UUIDS)["problem"] == ""
    assert "neither torch nor tensorflow" in gpu_check.check_all([], 1, UUIDS)["problem"]


def test_without_gpus_the_cpu_stands_in_and_says_so() -> None:
    found = gpu_check.check_all([FakeFramework()], 0, [])
    assert found["is_simulated"] and found["problem"] == ""
    assert [each["name"] for each in found["gpus"]] == ["CPU"]


def test_gpus_are_named_by_their_uuids() -> None:
    assert gpu_check.read_uuids("GPU-1, GPU-2") == UUIDS


def test_an_environment_without_frameworks_says_so() -> None:
    path = Path(gpu_check.__file__)
    done = subprocess.run(
        [sys.executable, "-I", str(path), "--gpus", "0"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == 1 and "neither torch nor tensorflow" in json.loads(done.stdout)["problem"]
