"""The collector `build`: all of a bundle from the Go module proxy, the distribution's archive and the package index."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from worker.bundle import debs, images
from worker.bundle.assembly import Assembly, assembling
from worker.bundle.check import this_system
from worker.bundle.closure import fetch_closure, own_sources
from worker.bundle.collecting import PARTS, add_default_image, add_fetched, add_wheels
from worker.bundle.go_builds import Built, ensure_program
from worker.bundle.go_programs import PROGRAMS, Program
from worker.bundle.manifest import Kind, safe_name
from worker.bundle.manifests import make_manifests
from worker.bundle.sources import Sources
from worker.bundle.workshop import Workshop


def build(
    target: Path,
    sources: Sources,
    shop: Workshop,
    product: str,
    now: datetime,
    parts: Sequence[str] = PARTS,
) -> None:
    """Raises CollectingFailed; what was made until then is kept for the next run."""
    system = this_system()
    with shop.alone(), assembling(target, shop, "build", product, [system], now) as assembly:
        needed = choose_programs(parts, sources)
        built = {program.name: ensure_program(program, sources.modules, shop) for program in needed}
        if "images" in parts:
            add_images(assembly, sources, built, shop)
        if "packages" in parts:
            fetched = fetch_closure(sources.distribution, [own_sources()], shop.cache / f"apt-{system}", shop)
            add_fetched(assembly, system, fetched, f"the archive of {system}")
            add_packages(assembly, sources, system, built, shop)
            assembly.index(system, now)
        if "manifests" in parts:
            add_manifests(assembly, sources, built, shop)
        if "wheels" in parts:
            add_wheels(assembly, shop)
        if "default-image" in parts:
            add_default_image(assembly, shop)


def choose_programs(parts: Sequence[str], sources: Sources) -> list[Program]:
    """Those that go into these parts: all of them take an hour and a half to compile."""
    of_packages = {*sources.names, "flannel"} if "packages" in parts else set()
    of_manifests = {"kubectl"} if "manifests" in parts else set()
    every = "images" in parts
    return [each for each in PROGRAMS if every or each.name in of_packages | of_manifests]


def add_images(assembly: Assembly, sources: Sources, built: Mapping[str, Built], shop: Workshop) -> None:
    programs = {name: each.path for name, each in built.items()}
    texts = {name: each.texts for name, each in built.items()}
    tools = fetch_closure(images.NETWORK_TOOLS, [own_sources()], shop.cache / f"apt-{this_system()}", shop)
    chosen = [deb.path for deb in tools]
    base = [deb.path.name for deb in tools]
    for recipe in images.RECIPES:
        reference = sources.images[recipe.image]
        parts = [built[name] for name in recipe.programs.values()]
        inputs = [
            repr(recipe),
            reference,
            *(part.path.parent.name for part in parts),
            *(base if recipe.on_tools else ()),
        ]

        def make(folder: Path, recipe: images.Recipe = recipe, reference: str = reference) -> None:
            layer = images.network_layer(chosen, folder) if recipe.on_tools else None
            images.build_image(recipe, reference, programs, texts, layer, folder / "image.tar", shop)
            if layer:
                layer.path.unlink()

        made = shop.made(f"image-{safe_name(reference)}", inputs, make)
        assembly.add_image(
            made / "image.tar",
            reference,
            licence=" AND ".join(sorted({part.licence for part in parts})),
            version=parts[0].version,
            source=", ".join(sorted({part.source for part in parts})),
        )


def add_packages(
    assembly: Assembly,
    sources: Sources,
    system: str,
    built: Mapping[str, Built],
    shop: Workshop,
) -> None:
    place = f"apt/{system}"
    programs = {name: each.path for name, each in built.items()}
    texts = {name: each.texts for name, each in built.items()}
    ours = debs.kubernetes_packages(sources.kubernetes_packages, programs, texts)
    version = sources.modules["cni"].version.removeprefix("v")
    ours.append(debs.flannel_package(version, programs["flannel"], texts["flannel"]))
    for package in ours:
        about = next(each for each in (built.get(package.name), built["flannel"]) if each)
        # Programs lie in folders named after their inputs; our own files are read.
        units = [file.read_bytes() for file in package.files.values() if file.is_relative_to(debs.FILES)]
        inputs: list[str | bytes] = [repr(package), *units]

        def make(folder: Path, package: debs.Package = package) -> None:
            shop.tell("packing {name} {version}", name=package.name, version=package.version)
            debs.build_package(package, folder / package.file_name, shop)

        made = shop.made(f"deb-{package.name}", inputs, make) / package.file_name
        where = f"{place}/{package.file_name}"
        assembly.add_deb(
            made,
            where,
            name=package.name,
            version=package.version,
            source=about.source,
            licence=about.licence,
        )


def add_manifests(assembly: Assembly, sources: Sources, built: Mapping[str, Built], shop: Workshop) -> None:
    for name, file, module in make_manifests(sources, built["kubectl"].path, shop):
        assembly.add(
            file,
            f"files/kubernetes/{file.name}",
            Kind.FILE,
            name=name,
            version=module.version,
            licence="Apache-2.0",
            source=f"Go module {module.path} {module.version}",
        )
