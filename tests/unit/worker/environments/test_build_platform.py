"""The facts of this machine are read."""

import re
from dataclasses import replace
from pathlib import Path

from worker.environments.build_platform import (
    read_build_platform,
    training_environment_digest,
    training_environment_path,
    wheel_folder_path,
)
from worker.environments.description import read_environment_description


def test_this_machine_is_read() -> None:
    machine = read_build_platform()
    assert machine.libc.startswith("glibc-")
    assert re.fullmatch(r"3\.\d+", machine.python)


def test_wheels_and_environments_have_folders_by_what_they_are_built_from(tmp_path: Path) -> None:
    machine, description = read_build_platform(), read_environment_description()
    wheels = wheel_folder_path(description, machine, tmp_path)
    assert wheels.parent == tmp_path and re.fullmatch(r"wheels-[0-9a-f]{12}", wheels.name)
    assert wheel_folder_path(description, machine, tmp_path) == wheels
    assert wheel_folder_path(description, replace(machine, architecture="other"), tmp_path) != wheels
    variables = {**description.compiled.variables, "CXX": "other"}
    compiled = replace(description.compiled, variables=variables)
    assert wheel_folder_path(replace(description, compiled=compiled), machine, tmp_path) != wheels
    environment = training_environment_path(description, machine, tmp_path)
    assert environment.name == f"training-{training_environment_digest(description, machine)}"
    assert training_environment_path(description, replace(machine, libc="other"), tmp_path) != environment
