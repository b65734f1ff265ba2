"""Finds the programs and manifests of a bundle that this machine has made already; it makes none."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from worker.bootstrap.paths import find_installation_paths
from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.bundle.go_programs import PROGRAMS, ensure_program
from worker.bundle.kubernetes_manifests import extract_manifests
from worker.bundle.sources import read_bundle_sources

NOT_BUILT = "binaries not built, `make test-kube` builds them"


class NotCompiled(Exception):
    """A program or a manifest of the bundle is not in this machine's cache."""


class Shelf(BuildCache):
    """Makes nothing: what is not there is not there."""

    def build_once(self, name: str, inputs: Sequence[str | bytes], make: Callable[[Path], None]) -> Path:
        target = self.path_for(name, inputs)
        if not target.exists():
            raise NotCompiled(name)
        return target


def open_shelf() -> Shelf:
    cache = find_installation_paths().cache_dir
    return Shelf(cache / "bundle", cache / "log" / "bundle.log")


def find_programs(*names: str) -> Mapping[str, Path]:
    """Each by its name. Raises NotCompiled."""
    sources, shelf = read_bundle_sources(), open_shelf()
    try:
        return {
            program.name: ensure_program(program, sources.modules, shelf).path
            for program in PROGRAMS
            if program.name in names
        }
    except (CollectingFailed, OSError) as missing:
        raise NotCompiled(str(missing)) from missing


def find_manifests() -> Mapping[str, Path]:
    """Upstream's own, by their names in the sources map. Raises NotCompiled."""
    sources = read_bundle_sources()
    return {name: file for name, file, _ in extract_manifests(sources, Path("kubectl"), open_shelf())}
