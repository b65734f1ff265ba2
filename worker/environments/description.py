"""Read the description of a training environment: environment.toml and its pinned requirements."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT = Path(__file__).parent / "default"


@dataclass(frozen=True)
class CompilerRequirement:
    """Something the compiler needs: a program or a header of Python, and the package that has it."""

    package: str
    program: str | None = None
    header: str | None = None


@dataclass(frozen=True)
class CompiledPackage:
    """A package that exists only as source: its pinned archive is `<package>.txt` in the folder."""

    package: str
    variables: Mapping[str, str]
    needs: tuple[CompilerRequirement, ...]


@dataclass(frozen=True)
class DiskRequirement:
    """Free bytes that a build asks for, each part only where it is still to be made."""

    wheels: int
    environment: int
    compilation: int


@dataclass(frozen=True)
class EnvironmentDescription:
    folder: Path
    name: str
    pythons: tuple[str, ...]
    """Versions that the pins were tried with, as 3.11."""
    variables: Mapping[str, str]
    """What every program in the environment has among its environment variables."""
    disk: DiskRequirement
    compiled: CompiledPackage
    purposes: Mapping[str, str]
    """Of each library worth a line in the table of contents: the code of what it is for."""

    @property
    def requirements(self) -> Path:
        return self.folder / "requirements.txt"

    @property
    def source(self) -> Path:
        """The requirement, with its hash, of what is compiled."""
        return self.folder / f"{self.compiled.package}.txt"


def read_environment_description(folder: Path = DEFAULT) -> EnvironmentDescription:
    """Raises KeyError, TypeError or tomllib.TOMLDecodeError where the description itself is wrong."""
    read = tomllib.loads((folder / "environment.toml").read_text())
    return EnvironmentDescription(
        folder=folder,
        name=read["name"],
        pythons=tuple(read["pythons"]),
        variables=read["variables"],
        disk=DiskRequirement(**read["disk"]),
        compiled=CompiledPackage(
            read["compiled"]["package"],
            read["compiled"]["variables"],
            tuple(CompilerRequirement(**need) for need in read["compiled"]["needs"]),
        ),
        purposes=read["contents"],
    )


def select_pins(requirements: str, names: tuple[str, ...]) -> str:
    """The lines of some packages, with their hashes, cut from a requirements file."""
    kept: list[str] = []
    inside = False
    for line in requirements.splitlines():
        if not line.startswith((" ", "#")):
            inside = line.split("==")[0] in names
        if inside:
            kept.append(line)
    return "\n".join(kept) + "\n"
