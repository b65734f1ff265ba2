"""The parts that both collectors add in the same way: the distribution's packages and the default image."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from cluster.files.atomic import write_atomically
from worker.bundle import licences
from worker.bundle.apt_packages import FetchedPackage, archive_file_name
from worker.bundle.assembly import BundleAssembly, read_deb_licence
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.manifest import BundleFileKind
from worker.images.build import build_image
from worker.images.description import read_variant
from worker.images.image_record import image_record_path, read_image_record

BUNDLE_PARTS = ("images", "packages", "manifests", "wheels", "default-image")
"""The parts of a bundle, each of which can be collected alone for a test."""


def add_distribution_packages(
    assembly: BundleAssembly, system: str, fetched: Iterable[FetchedPackage], source: str
) -> None:
    debs = list(fetched)
    assembly.cache.print_progress("reading the licences of {count} packages", count=len(debs))
    # Unpacking all packages takes minutes, and a package of apt with the same name and version does not change.
    file = assembly.cache.cache / "licences.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    for deb in debs:
        licence = known.get(deb.path.name) or read_deb_licence(deb.path)
        known[deb.path.name] = licence
        where = f"apt/{system}/{archive_file_name(deb.path)}"
        assembly.add_deb(deb.path, where, name=deb.name, version=deb.version, source=source, licence=licence)
    write_atomically(file, json.dumps(known, indent=1, sort_keys=True), 0o644)


def add_default_image(assembly: BundleAssembly, build_cache: BuildCache) -> None:
    """Adds the default image for CPUs alone, with its record, which lists its contents."""
    uv = shutil.which("uv")
    if uv is None:
        raise CollectingFailed(
            "uv is not on PATH: make bundle has it, or leave default-image out with --only."
        )
    build_cache.print_progress("building the default image")
    cache = build_cache.cache.parent
    with build_cache.report_build("the default image") as report:
        archive = build_image(
            read_variant("cpu"), cache / "images", report, uv=Path(uv), log=build_cache.log, known=cache
        )
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
