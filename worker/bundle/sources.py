"""The part of the sources map that a bundle is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
FILE = CHECKOUT / "inventory" / "group_vars" / "all" / "sources.yml"


@dataclass(frozen=True)
class Module:
    path: str
    version: str
    """As v1.34.4."""


@dataclass(frozen=True)
class Repository:
    """A vendor's packages: where, and the key that signs them."""

    uri: str
    suites: str
    key: str


@dataclass(frozen=True)
class Sources:
    kubernetes: str
    """As 1.34.4."""
    kubernetes_packages: str
    """The version of its packages, as 1.34.4-1.1."""
    repository: Repository
    names: tuple[str, ...]
    beside: tuple[str, ...]
    """Packages that the vendor's depend on and the distribution has not."""
    images: Mapping[str, str]
    manifests: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, Module]
    distribution: tuple[str, ...]
    """The packages of the distribution that the roles install."""


def read_sources(file: Path = FILE) -> Sources:
    """Raises KeyError or yaml.YAMLError where the map itself is wrong."""
    every = yaml.safe_load(file.read_text())["groundcrew_sources"]
    read = every["kubernetes"]
    packages = read["packages"]
    place = packages["repository"]
    return Sources(
        kubernetes=read["version"],
        kubernetes_packages=packages["version"],
        repository=Repository(place["uri"], place["suites"], place["key"]),
        names=tuple(packages["names"]),
        beside=tuple(packages["beside"]),
        images=read["images"],
        manifests={
            name: tuple([addresses] if isinstance(addresses, str) else addresses)
            for name, addresses in read["manifests"].items()
        },
        modules={name: Module(*text.split()) for name, text in read["modules"].items()},
        distribution=tuple(every["bundle"]["packages"]),
    )
