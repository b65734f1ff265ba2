"""What both collectors do alike: the distribution's packages and the wheels."""

from collections.abc import Iterable

from worker.bundle import wheels
from worker.bundle.assembly import Assembly
from worker.bundle.closure import Fetched, plain_name
from worker.bundle.manifest import Kind
from worker.bundle.workshop import Workshop
from worker.environments.description import read_description

PARTS = ("images", "packages", "manifests", "wheels")
"""What a bundle may be asked for alone, to try it out."""


def add_fetched(assembly: Assembly, system: str, fetched: Iterable[Fetched], source: str) -> None:
    debs = list(fetched)
    assembly.shop.tell("reading the licences of {count} packages", count=len(debs))
    for deb in debs:
        where = f"apt/{system}/{plain_name(deb.path)}"
        assembly.add_deb(deb.path, where, name=deb.name, version=deb.version, source=source)


def add_wheels(assembly: Assembly, shop: Workshop) -> None:
    kept = sorted(path for path in shop.cache.parent.glob("wheels-*") if path.is_dir())
    for file in wheels.fetch_wheels(read_description(), shop.cache / "wheels" / "files", kept, shop):
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
