"""The order of an environment from requirements, what the installation allows its build, and the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.jobs.unix_ids import UnixIds
from worker.environments.command_runner import ignore_tick
from worker.environments.from_requirements.confinement import BuildLimits
from worker.environments.from_requirements.installed_files import InstalledFiles
from worker.environments.from_requirements.package_source import PackageSource


@dataclass(frozen=True)
class EnvironmentOrder:
    """The environment to build, and its folder. `pins` are those of an earlier build that is to be repeated."""

    target: Path
    requirements: str
    python: str = ""
    pins: str = ""
    builds_sources: bool = False
    base: Path | None = None
    """A finished environment of which it is a copy; the requirements are installed into the copy, without what they
    need besides.
    """
    base_digest: str = ""


@dataclass(frozen=True)
class BuildRules:
    """The rules of the installation for a build."""

    source: PackageSource
    ids: UnixIds | None
    hidden: Sequence[Path] = ()
    limits: BuildLimits = BuildLimits()
    check_room: Callable[[], None] = ignore_tick


@dataclass(frozen=True)
class BuiltEnvironment:
    """The result: the digest and Python's whole version, and the pins from which it can be installed again."""

    digest: str
    pins: str
    python: str
    files: InstalledFiles
