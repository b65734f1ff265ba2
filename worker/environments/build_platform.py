"""Read the build platform of this machine and derive the names of environments and wheel folders from it."""

import hashlib
import json
import platform
import subprocess
from dataclasses import astuple, dataclass
from pathlib import Path

from worker.environments.description import EnvironmentDescription

PYTHON = Path("/usr/bin/python3")
"""The interpreter of the distribution, which every user may run. The first `python3` on PATH may be another one."""

RECIPE_VERSION = "1"
"""Increase it when the way of building changes: then everything is built again from the same requirements."""

# Horovod's build asks the compiler for these features and uses those that this machine has.
CPU_FEATURES = ("avx", "f16c", "fma")

_ASK = """
import json, os, sys, sysconfig
print(json.dumps({
    "version": "%d.%d" % sys.version_info[:2],
    "include": sysconfig.get_path("include"),
    "library": sysconfig.get_path("stdlib"),
}))
"""


@dataclass(frozen=True)
class BuildPlatform:
    system: str
    architecture: str
    libc: str
    cpu: tuple[str, ...]
    python: str
    """The version without its last part, as 3.11, because a build still works after a small update of the
    distribution.
    """


def read_build_platform(python: Path = PYTHON) -> BuildPlatform:
    release = platform.freedesktop_os_release()
    return BuildPlatform(
        system=f"{release.get('ID', 'linux')}-{release.get('VERSION_ID', '')}",
        architecture=platform.machine(),
        libc="-".join(platform.libc_ver()),
        cpu=_cpu_features(),
        python=read_python_facts(python)["version"],
    )


def read_python_facts(python: Path) -> dict[str, str]:
    """Asks an interpreter that is not ours for its `version` (as 3.11), its `include` folder and its `library`
    folder.
    """
    answer = subprocess.run([python, "-I", "-c", _ASK], capture_output=True, text=True, check=True)
    facts: dict[str, str] = json.loads(answer.stdout)
    return facts


def training_environment_digest(description: EnvironmentDescription, machine: BuildPlatform) -> str:
    """A digest that differs if anything differs that has an effect on the built environment, and only then."""
    return _digest(
        machine, [description.folder / "environment.toml", description.requirements, description.source]
    )


def training_environment_path(
    description: EnvironmentDescription, machine: BuildPlatform, cache: Path
) -> Path:
    return cache / f"training-{training_environment_digest(description, machine)}"


def wheel_folder_path(description: EnvironmentDescription, machine: BuildPlatform, cache: Path) -> Path:
    """The folder of the packages from which the environment is installed. A new table of
    contents does not change it.
    """
    more = json.dumps(dict(description.compiled.variables), sort_keys=True)
    more += "".join(map(repr, description.compiled.changes))
    return cache / f"wheels-{_digest(machine, [description.requirements, description.source], more)}"


def _digest(machine: BuildPlatform, files: list[Path], more: str = "") -> str:
    content = hashlib.sha256(repr((RECIPE_VERSION, astuple(machine), more)).encode())
    for file in files:
        content.update(b"\0" + file.name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()[:12]


def _cpu_features() -> tuple[str, ...]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return tuple(sorted(set(CPU_FEATURES) & set(line.split())))
    return ()
