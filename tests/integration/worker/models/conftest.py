"""Runs a program in the training environment, with the built-in models as a job finds them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.conftest import environment as environment
from worker.adapters.job_runtime import install_runtime
from worker.environments.manifest import read_environment_variables

RunModels = Callable[..., str]


@pytest.fixture(scope="session")
def run_models(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> RunModels:
    """Called with a program and its arguments; returns what it prints."""
    runtime = install_runtime(tmp_path_factory.mktemp("runtime"))

    def run(program: str, *arguments: object) -> str:
        variables = read_environment_variables(environment) | {"PYTHONPATH": str(runtime)}
        python = environment / "bin" / "python"
        done = subprocess.run(
            [python, "-c", program, *map(str, arguments)],
            env=variables, check=True, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        return done.stdout

    return run
