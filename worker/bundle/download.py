"""The collector `download` fetches Kubernetes' packages and images from their publishers or a site's mirrors.

The distribution's packages and the wheels are fetched as by the collector `build`.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cluster.files.atomic import write_atomically
from worker.bundle import kubernetes_manifests
from worker.bundle.apt_packages import add_components, fetch_with_dependencies, find_distribution_sources
from worker.bundle.assembly import BundleAssembly, assemble_bundle
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.check import this_system
from worker.bundle.image_downloads import download_image
from worker.bundle.manifest import BundleFileKind, image_file_name
from worker.bundle.mirrors import MirrorClient
from worker.bundle.shared_parts import BUNDLE_PARTS, add_default_image, add_distribution_packages
from worker.bundle.sources import AptRepository, BundleSources
from worker.bundle.wheels import add_wheels

DISTRIBUTIONS_ENGINE = ("containerd", "runc")
"""The collector `build` compiles both in the place of the distribution's versions."""
LICENCE = "Apache-2.0"
"""The licence of Kubernetes and of every add-on that we use. Other parts of a publisher's image are not listed."""


def download_bundle(
    target: Path,
    sources: BundleSources,
    build_cache: BuildCache,
    product: str,
    now: datetime,
    fetcher: MirrorClient,
    parts: Sequence[str] = BUNDLE_PARTS,
    vendors: Sequence[str] = (),
) -> None:
    """Raises CollectingFailed. Files that were fetched until then stay in the cache for the next call."""
    system = this_system()
    with (
        build_cache.hold_lock(),
        assemble_bundle(target, build_cache, "download", product, [system], now) as assembly,
    ):
        if "images" in parts:
            add_downloaded_images(assembly, sources, fetcher, build_cache)
        if "packages" in parts:
            add_downloaded_packages(assembly, sources, system, vendors, fetcher, build_cache)
            assembly.add_apt_index(system, now)
        if "manifests" in parts:
            add_downloaded_manifests(assembly, sources, fetcher, build_cache)
        if "wheels" in parts:
            add_wheels(assembly, build_cache)
        if "default-image" in parts:
            add_default_image(assembly, build_cache)


def add_downloaded_images(
    assembly: BundleAssembly, sources: BundleSources, fetcher: MirrorClient, build_cache: BuildCache
) -> None:
    for reference in sorted(sources.images.values()):
        folder = build_cache.cache / f"pulled-{image_file_name(reference)}"
        digest = folder / "digest"
        if not digest.exists():
            build_cache.print_progress("pulling {name}", name=reference)
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
    build_cache: BuildCache,
) -> None:
    """Fetches the distribution's and the vendors' packages in one resolution of dependencies, so that their versions
    agree.
    """
    known = sources.vendors[system.partition("-")[0]]
    if unknown := set(vendors) - set(known):
        raise CollectingFailed(
            "{system} has no repository of {names}: it has {known}.",
            system=system,
            names=", ".join(sorted(unknown)),
            known=", ".join(known),
        )
    names = [
        *sources.distribution,
        *DISTRIBUTIONS_ENGINE,
        *sources.extra_packages,
        *(f"{name}={sources.kubernetes_packages}" for name in sources.kubernetes_package_names),
    ]
    folder = build_cache.cache / f"apt-{system}-download"
    folder.mkdir(parents=True, exist_ok=True)
    components = [each for name in vendors for each in known[name].components]
    files = [
        write_distribution_source(components, folder),
        write_apt_source("kubernetes", sources.repository, folder, fetcher),
    ]
    for name in vendors:
        files.append(write_apt_source(name, known[name].repository, folder, fetcher))
        names += known[name].packages
    preferences = "\n".join(known[name].preferences for name in vendors)
    add_distribution_packages(
        assembly,
        system,
        fetch_with_dependencies(names, files, folder, build_cache, preferences),
        f"the archive of {system} or the vendor's",
    )


def write_distribution_source(components: Sequence[str], folder: Path) -> Path:
    """The distribution's archives as this machine has them, with the components that a vendor's packages need."""
    source = find_distribution_sources()
    file = folder / source.name
    file.write_text(add_components(source.read_text(), components))
    return file


def write_apt_source(name: str, repository: AptRepository, folder: Path, fetcher: MirrorClient) -> Path:
    """Writes an apt source that accepts only what this key has signed."""
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
    assembly: BundleAssembly, sources: BundleSources, fetcher: MirrorClient, build_cache: BuildCache
) -> None:
    for name, addresses in sources.manifests.items():
        file = build_cache.cache / "manifests" / kubernetes_manifests.manifest_file_name(name)
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
