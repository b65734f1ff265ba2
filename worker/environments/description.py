"""Read the description of a training environment: environment.toml and its pinned requirements."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT = Path(__file__).parent / "default"


@dataclass(frozen=True)
class CompilerRequirement:
    """A program or a Python header that the compiler needs, and the package of the distribution that contains it."""

    package: str
    program: str | None = None
    header: str | None = None


@dataclass(frozen=True)
class SourceChange:
    """A text of the source archive that is replaced before the compilation. `file` contains it once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class CompiledPackage:
    """A package that is published only as source. Its pinned archive is `<package>.txt` in
    the description's folder.
    """

    package: str
    variables: Mapping[str, str]
    needs: tuple[CompilerRequirement, ...]
    changes: tuple[SourceChange, ...] = ()


@dataclass(frozen=True)
class DiskRequirement:
    """The free bytes that a build requires. A part counts only if it has not been made yet."""

    wheels: int
    environment: int
    compilation: int


@dataclass(frozen=True)
class EnvironmentDescription:
    folder: Path
    name: str
    pythons: tuple[str, ...]
    """The Python versions, as 3.11, with which the pins were tested."""
    variables: Mapping[str, str]
    """The environment variables of every program that runs in the environment."""
    disk: DiskRequirement
    compiled: CompiledPackage
    purposes: Mapping[str, str]
    """The code of a library's purpose, by library. Only these libraries are in the table of contents."""
    has_torch_for_cpus: bool = False
    """Whether PyTorch is installed without NVIDIA's libraries (cpu_torch.py)."""

    @property
    def requirements(self) -> Path:
        return self.folder / "requirements.txt"

    @property
    def source(self) -> Path:
        """The file that pins the source archive of the compiled package, with its hash."""
        return self.folder / f"{self.compiled.package}.txt"


def read_environment_description(folder: Path = DEFAULT) -> EnvironmentDescription:
    """Reads environment.toml. Raises KeyError, TypeError or tomllib.TOMLDecodeError if the description is wrong."""
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
        has_torch_for_cpus=read.get("torch_for_cpus", False),
    )


def select_pins(requirements: str, names: tuple[str, ...]) -> str:
    """The lines of the named packages, with their hashes, from a requirements file."""
    kept: list[str] = []
    inside = False
    for line in requirements.splitlines():
        if not line.startswith((" ", "#")):
            inside = line.split("==")[0] in names
        if inside:
            kept.append(line)
    return "\n".join(kept) + "\n"
