"""The parts that both collectors add in the same way: the distribution's packages, the wheels and the default image."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from cluster import words
from cluster.files.atomic import write_atomically
from worker.bundle import licences, wheels
from worker.bundle.apt_packages import FetchedPackage, archive_file_name
from worker.bundle.assembly import BundleAssembly, read_deb_licence
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.manifest import BundleFileKind
from worker.environments.__main__ import ProgressPrinter
from worker.environments.build_platform import PYTHON, read_build_platform, wheel_folder_path
from worker.environments.description import EnvironmentDescription, read_environment_description
from worker.environments.errors import BuildFailed
from worker.environments.wheels import WheelFolder
from worker.images.build import build_image
from worker.images.description import read_variant
from worker.images.image_record import image_record_path, read_image_record

BUNDLE_PARTS = ("images", "packages", "manifests", "wheels", "default-image")
"""What a bundle may be asked for alone, to try it out."""


def add_distribution_packages(
    assembly: BundleAssembly, system: str, fetched: Iterable[FetchedPackage], source: str
) -> None:
    debs = list(fetched)
    assembly.cache.report("reading the licences of {count} packages", count=len(debs))
    # Unpacking them all takes minutes, and a file of apt's with a version in its name stays as it is.
    file = assembly.cache.cache / "licences.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    for deb in debs:
        licence = known.get(deb.path.name) or read_deb_licence(deb.path)
        known[deb.path.name] = licence
        where = f"apt/{system}/{archive_file_name(deb.path)}"
        assembly.add_deb(deb.path, where, name=deb.name, version=deb.version, source=source, licence=licence)
    write_atomically(file, json.dumps(known, indent=1, sort_keys=True), 0o644)


def add_wheels(assembly: BundleAssembly, shop: BuildCache) -> None:
    cache, training = shop.cache.parent, read_environment_description()
    kept = sorted(path for path in cache.glob("wheels-*") if path.is_dir())
    add_compiled_wheel(assembly, training, wheel_folder_path(training, read_build_platform(PYTHON), cache))
    for file in wheels.fetch_bundle_wheels(training, shop.cache / "wheels" / "files", kept, shop):
        name, version = wheels.parse_wheel_name(file)
        assembly.add_file(
            file,
            f"wheels/{file.name}",
            BundleFileKind.WHEEL,
            name=name,
            version=version,
            licence=wheels.read_wheel_licence(file),
            source="the package index",
        )


def add_compiled_wheel(assembly: BundleAssembly, training: EnvironmentDescription, place: Path) -> None:
    """What this machine compiled: a master of the same kind then compiles nothing, any other one does."""
    wheel = WheelFolder(place).find_compiled(training.compiled.package)
    if wheel is None:
        return
    name, version = wheels.parse_wheel_name(wheel)
    assembly.add_file(
        wheel,
        f"files/compiled/{place.name}/{wheel.name}",
        BundleFileKind.WHEEL,
        name=f"{name}, compiled",
        version=version,
        licence=wheels.read_wheel_licence(wheel),
        source=f"compiled on a machine of the kind {place.name}",
    )


def add_default_image(assembly: BundleAssembly, shop: BuildCache) -> None:
    """Of the one description, for processors alone; its record beside it is its table of contents."""
    uv = shutil.which("uv")
    if uv is None:
        raise CollectingFailed(
            "uv is not on PATH: make bundle has it, or leave default-image out with --only."
        )
    shop.report("building the default image")
    cache = shop.cache.parent
    try:
        archive = build_image(
            read_variant("cpu"), cache / "images", ProgressPrinter(), uv=Path(uv), log=shop.log, known=cache
        )
    except BuildFailed as failure:
        said = words.sentence(failure.code, failure.data, "en")
        raise CollectingFailed(f"the default image: {said}\nAll of it is in {shop.log}") from failure
    record = read_image_record(archive)
    assert record is not None, "the record is written before the archive counts as built"
    for file, kind in ((archive, BundleFileKind.IMAGE), (image_record_path(archive), BundleFileKind.FILE)):
        assembly.add_file(
            file,
            f"images/{record.name}-{record.variant}{file.suffix}",
            kind,
            name=record.reference,
            version=record.digest,
            licence=licences.UNKNOWN,
            source=f"this product's description, the archive of {record.system} and the package index",
        )
