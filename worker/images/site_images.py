"""Build or find the default images of a site and push them into its registry.

The settings are the JSON that the role `default_image` writes, so that the role and the repair do the same.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from cluster.domain.images import DefaultImage
from cluster.files import safe_files
from worker.environments.build_platform import PYTHON, read_build_platform
from worker.environments.build_steps import ProgressCallback
from worker.environments.errors import BuildFailed
from worker.images.build import build_image
from worker.images.description import VARIANTS, image_archive_path, read_variant
from worker.images.image_record import read_image_record
from worker.images.registry_storage import delete_damaged_blobs
from worker.images.site_registry import RegistryFailed, SiteRegistry

SITE_SETTINGS = Path("/etc/groundcrew/registry/images.json")


@dataclass(frozen=True)
class ImageSite:
    registry: SiteRegistry
    variants: tuple[str, ...]
    cache: Path
    """The folder in which images are built."""
    wheels: Path
    """The cache of training environments whose wheels are used."""
    bundle: Path | None
    """A bundle's folder of images. If there is one, nothing is built."""
    uv: Path
    log: Path
    storage: Path | None = None
    """The folder in which the registry on this machine keeps its files."""


def read_image_site(settings: Path = SITE_SETTINGS) -> ImageSite:
    """Reads the settings. Raises FileNotFoundError if no role has written the file, KeyError or ValueError if it is
    wrong.
    """
    read = json.loads(settings.read_text())
    unknown = set(read["variants"]) - set(VARIANTS)
    if unknown:
        raise ValueError(f"no such variant: {', '.join(sorted(unknown))}")
    return ImageSite(
        registry=SiteRegistry(read["registry"], Path(read["trust"]), Path(read["password"])),
        variants=tuple(read["variants"]),
        cache=Path(read["cache"]),
        wheels=Path(read["wheels"]),
        bundle=Path(read["bundle"]) if read["bundle"] else None,
        uv=Path(read["uv"]),
        log=Path(read["log"]),
        storage=Path(read["storage"]) if read.get("storage") else None,
    )


def ensure_archives(site: ImageSite, report: ProgressCallback) -> bool:
    """Builds the archives that are missing, and returns whether there were any. Raises BuildFailed.

    Root builds here what nodes run, so no other user may be able to replace the folders.
    """
    if site.bundle is not None:
        return False
    for place in (site.cache, site.log):
        if changeable := safe_files.find_replaceable_part(place):
            raise BuildFailed("environment.place_of_another", path=changeable, log="")
    missing = [name for name in site.variants if find_archive(site, name) is None]
    for name in missing:
        build_image(read_variant(name), site.cache, report, uv=site.uv, log=site.log, known=site.wheels)
    return bool(missing)


def find_archive(site: ImageSite, variant: str) -> tuple[Path, DefaultImage] | None:
    described = read_variant(variant)
    if site.bundle is not None:
        archive = site.bundle / f"{described.image}-{variant}.tar"
    else:
        archive = image_archive_path(described, read_build_platform(PYTHON), site.cache)
    record = read_image_record(archive)
    return (archive, record) if record else None


def list_archives(site: ImageSite) -> list[tuple[Path, DefaultImage]]:
    """The archives of all variants. Raises RegistryFailed if one is neither built nor in the bundle."""
    found = []
    for variant in site.variants:
        archive = find_archive(site, variant)
        if archive is None:
            place = site.bundle or site.cache
            raise RegistryFailed("registry.no_archive", variant=variant, path=str(place))
        found.append(archive)
    return found


def push_missing_images(site: ImageSite, is_thorough: bool = False) -> bool:
    """Pushes what is missing or damaged in the registry, and returns whether anything was. Raises RegistryFailed."""
    found = list_archives(site)
    if site.storage is not None:
        for archive, record in found:
            delete_damaged_blobs(site.storage, archive, record, is_thorough)
    lacking = [(archive, record) for archive, record in found if site.registry.list_missing_digests(record)]
    for archive, record in lacking:
        site.registry.push_archive(archive, record)
    return bool(lacking)


def list_missing_images(site: ImageSite) -> list[str]:
    """The names of the images that the registry cannot deliver completely. Raises RegistryFailed."""
    return [
        f"{record.name}-{record.variant}"
        for _, record in list_archives(site)
        if site.registry.list_missing_digests(record)
    ]
