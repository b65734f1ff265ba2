"""Builds the default training environment by hand: ``python -m worker.environments build --uv PATH``."""

import argparse
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from worker.bootstrap.paths import find_installation_paths
from worker.environments.build import build_environment
from worker.environments.build_platform import (
    PYTHON,
    read_build_platform,
    training_environment_path,
    wheel_folder_path,
)
from worker.environments.description import DEFAULT, EnvironmentDescription, read_environment_description
from worker.environments.errors import BuildFailed
from worker.environments.manifest import is_environment_ready, read_environment_contents
from worker.environments.wheels import WheelFolder

LINE_SECONDS = 10.0
STANDS, NEEDS_COMPILER, NEEDS_NO_COMPILER = 0, 1, 3
"""The exit codes of `path`: the environment is complete, its build needs a compiler, or its build needs none."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker.environments", description=__doc__)
    parser.add_argument("verb", choices=("build", "path", "contents", "lock"))
    parser.add_argument("--description", type=Path, default=DEFAULT, help="folder with environment.toml")
    parser.add_argument(
        "--cache", type=Path, default=find_installation_paths().cache_dir, help="default: %(default)s"
    )
    parser.add_argument("--uv", default=shutil.which("uv"), help="default: the one on PATH")
    parser.add_argument("--log", type=Path, help="default: build.log in the cache")
    parser.add_argument("--compiled", type=Path, help="where a bundle has what other machines compiled")
    chosen = parser.parse_args(arguments)
    if chosen.verb != "path" and chosen.uv is None:
        parser.error("uv is not on PATH: name it with --uv")
    if chosen.verb == "lock":
        return lock_environment_requirements(chosen.description, chosen.uv)
    description = read_environment_description(chosen.description)
    if chosen.verb == "path":
        return print_environment_path(description, chosen.cache, chosen.compiled)
    try:
        log = chosen.log or chosen.cache / "build.log"
        uv = Path(chosen.uv).absolute()
        path = build_environment(
            description, chosen.cache, ProgressPrinter(), uv=uv, log=log, offered=chosen.compiled
        )
    except BuildFailed as failure:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
        return 1
    if chosen.verb == "contents":
        for library, version, purpose in read_environment_contents(path):
            print(f"{library:<16} {version:<12} {purpose}")
    else:
        print(path)
    return 0


def print_environment_path(description: EnvironmentDescription, cache: Path, offered: Path | None) -> int:
    machine = read_build_platform(PYTHON)
    path = training_environment_path(description, machine, cache)
    print(path)
    if is_environment_ready(path):
        return STANDS
    wheels = WheelFolder(wheel_folder_path(description, machine, cache), offered)
    return NEEDS_NO_COMPILER if wheels.has_compiled(description.compiled.package) else NEEDS_COMPILER


def lock_environment_requirements(folder: Path, uv: str) -> int:
    """Pin the newest versions that requirements.in allows. The pins have hashes and no address."""
    options = ["--quiet", "--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
    plain = ["--no-emit-index-url", "--no-annotate", "--no-header", "--override", "overrides.txt"]
    left_out = list_left_out_options(folder)
    command = [uv, "pip", "compile", *options, *plain, *left_out, "-o", "requirements.txt", "requirements.in"]
    return subprocess.run(command, cwd=folder, check=False).returncode


def list_left_out_options(folder: Path) -> list[str]:
    """Options of uv by which the packages of overrides.txt get no pin."""
    names = re.findall(r"^([a-z0-9-]+);", (folder / "overrides.txt").read_text(), re.MULTILINE)
    return [word for name in names for word in ("--no-emit-package", name)]


class ProgressPrinter:
    """Prints progress: one line for each step, and one every ten seconds within a step."""

    def __init__(self, place: TextIO | None = None) -> None:
        self.place = place
        self.step = ""
        self.said = 0.0
        self.began = time.monotonic()

    def __call__(self, step: str, share: float, detail: str) -> None:
        now = time.monotonic()
        if step != self.step or now - self.said >= LINE_SECONDS:
            print(
                f"{now - self.began:6.1f} s  {step:<16} {share:4.0%}  {detail}", flush=True, file=self.place
            )
            self.step, self.said = step, now


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
