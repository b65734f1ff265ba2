"""Read from the sources map (inventory/group_vars/all/sources.yml) what a bundle consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CLONE = Path(__file__).resolve().parents[2]
FILE = CLONE / "inventory" / "group_vars" / "all" / "sources.yml"


TOOLKIT = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
"""Packages of one version that the role of that name installs together."""


@dataclass(frozen=True)
class Module:
    path: str
    version: str
    """As v1.34.4."""


@dataclass(frozen=True)
class AptRepository:
    """A vendor's packages: where, and the key that signs them."""

    uri: str
    suites: str
    key: str


@dataclass(frozen=True)
class VendorPackages:
    """Packages of one vendor at their pinned versions, as name=version."""

    repository: AptRepository
    packages: tuple[str, ...]


@dataclass(frozen=True)
class BundleSources:
    kubernetes: str
    """As 1.34.4."""
    kubernetes_packages: str
    """The version of its packages, as 1.34.4-1.1."""
    repository: AptRepository
    kubernetes_package_names: tuple[str, ...]
    extra_packages: tuple[str, ...]
    """Packages that the vendor's depend on and the distribution has not."""
    images: Mapping[str, str]
    manifests: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, Module]
    distribution: tuple[str, ...]
    """The packages of the distribution that the roles install."""
    vendors: Mapping[str, Mapping[str, VendorPackages]]
    """What hosts with the hardware need besides, by distribution (as debian) and name."""


def read_bundle_sources(file: Path = FILE) -> BundleSources:
    """Raises KeyError or yaml.YAMLError where the map itself is wrong."""
    every = yaml.safe_load(file.read_text())["groundcrew_sources"]
    read = every["kubernetes"]
    packages = read["packages"]
    return BundleSources(
        kubernetes=read["version"],
        kubernetes_packages=packages["version"],
        repository=_repository(packages["repository"], ""),
        kubernetes_package_names=tuple(packages["names"]),
        extra_packages=tuple(packages["beside"]),
        images=read["images"],
        manifests={
            name: tuple([addresses] if isinstance(addresses, str) else addresses)
            for name, addresses in read["manifests"].items()
        },
        modules={name: Module(*text.split()) for name, text in read["modules"].items()},
        distribution=tuple(every["bundle"]["packages"]),
        vendors={system: _vendors(every, system) for system in ("debian", "ubuntu")},
    )


def _vendors(every: dict[str, Any], system: str) -> dict[str, VendorPackages]:
    """Only those that have a repository of their own for this distribution."""
    driver, toolkit, doca = (
        every["nvidia_driver"][system],
        every["nvidia_container_toolkit"],
        every["mofed"]["doca_ofed"],
    )
    found = {
        "nvidia_container_toolkit": VendorPackages(
            _repository(toolkit["repository"], system), _pinned(TOOLKIT, toolkit["version"])
        ),
        "doca_ofed": VendorPackages(
            _repository(doca["repository"], system), _pinned(doca["packages"], doca["version"])
        ),
    }
    if driver["repository"]:
        # The open modules: the proprietary ones may not be installed beside them.
        names = [*driver["open"], *driver["tools"], driver["fabric_manager"]]
        packages = (*_pinned(names, driver["version"]), *driver["kernel"])
        found["nvidia_driver"] = VendorPackages(_repository(driver["repository"], system), packages)
    return found


def _repository(read: dict[str, Any], system: str) -> AptRepository:
    uri = read["uris"][system] if "uris" in read else read["uri"]
    return AptRepository(uri, read["suites"], read["key"])


def _pinned(names: Sequence[str], version: str) -> tuple[str, ...]:
    return tuple(f"{name}={version}" for name in names)
