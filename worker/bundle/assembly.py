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
    """The folder in which a bundle is to be. It is replaced by renaming, so it never contains half of a bundle."""

    target: Path

    @property
    def partial_folder(self) -> Path:
        return self.target.with_name(f"{self.target.name}.building")

    @property
    def previous_folder(self) -> Path:
        """The folder to which the previous bundle is renamed while the new one takes its place."""
        return self.target.with_name(f"{self.target.name}.replaced")

    def check_replaceable(self) -> None:
        """Checks before an hour of work that the folder can be replaced. Raises CollectingFailed."""
        target = self.target
        if target.is_mount():
            raise CollectingFailed("A disk is mounted at {target}: name a folder on it.", target=target)
        if target.exists() and not target.is_dir():
            raise CollectingFailed("{target} is no folder: name another one.", target=target)
        if target.exists() and any(target.iterdir()) and not (target / check.MANIFEST).exists():
            raise CollectingFailed(
                "{target} is not empty and holds no bundle: name another folder.", target=target
            )

    def replace(self) -> None:
        if self.target.exists():
            self.target.rename(self.previous_folder)
        self.partial_folder.rename(self.target)
        self.recover()

    def recover(self) -> None:
        """Completes or undoes a replacement that was interrupted."""
        if self.previous_folder.exists() and not self.target.exists():
            self.previous_folder.rename(self.target)
        shutil.rmtree(self.previous_folder, ignore_errors=True)


@dataclass
class BundleAssembly:
    """A bundle that is being assembled."""

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
        """Copies the file into the bundle, so that changes of the bundle do not change the cache."""
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
    target: Path, build_cache: BuildCache, collector: str, product: str, systems: list[str], now: datetime
) -> Iterator[BundleAssembly]:
    """Yields a new bundle, which replaces the one at the target. If collecting fails, the previous bundle stays."""
    place = BundleTarget(target.resolve())
    place.recover()
    place.check_replaceable()
    building = place.partial_folder
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    building.chmod(0o755)
    assembly = BundleAssembly(building, build_cache)
    with ExitStack() as given_up:
        # The unfinished bundle has gigabytes, perhaps on a disk that has just become full. What was built stays in
        # the cache.
        given_up.callback(shutil.rmtree, building, ignore_errors=True)
        yield assembly
        given_up.pop_all()
    write_bundle_manifest(building, make_bundle_manifest(product, now, collector, systems, assembly.entries))
    sync_filesystem(building)
    place.replace()


def read_deb_licence(file: Path) -> str:
    """Reads the licence in the package's own debian/copyright. Some packages refer to the
    documents of another one.
    """
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
        # The padding at the end has to be read too, or dpkg-deb fails.
        process.stdout.read()
    return found
