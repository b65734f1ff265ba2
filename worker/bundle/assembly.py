"""Assemble a bundle in a folder beside its target; write the manifest last and rename the folder into place."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from worker.bundle import check, licences
from worker.bundle.apt_packages import write_apt_index
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.manifest import (
    BundleFile,
    BundleFileKind,
    image_file_name,
    make_bundle_file,
    make_bundle_manifest,
    write_bundle_manifest,
)
from worker.environments.wheels import sync_filesystem

DOCUMENTS = PurePosixPath("usr/share/doc")


@dataclass(frozen=True)
class BundleTarget:
    """Where a bundle is to stand. It is replaced by renaming alone: nobody ever finds the half of one there."""

    target: Path

    @property
    def partial_folder(self) -> Path:
        return self.target.with_name(f"{self.target.name}.building")

    @property
    def previous_folder(self) -> Path:
        """The bundle before, while the new one takes its place."""
        return self.target.with_name(f"{self.target.name}.replaced")

    def check_replaceable(self) -> None:
        """Before an hour of work. Raises CollectingFailed."""
        target = self.target
        if target.is_mount():
            raise CollectingFailed(f"{target} is where a disk is mounted: name a folder on it.")
        if target.exists() and not target.is_dir():
            raise CollectingFailed(f"{target} is no folder: name another one.")
        if target.exists() and any(target.iterdir()) and not (target / check.MANIFEST).exists():
            raise CollectingFailed(f"{target} is not empty and holds no bundle: name another folder.")

    def replace(self) -> None:
        if self.target.exists():
            self.target.rename(self.previous_folder)
        self.partial_folder.rename(self.target)
        self.recover()

    def recover(self) -> None:
        """What a replacement that was cut short has left."""
        if self.previous_folder.exists() and not self.target.exists():
            self.previous_folder.rename(self.target)
        shutil.rmtree(self.previous_folder, ignore_errors=True)


@dataclass
class BundleAssembly:
    """A bundle in the making."""

    folder: Path
    cache: BuildCache
    entries: list[BundleFile] = field(default_factory=list)

    def add_file(
        self,
        file: Path,
        place: str,
        kind: BundleFileKind,
        *,
        name: str,
        version: str,
        licence: str,
        source: str,
    ) -> None:
        """A copy, so that nothing that happens to a bundle happens to what the next one is made of."""
        target = self.folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        target.chmod(0o644)
        entry = make_bundle_file(
            self.folder, target, kind, name=name, version=version, licence=licence, source=source
        )
        self.entries.append(entry)

    def add_deb(
        self, file: Path, place: str, *, name: str, version: str, source: str, licence: str = ""
    ) -> None:
        licence = licence or read_deb_licence(file)
        self.add_file(
            file, place, BundleFileKind.DEB, name=name, version=version, licence=licence, source=source
        )

    def add_image(self, archive: Path, reference: str, *, licence: str, version: str, source: str) -> None:
        place = f"images/{image_file_name(reference)}.tar"
        self.add_file(
            archive,
            place,
            BundleFileKind.IMAGE,
            name=reference,
            version=version,
            licence=licence,
            source=source,
        )

    def add_apt_index(self, system: str, moment: datetime) -> None:
        for file in write_apt_index(self.folder / "apt" / system, system, moment, self.cache):
            made = {"name": file.name, "version": "", "licence": "", "source": "this product"}
            self.entries.append(make_bundle_file(self.folder, file, BundleFileKind.INDEX, **made))


@contextmanager
def assemble_bundle(
    target: Path, shop: BuildCache, collector: str, product: str, systems: list[str], now: datetime
) -> Iterator[BundleAssembly]:
    """A new bundle takes the place of the one that stood there; where collecting fails, that one stays."""
    place = BundleTarget(target.resolve())
    place.recover()
    place.check_replaceable()
    building = place.partial_folder
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    building.chmod(0o755)
    assembly = BundleAssembly(building, shop)
    with ExitStack() as given_up:
        # Gigabytes, perhaps on the disk that has just become full; what was made stays in the cache.
        given_up.callback(shutil.rmtree, building, ignore_errors=True)
        yield assembly
        given_up.pop_all()
    write_bundle_manifest(building, make_bundle_manifest(product, now, collector, systems, assembly.entries))
    sync_filesystem(building)
    place.replace()


def read_deb_licence(file: Path) -> str:
    """From the package's own debian/copyright; a package may say that its documents are those of another."""
    found = licences.UNKNOWN
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as content:
            for info in content:
                place = PurePosixPath(info.name)
                if info.issym() and place.parent == DOCUMENTS:
                    found = f"as {info.linkname}"
                elif info.isreg() and place.parent.parent == DOCUMENTS and place.name == "copyright":
                    reader = content.extractfile(info)
                    assert reader is not None
                    found = licences.licence_of_copyright(reader.read().decode("utf-8", "replace"))
        assert process.stdout is not None
        # The padding at its end: dpkg-deb fails where nobody reads it.
        process.stdout.read()
    return found
