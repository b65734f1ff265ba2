"""The collector `download`: Kubernetes' own packages and images from where their publishers offer them.

The distribution's packages and the wheels come as with `build`.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from worker.bundle import manifests, registry
from worker.bundle.assembly import Assembly, assembling
from worker.bundle.check import this_system
from worker.bundle.closure import fetch_closure, own_sources
from worker.bundle.collecting import PARTS, add_default_image, add_fetched, add_wheels
from worker.bundle.fetch import Fetcher
from worker.bundle.manifest import Kind, safe_name
from worker.bundle.sources import Repository, Sources
from worker.bundle.workshop import CollectingFailed, Workshop
from worker.environments.wheels import write_whole

LICENCE = "Apache-2.0"
"""Of Kubernetes and of every add-on of ours; what else is in a publisher's image, the image itself says."""


def download(
    target: Path,
    sources: Sources,
    shop: Workshop,
    product: str,
    now: datetime,
    fetcher: Fetcher,
    parts: Sequence[str] = PARTS,
    vendors: Sequence[str] = (),
) -> None:
    """Raises CollectingFailed; what was fetched until then is kept for the next run."""
    system = this_system()
    with shop.alone(), assembling(target, shop, "download", product, [system], now) as assembly:
        if "images" in parts:
            add_images(assembly, sources, fetcher, shop)
        if "packages" in parts:
            add_packages(assembly, sources, system, vendors, fetcher, shop)
            assembly.index(system, now)
        if "manifests" in parts:
            add_manifests(assembly, sources, fetcher, shop)
        if "wheels" in parts:
            add_wheels(assembly, shop)
        if "default-image" in parts:
            add_default_image(assembly, shop)


def add_images(assembly: Assembly, sources: Sources, fetcher: Fetcher, shop: Workshop) -> None:
    for reference in sorted(sources.images.values()):
        # Not `made`: what an interrupted run has fetched of it is to stay.
        folder = shop.cache / f"pulled-{safe_name(reference)}"
        digest = folder / "digest"
        if not digest.exists():
            shop.tell("pulling {name}", name=reference)
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(digest, registry.pull(reference, folder / "image.tar", fetcher).encode())
        source = f"{reference.rpartition(':')[0]}@{digest.read_text()}"
        version = reference.rpartition(":")[2]
        assembly.add_image(folder / "image.tar", reference, licence=LICENCE, version=version, source=source)


def add_packages(
    assembly: Assembly,
    sources: Sources,
    system: str,
    vendors: Sequence[str],
    fetcher: Fetcher,
    shop: Workshop,
) -> None:
    """One closure over the distribution and the vendors, so that versions fit each other."""
    known = sources.vendors[system.partition("-")[0]]
    if unknown := set(vendors) - set(known):
        raise CollectingFailed(
            f"{system} has no repository of {', '.join(sorted(unknown))}: it has {', '.join(known)}."
        )
    names = [
        *sources.distribution,
        *sources.beside,
        *(f"{name}={sources.kubernetes_packages}" for name in sources.names),
    ]
    folder = shop.cache / f"apt-{system}-download"
    folder.mkdir(parents=True, exist_ok=True)
    files = [own_sources(), know_repository("kubernetes", sources.repository, folder, fetcher)]
    for name in vendors:
        files.append(know_repository(name, known[name].repository, folder, fetcher))
        names += known[name].packages
    add_fetched(
        assembly,
        system,
        fetch_closure(names, files, folder, shop),
        f"the archive of {system} or the vendor's",
    )


def know_repository(name: str, repository: Repository, folder: Path, fetcher: Fetcher) -> Path:
    """A source for apt, good for what this key has signed and nothing else."""
    key = folder / f"{name}.asc"
    write_whole(key, fetcher.text(repository.key).encode())
    file = folder / f"{name}.sources"
    lines = [f"URIs: {fetcher.address(repository.uri)}", f"Suites: {repository.suites}", f"Signed-By: {key}"]
    write_whole(file, "\n".join(["Types: deb", *lines, ""]).encode())
    return file


def add_manifests(assembly: Assembly, sources: Sources, fetcher: Fetcher, shop: Workshop) -> None:
    for name, addresses in sources.manifests.items():
        file = shop.cache / "manifests" / manifests.file_name(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        image = sources.images[name]
        write_whole(file, manifests.join([fetcher.text(each) for each in addresses], image).encode())
        assembly.add(
            file,
            f"files/kubernetes/{file.name}",
            Kind.FILE,
            name=name,
            version=image.rpartition(":")[2],
            licence=LICENCE,
            source=", ".join(addresses),
        )
