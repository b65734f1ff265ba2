"""Real trainings share these fixtures: the environment of the machine's cache, the digits, an installed runtime."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.domain.built_in_models import BUILT_IN_MODELS, VariableValue, check_variables
from cluster.domain.jobs import launch
from cluster.domain.states import Launcher, UnitKind
from worker.adapters.datasets.sample_digits import write_sample_digits
from worker.adapters.job_runtime import install_runtime
from worker.bootstrap.paths import find_installation_paths
from worker.environments.build import build_environment
from worker.environments.description import read_environment_description

JOB_USER = 100_003
LIMIT_SECONDS = 240


@dataclass(frozen=True)
class TrainingRun:
    """A training that has ended; `folder` is the job's `out`."""

    folder: Path
    exit_code: int
    variables: Mapping[str, VariableValue]

    def read_output(self, rank: int = 0, stream: str = "stdout") -> str:
        return (self.folder / f"rank-{rank}.{stream}").read_text()


RunTraining = Callable[..., TrainingRun]


@pytest.fixture(scope="session")
def environment() -> Path:
    """Built where this machine has none yet: minutes the first time, nothing from then on."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.fail("uv is not on PATH: start the tests with make test")
    cache = find_installation_paths().cache_dir
    return build_environment(
        read_environment_description(),
        cache,
        lambda *_: None,
        uv=Path(uv),
        log=cache / "training-environment.log",
    )


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A folder that the user of a job may enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="groundcrew-training-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def digits(environment: Path, place: Path) -> Path:
    write_sample_digits(environment, place / "digits")
    return place / "digits"


@pytest.fixture(scope="session")
def run_training(environment: Path, place: Path, digits: Path) -> RunTraining:
    """Runs a built-in model as a job is run: launcher, rank shim, installed runtime, another user."""
    runtime = install_runtime(place / "runtime")
    interpreter = str(environment / "bin" / "python")

    def run_training(
        name: str,
        model: str,
        raw: Mapping[str, str],
        ranks: int = 2,
        dataset: Path = digits,
        meanwhile: Callable[[Path], None] = lambda out: None,
        **more: str,
    ) -> TrainingRun:
        out = place / name / "out"
        out.mkdir(parents=True)
        user = {"user": JOB_USER, "group": JOB_USER, "extra_groups": []} if os.geteuid() == 0 else {}
        if user:
            os.chown(out, JOB_USER, JOB_USER)
        variables = check_variables(BUILT_IN_MODELS[model], raw)
        plan = launch.local_launch_plan(
            Launcher.HOROVOD, interpreter, str(runtime), ranks, launch.built_in_program(interpreter, model)
        )
        told = launch.job_environment(
            1,
            1,
            ranks,
            [f"cpu-slot-{number}" for number in range(ranks)],
            UnitKind.CPU_SLOT,
            launch.JobFolders(str(runtime), str(out), str(runtime), str(dataset)),
            str(environment / "bin"),
            variables,
        )
        with (out / "launcher.log").open("wb") as log:
            flying = subprocess.Popen(
                plan.command,
                env={**told, **more},
                cwd=out,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **user,  # type: ignore[call-overload]
            )
            meanwhile(out)
            returncode = flying.wait(LIMIT_SECONDS)
        return TrainingRun(out, returncode, variables)

    return run_training
