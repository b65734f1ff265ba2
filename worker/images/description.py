"""Read the description of an image variant from image.toml and the training environment's description."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worker.environments.build_platform import BuildPlatform
from worker.environments.description import (
    DEFAULT,
    EnvironmentDescription,
    SourceChange,
    read_environment_description,
)

RECIPE_VERSION = "1"
"""Increase it when the way of building changes: then the image is built again from the same description."""

VARIANTS = ("cpu", "cuda")
ENVIRONMENT_PATH = Path("/opt/groundcrew/training")
"""The path of the Python environment inside an image."""


@dataclass(frozen=True)
class SystemPackages:
    """Packages of the distribution, and patterns of their files that are left out."""

    packages: tuple[str, ...]
    left_out: tuple[str, ...]
    compiler: tuple[str, ...]


@dataclass(frozen=True)
class ImageUser:
    """The user as which ranks run by default, and the port of its ssh server."""

    name: str
    number: int
    port: int


@dataclass(frozen=True)
class ImageVariant:
    """The complete description of one image."""

    image: str
    name: str
    system: SystemPackages
    user: ImageUser
    environment: EnvironmentDescription
    """The training environment's description with the requirements, purposes and compiler
    settings of this variant.
    """
    requirements: Path
    compiler_requirements: Path | None
    """Pins of packages that only the compiler needs and that are not in the image."""
    disk: int
    """The free bytes that a build requires."""
    system_purposes: Mapping[str, str]
    """The code of a distribution package's purpose, by package. Only these are in the table of contents."""

    @property
    def folder(self) -> Path:
        return self.environment.folder


def read_variant(name: str, folder: Path = DEFAULT) -> ImageVariant:
    """Reads image.toml. Raises KeyError if the variant is not described."""
    read = tomllib.loads((folder / "image.toml").read_text())
    own = read["variants"][name]
    plain = read_environment_description(folder)
    return ImageVariant(
        image=read["name"],
        name=name,
        system=parse_system(read["system"]),
        user=ImageUser(**read["user"]),
        environment=replace(
            plain,
            purposes=own["contents"],
            has_torch_for_cpus=own.get("torch_for_cpus", False),
            compiled=replace(
                plain.compiled,
                variables=own["compiled"],
                needs=(),
                changes=tuple(SourceChange(**change) for change in own.get("source_changes", ())),
            ),
        ),
        requirements=folder / own["requirements"],
        compiler_requirements=folder / own["compiler_requirements"]
        if "compiler_requirements" in own
        else None,
        disk=read["system"]["disk"] + own.get("more_disk", 0),
        system_purposes={**read["system_contents"], **own.get("system_contents", {})},
    )


def parse_system(read: Mapping[str, Any]) -> SystemPackages:
    return SystemPackages(**{key: tuple(read[key]) for key in ("packages", "left_out", "compiler")})


def inputs_digest(variant: ImageVariant, machine: BuildPlatform) -> str:
    """A digest of everything that has an effect on the built image, including the processor's features."""
    content = hashlib.sha256(json.dumps([RECIPE_VERSION, asdict(machine)], sort_keys=True).encode())
    content.update(
        json.dumps([variant.image, variant.name, asdict(variant.system), asdict(variant.user)]).encode()
    )
    environment = variant.environment
    facts = [
        environment.compiled.variables,
        environment.variables,
        environment.purposes,
        variant.system_purposes,
        {"torch_for_cpus": environment.has_torch_for_cpus},
        {"source_changes": list(map(repr, environment.compiled.changes))},
    ]
    content.update(json.dumps([dict(each) for each in facts], sort_keys=True).encode())
    for file in list_requirement_files(variant):
        content.update(b"\0" + file.read_bytes())
    return content.hexdigest()[:12]


def list_requirement_files(variant: ImageVariant) -> tuple[Path, ...]:
    """All files that pin something for the variant."""
    more = () if variant.compiler_requirements is None else (variant.compiler_requirements,)
    return (variant.requirements, *more, variant.environment.source)


def image_archive_path(variant: ImageVariant, machine: BuildPlatform, cache: Path) -> Path:
    return cache / f"{variant.image}-{variant.name}-{inputs_digest(variant, machine)}.tar"
