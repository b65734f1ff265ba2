"""What both collectors do alike: the distribution's packages, the wheels and the default image."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from cluster import words
from worker.bundle import licences, wheels
from worker.bundle.assembly import Assembly, licence_of_deb
from worker.bundle.closure import Fetched, plain_name
from worker.bundle.manifest import Kind
from worker.bundle.workshop import CollectingFailed, Workshop
from worker.environments.__main__ import Lines
from worker.environments.description import Description, read_description
from worker.environments.errors import BuildFailed
from worker.environments.machine import PYTHON, read_machine, wheels_path
from worker.environments.wheels import Wheels, write_whole
from worker.images.build import build
from worker.images.description import read_variant
from worker.images.record import read_record, record_path

PARTS = ("images", "packages", "manifests", "wheels", "default-image")
"""What a bundle may be asked for alone, to try it out."""


def add_fetched(assembly: Assembly, system: str, fetched: Iterable[Fetched], source: str) -> None:
    debs = list(fetched)
    assembly.shop.tell("reading the licences of {count} packages", count=len(debs))
    # Unpacking them all takes minutes, and a file of apt's with a version in its name stays as it is.
    file = assembly.shop.cache / "licences.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    for deb in debs:
        licence = known.get(deb.path.name) or licence_of_deb(deb.path)
        known[deb.path.name] = licence
        where = f"apt/{system}/{plain_name(deb.path)}"
        assembly.add_deb(deb.path, where, name=deb.name, version=deb.version, source=source, licence=licence)
    write_whole(file, json.dumps(known, indent=1, sort_keys=True).encode())


def add_wheels(assembly: Assembly, shop: Workshop) -> None:
    cache, training = shop.cache.parent, read_description()
    kept = sorted(path for path in cache.glob("wheels-*") if path.is_dir())
    add_compiled(assembly, training, wheels_path(training, read_machine(PYTHON), cache))
    for file in wheels.fetch_wheels(training, shop.cache / "wheels" / "files", kept, shop):
        name, version = wheels.name_and_version(file)
        assembly.add(
            file,
            f"wheels/{file.name}",
            Kind.WHEEL,
            name=name,
            version=version,
            licence=wheels.licence_of(file),
            source="the package index",
        )


def add_compiled(assembly: Assembly, training: Description, place: Path) -> None:
    """What this machine compiled: a master of the same kind then compiles nothing, any other one does."""
    wheel = Wheels(place).compiled(training.compiled.package)
    if wheel is None:
        return
    name, version = wheels.name_and_version(wheel)
    assembly.add(
        wheel,
        f"files/compiled/{place.name}/{wheel.name}",
        Kind.WHEEL,
        name=f"{name}, compiled",
        version=version,
        licence=wheels.licence_of(wheel),
        source=f"compiled on a machine of the kind {place.name}",
    )


def add_default_image(assembly: Assembly, shop: Workshop) -> None:
    """Of the one description, for processors alone; its record beside it is its table of contents."""
    uv = shutil.which("uv")
    if uv is None:
        raise CollectingFailed(
            "uv is not on PATH: make bundle has it, or leave default-image out with --only."
        )
    shop.tell("building the default image")
    cache = shop.cache.parent
    try:
        archive = build(
            read_variant("cpu"), cache / "images", Lines(), uv=Path(uv), log=shop.log, known=cache
        )
    except BuildFailed as failure:
        said = words.say(failure.code, failure.data, "en")
        raise CollectingFailed(f"the default image: {said}\nAll of it is in {shop.log}") from failure
    record = read_record(archive)
    assert record is not None, "the record is written before the archive counts as built"
    for file, kind in ((archive, Kind.IMAGE), (record_path(archive), Kind.FILE)):
        assembly.add(
            file,
            f"images/{record.name}-{record.variant}{file.suffix}",
            kind,
            name=record.reference,
            version=record.digest,
            licence=licences.UNKNOWN,
            source=f"this product's description, the archive of {record.system} and the package index",
        )
