"""Read from the sources map (inventory/group_vars/all/sources.yml) what a bundle consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CLONE = Path(__file__).resolve().parents[2]
FILE = CLONE / "inventory" / "group_vars" / "all" / "sources.yml"


FLAVOUR = "amd64"
"""The kernel of Debian's hosts for which a bundle has packages."""
PREFERENCES = CLONE / "roles" / "nvidia_driver" / "templates" / "preferences.j2"
"""The file that the role writes on hosts, with one variable in it: the builds that it pins."""
TOOLKIT = (
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
)
"""The packages of one version that the role of this name installs together."""


@dataclass(frozen=True)
class GoModule:
    path: str
    version: str
    """The version, as v1.34.4."""


@dataclass(frozen=True)
class AptRepository:
    """A vendor's repository: its address and the key that signs its packages."""

    uri: str
    suites: str
    key: str


@dataclass(frozen=True)
class VendorPackages:
    """Packages of one vendor, as name or name=version."""

    repository: AptRepository
    packages: tuple[str, ...]
    preferences: str = ""
    """The preferences of apt that take dependencies of the pinned branch, too."""
    components: tuple[str, ...] = ()
    """The components of the distribution's archive that the packages need besides main."""


@dataclass(frozen=True)
class BundleSources:
    kubernetes: str
    """The version of Kubernetes, as 1.34.4."""
    kubernetes_packages: str
    """The version of its packages, as 1.34.4-1.1."""
    repository: AptRepository
    kubernetes_package_names: tuple[str, ...]
    extra_packages: tuple[str, ...]
    """Dependencies of the vendor's packages that the distribution does not have."""
    images: Mapping[str, str]
    manifests: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, GoModule]
    distribution: tuple[str, ...]
    """The packages of the distribution that the roles install."""
    vendors: Mapping[str, Mapping[str, VendorPackages]]
    """The packages that hosts with such hardware need in addition, by distribution (as debian) and name."""


def read_bundle_sources(file: Path = FILE) -> BundleSources:
    """Reads the sources map. Raises KeyError or yaml.YAMLError if it is wrong."""
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
        modules={name: GoModule(*text.split()) for name, text in read["modules"].items()},
        distribution=tuple(every["bundle"]["packages"]),
        vendors={system: _vendors(every, system) for system in ("debian", "ubuntu")},
    )


def _vendors(every: dict[str, Any], system: str) -> dict[str, VendorPackages]:
    """The vendors that have a repository for this distribution."""
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
        names = [*driver["kernel"], *driver["open"], driver["fabric_manager"], *driver["nvlink5"]]
        packages = tuple(name.replace("FLAVOUR", FLAVOUR) for name in names)
        found["nvidia_driver"] = VendorPackages(
            _repository(driver["repository"], system),
            packages,
            PREFERENCES.read_text().replace(
                "{{ nvidia_driver_builds }}", f"{every['nvidia_driver']['branch']}.*"
            ),
            tuple(driver["components"]),
        )
    return found


def _repository(read: dict[str, Any], system: str) -> AptRepository:
    uri = read["uris"][system] if "uris" in read else read["uri"]
    return AptRepository(uri, read["suites"], read["key"])


def _pinned(names: Sequence[str], version: str) -> tuple[str, ...]:
    return tuple(f"{name}={version}" if version else name for name in names)
