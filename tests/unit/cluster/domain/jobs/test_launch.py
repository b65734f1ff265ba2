"""The very argument lists that are executed, and the whole environment of a job."""

import json

import pytest

from cluster.domain.jobs.launch import (
    JobFolders,
    LaunchPlan,
    built_in_program,
    custom_program,
    job_environment,
    local_launch_plan,
)
from cluster.domain.states import Launcher, UnitKind

PYTHON, RUNTIME = "/cache/training/bin/python", "/state/runtime/abc"
PROGRAM = (PYTHON, "-u", "train.py", "--name", "a b", "한글", "--", "-x")
RANK = (PYTHON, "/state/runtime/abc/shim_rank.py", "--", *PROGRAM)


@pytest.mark.parametrize(
    ("launcher", "ranks", "head"),
    [
        (Launcher.HOROVOD, 2, (PYTHON, "-m", "horovod.runner.launch", "-np", "2", "--gloo")),
        (
            Launcher.TORCHRUN,
            4,
            (
                PYTHON,
                "-m",
                "torch.distributed.run",
                "--standalone",
                "--nproc-per-node",
                "4",
                "--no-python",
            ),
        ),
        (Launcher.PLAIN, 1, ()),
    ],
)
def test_each_rank_runs_inside_the_rank_shim(launcher: Launcher, ranks: int, head: tuple[str, ...]) -> None:
    plan = local_launch_plan(launcher, PYTHON, RUNTIME, ranks, PROGRAM)
    assert plan == LaunchPlan((*head, *RANK), PROGRAM, ranks)
    assert "--verbose" not in plan.command


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (("train.py", "-x"), (PYTHON, "-u", "train.py", "-x")),
        (("sub/train.py",), (PYTHON, "-u", "sub/train.py")),
        (("python", "-m", "pkg"), (PYTHON, "-m", "pkg")),
        (("python3", "x.py"), (PYTHON, "x.py")),
        (("./run.sh", "a"), ("./run.sh", "a")),
        (("nvidia-smi",), ("nvidia-smi",)),
    ],
)
def test_python_is_always_the_environments_own(command: tuple[str, ...], program: tuple[str, ...]) -> None:
    assert custom_program(PYTHON, command) == program


def test_a_built_in_model_is_a_module() -> None:
    assert built_in_program(PYTHON, "lenet") == (PYTHON, "-u", "-m", "groundcrew_models.lenet")


FOLDERS = JobFolders(RUNTIME, "/jobs/7/2/out", "/code/3/1", "/datasets/4")


def test_gpus_are_visible_by_uuid() -> None:
    environment = job_environment(7, 2, 2, ["GPU-a", "GPU-b"], UnitKind.GPU, FOLDERS, "/cache/training/bin")
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"
    assert environment["GROUNDCREW_UNITS"] == "GPU-a,GPU-b"
    assert environment["GROUNDCREW_RANKS"] == "2"
    assert environment["PATH"].startswith("/cache/training/bin:")


def test_cpu_slots_hide_every_gpu() -> None:
    variables = {"epochs": 3, "이름": "값"}
    environment = job_environment(7, 2, 1, ["cpu-0"], UnitKind.CPU_SLOT, FOLDERS, "/bin", variables)
    assert environment["CUDA_VISIBLE_DEVICES"] == ""
    assert json.loads(environment["GROUNDCREW_VARIABLES"]) == variables
    assert environment["GROUNDCREW_VARIABLES"].isascii()
    assert (environment["GROUNDCREW_JOB"], environment["GROUNDCREW_ATTEMPT"]) == ("7", "2")
    assert environment["GROUNDCREW_DATASET"] == "/datasets/4"
    assert environment["HOME"] == environment["GROUNDCREW_OUT"] == "/jobs/7/2/out"
    assert environment["PYTHONPATH"] == RUNTIME


def test_a_user_who_is_a_number_has_a_name() -> None:
    told = job_environment(7, 1, 1, ["cpu-0"], UnitKind.CPU_SLOT, FOLDERS, "/bin")
    assert told["USER"] == told["LOGNAME"] == "job-7"
