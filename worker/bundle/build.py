"""Builds a bundle from the Go module proxy, the distribution's archive and the Python package index."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from worker.bundle import kubernetes_images, own_packages
from worker.bundle.apt_packages import fetch_with_dependencies, find_distribution_sources
from worker.bundle.assembly import BundleAssembly, assemble_bundle
from worker.bundle.build_cache import BuildCache
from worker.bundle.check import this_system
from worker.bundle.go_programs import PROGRAMS, BuiltProgram, GoProgram, ensure_program
from worker.bundle.kubernetes_manifests import extract_manifests
from worker.bundle.manifest import BundleFileKind, image_file_name
from worker.bundle.shared_parts import BUNDLE_PARTS, add_default_image, add_distribution_packages
from worker.bundle.sources import BundleSources
from worker.bundle.wheels import add_wheels

CONTAINER_ENGINE = frozenset({"containerd", "containerd-shim-runc-v2", "ctr", "runc"})
"""Programs that a bundle has as packages alone."""


def build_bundle(
    target: Path,
    sources: BundleSources,
    build_cache: BuildCache,
    product: str,
    now: datetime,
    parts: Sequence[str] = BUNDLE_PARTS,
) -> None:
    """Builds the bundle. Raises CollectingFailed; products that were built until then stay in the cache for the next
    call.
    """
    system = this_system()
    with (
        build_cache.hold_lock(),
        assemble_bundle(target, build_cache, "build", product, [system], now) as assembly,
    ):
        needed = choose_programs(parts, sources)
        built = {program.name: ensure_program(program, sources.modules, build_cache) for program in needed}
        if "images" in parts:
            add_built_images(assembly, sources, built, build_cache)
        if "packages" in parts:
            fetched = fetch_with_dependencies(
                sources.distribution,
                [find_distribution_sources()],
                build_cache.cache / f"apt-{system}",
                build_cache,
            )
            add_distribution_packages(assembly, system, fetched, f"the archive of {system}")
            add_built_packages(assembly, sources, system, built, build_cache)
            assembly.add_apt_index(system, now)
        if "manifests" in parts:
            add_built_manifests(assembly, sources, built, build_cache)
        if "wheels" in parts:
            add_wheels(assembly, build_cache)
        if "default-image" in parts:
            add_default_image(assembly, build_cache)


def choose_programs(parts: Sequence[str], sources: BundleSources) -> list[GoProgram]:
    """The programs that these parts need. Compiling all of them takes an hour and a half."""
    names = {*sources.kubernetes_package_names, *CONTAINER_ENGINE, "flannel"}
    of_packages = names if "packages" in parts else set()
    of_manifests = {"kubectl"} if "manifests" in parts else set()
    of_images = {each.name for each in PROGRAMS} - CONTAINER_ENGINE if "images" in parts else set()
    return [each for each in PROGRAMS if each.name in of_packages | of_manifests | of_images]


def add_built_images(
    assembly: BundleAssembly,
    sources: BundleSources,
    built: Mapping[str, BuiltProgram],
    build_cache: BuildCache,
) -> None:
    programs = {name: each.path for name, each in built.items()}
    texts = {name: each.texts for name, each in built.items()}
    tools = fetch_with_dependencies(
        kubernetes_images.NETWORK_TOOLS,
        [find_distribution_sources()],
        build_cache.cache / f"apt-{this_system()}",
        build_cache,
    )
    chosen = [deb.path for deb in tools]
    base = [deb.path.name for deb in tools]
    for recipe in kubernetes_images.IMAGE_RECIPES:
        reference = sources.images[recipe.image]
        parts = [built[name] for name in recipe.programs.values()]
        inputs = [
            repr(recipe),
            reference,
            *(part.path.parent.name for part in parts),
            *(base if recipe.has_network_tools else ()),
        ]

        def make(
            folder: Path, recipe: kubernetes_images.ImageRecipe = recipe, reference: str = reference
        ) -> None:
            layer = (
                kubernetes_images.build_network_layer(chosen, folder) if recipe.has_network_tools else None
            )
            kubernetes_images.build_kubernetes_image(
                recipe, reference, programs, texts, layer, folder / "image.tar", build_cache
            )
            if layer:
                layer.path.unlink()

        made = build_cache.build_once(f"image-{image_file_name(reference)}", inputs, make)
        assembly.add_image(
            made / "image.tar",
            reference,
            licence=" AND ".join(sorted({part.licence for part in parts})),
            version=parts[0].version,
            source=", ".join(sorted({part.source for part in parts})),
        )


def add_built_packages(
    assembly: BundleAssembly,
    sources: BundleSources,
    system: str,
    built: Mapping[str, BuiltProgram],
    build_cache: BuildCache,
) -> None:
    place = f"apt/{system}"
    programs = {name: each.path for name, each in built.items()}
    texts = {name: each.texts for name, each in built.items()}
    ours = own_packages.kubernetes_packages(sources.kubernetes_packages, programs, texts)
    version = sources.modules["cni"].version.removeprefix("v")
    ours.append(own_packages.flannel_package(version, programs["flannel"], texts["flannel"]))
    engine = {name: sources.modules[name].version.removeprefix("v") for name in ("containerd", "runc")}
    ours += own_packages.container_engine_packages(engine, programs, texts)
    for package in ours:
        about = next(each for each in (built.get(package.name), built["flannel"]) if each)
        # The folder of a program is named after its inputs, so it need not be read; our own files are read.
        units = [
            file.read_bytes()
            for file in (*package.files.values(), package.after_unpacking)
            if file and file.is_relative_to(own_packages.UNIT_FILES)
        ]
        inputs: list[str | bytes] = [repr(package), *units]

        def make(folder: Path, package: own_packages.DebPackage = package) -> None:
            build_cache.print_progress("packing {name} {version}", name=package.name, version=package.version)
            own_packages.build_deb(package, folder / package.file_name, build_cache)

        made = build_cache.build_once(f"deb-{package.name}", inputs, make) / package.file_name
        where = f"{place}/{package.file_name}"
        assembly.add_deb(
            made,
            where,
            name=package.name,
            version=package.version,
            source=about.source,
            licence=about.licence,
        )


def add_built_manifests(
    assembly: BundleAssembly,
    sources: BundleSources,
    built: Mapping[str, BuiltProgram],
    build_cache: BuildCache,
) -> None:
    for name, file, module in extract_manifests(sources, built["kubectl"].path, build_cache):
        assembly.add_file(
            file,
            f"files/kubernetes/{file.name}",
            BundleFileKind.FILE,
            name=name,
            version=module.version,
            licence="Apache-2.0",
            source=f"Go module {module.path} {module.version}",
        )
