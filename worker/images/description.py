"""Read the description of an image variant from image.toml and the training environment's description."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worker.environments.build_platform import BuildPlatform
from worker.environments.description import DEFAULT, EnvironmentDescription, read_environment_description

RECIPE_VERSION = "1"
"""Change it when the way of building changes, so that the image is built anew from the same description."""

VARIANTS = ("cpu", "cuda")
ENVIRONMENT_PATH = Path("/opt/groundcrew/training")
"""Where the Python environment stands inside an image."""


@dataclass(frozen=True)
class SystemPackages:
    """Packages of the distribution."""

    packages: tuple[str, ...]
    left_out: tuple[str, ...]
    compiler: tuple[str, ...]


@dataclass(frozen=True)
class ImageUser:
    """Who ranks run as where nobody says otherwise, and where its ssh server listens."""

    name: str
    number: int
    port: int


@dataclass(frozen=True)
class ImageVariant:
    """One image, whole in itself."""

    image: str
    name: str
    system: SystemPackages
    user: ImageUser
    environment: EnvironmentDescription
    """The training environment's description with this variant's requirements, purposes and way of compiling."""
    requirements: Path
    compiler_requirements: Path | None
    """Packages that the compiler needs and the image does not."""
    disk: int
    """Free bytes that a build asks for."""
    system_purposes: Mapping[str, str]
    """Of each of the distribution's packages worth a line in the table of contents: what it is for."""

    @property
    def folder(self) -> Path:
        return self.environment.folder


def read_variant(name: str, folder: Path = DEFAULT) -> ImageVariant:
    """Raises KeyError for a variant that is not described."""
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
            compiled=replace(plain.compiled, variables=own["compiled"], needs=()),
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
    """Changes with everything that changes what is built; the processor's features are part of the machine."""
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
    ]
    content.update(json.dumps([dict(each) for each in facts], sort_keys=True).encode())
    for file in list_requirement_files(variant):
        content.update(b"\0" + file.read_bytes())
    return content.hexdigest()[:12]


def list_requirement_files(variant: ImageVariant) -> tuple[Path, ...]:
    """Every file that pins something for the variant."""
    more = () if variant.compiler_requirements is None else (variant.compiler_requirements,)
    return (variant.requirements, *more, variant.environment.source)


def image_archive_path(variant: ImageVariant, machine: BuildPlatform, cache: Path) -> Path:
    return cache / f"{variant.image}-{variant.name}-{inputs_digest(variant, machine)}.tar"
