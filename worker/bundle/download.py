"""The collector `download` fetches Kubernetes' packages and images from their publishers or a site's mirrors.

The distribution's packages and the wheels come as with `build`.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cluster.files.atomic import write_atomically
from worker.bundle import kubernetes_manifests
from worker.bundle.apt_packages import fetch_with_dependencies, find_distribution_sources
from worker.bundle.assembly import BundleAssembly, assemble_bundle
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.check import this_system
from worker.bundle.image_downloads import download_image
from worker.bundle.manifest import BundleFileKind, image_file_name
from worker.bundle.mirrors import MirrorClient
from worker.bundle.shared_parts import BUNDLE_PARTS, add_default_image, add_distribution_packages
from worker.bundle.sources import AptRepository, BundleSources
from worker.bundle.wheels import add_wheels

LICENCE = "Apache-2.0"
"""Of Kubernetes and of every add-on of ours; what else is in a publisher's image, the image itself says."""


def download_bundle(
    target: Path,
    sources: BundleSources,
    shop: BuildCache,
    product: str,
    now: datetime,
    fetcher: MirrorClient,
    parts: Sequence[str] = BUNDLE_PARTS,
    vendors: Sequence[str] = (),
) -> None:
    """Raises CollectingFailed; what was fetched until then is kept for the next run."""
    system = this_system()
    with shop.hold_lock(), assemble_bundle(target, shop, "download", product, [system], now) as assembly:
        if "images" in parts:
            add_downloaded_images(assembly, sources, fetcher, shop)
        if "packages" in parts:
            add_downloaded_packages(assembly, sources, system, vendors, fetcher, shop)
            assembly.add_apt_index(system, now)
        if "manifests" in parts:
            add_downloaded_manifests(assembly, sources, fetcher, shop)
        if "wheels" in parts:
            add_wheels(assembly, shop)
        if "default-image" in parts:
            add_default_image(assembly, shop)


def add_downloaded_images(
    assembly: BundleAssembly, sources: BundleSources, fetcher: MirrorClient, shop: BuildCache
) -> None:
    for reference in sorted(sources.images.values()):
        folder = shop.cache / f"pulled-{image_file_name(reference)}"
        digest = folder / "digest"
        if not digest.exists():
            shop.report("pulling {name}", name=reference)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(digest, download_image(reference, folder / "image.tar", fetcher), 0o644)
        source = f"{reference.rpartition(':')[0]}@{digest.read_text()}"
        version = reference.rpartition(":")[2]
        assembly.add_image(folder / "image.tar", reference, licence=LICENCE, version=version, source=source)


def add_downloaded_packages(
    assembly: BundleAssembly,
    sources: BundleSources,
    system: str,
    vendors: Sequence[str],
    fetcher: MirrorClient,
    shop: BuildCache,
) -> None:
    """One closure over the distribution and the vendors, so that versions fit each other."""
    known = sources.vendors[system.partition("-")[0]]
    if unknown := set(vendors) - set(known):
        raise CollectingFailed(
            f"{system} has no repository of {', '.join(sorted(unknown))}: it has {', '.join(known)}."
        )
    names = [
        *sources.distribution,
        *sources.extra_packages,
        *(f"{name}={sources.kubernetes_packages}" for name in sources.kubernetes_package_names),
    ]
    folder = shop.cache / f"apt-{system}-download"
    folder.mkdir(parents=True, exist_ok=True)
    files = [find_distribution_sources(), write_apt_source("kubernetes", sources.repository, folder, fetcher)]
    for name in vendors:
        files.append(write_apt_source(name, known[name].repository, folder, fetcher))
        names += known[name].packages
    add_distribution_packages(
        assembly,
        system,
        fetch_with_dependencies(names, files, folder, shop),
        f"the archive of {system} or the vendor's",
    )


def write_apt_source(name: str, repository: AptRepository, folder: Path, fetcher: MirrorClient) -> Path:
    """A source for apt, good for what this key has signed and nothing else."""
    key = folder / f"{name}.asc"
    write_atomically(key, fetcher.fetch_text(repository.key), 0o644)
    file = folder / f"{name}.sources"
    lines = [
        f"URIs: {fetcher.mirrored_url(repository.uri)}",
        f"Suites: {repository.suites}",
        f"Signed-By: {key}",
    ]
    write_atomically(file, "\n".join(["Types: deb", *lines, ""]), 0o644)
    return file


def add_downloaded_manifests(
    assembly: BundleAssembly, sources: BundleSources, fetcher: MirrorClient, shop: BuildCache
) -> None:
    for name, addresses in sources.manifests.items():
        file = shop.cache / "manifests" / kubernetes_manifests.manifest_file_name(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        image = sources.images[name]
        documents = [fetcher.fetch_text(each) for each in addresses]
        write_atomically(file, kubernetes_manifests.join_documents(documents, image), 0o644)
        assembly.add_file(
            file,
            f"files/kubernetes/{file.name}",
            BundleFileKind.FILE,
            name=name,
            version=image.rpartition(":")[2],
            licence=LICENCE,
            source=", ".join(addresses),
        )
