"""List what one bundle has otherwise than another."""

from collections import defaultdict

from worker.bundle.manifest import BundleFile, BundleFileKind, BundleManifest

Named = dict[tuple[str, str], set[tuple[str, str]]]
"""By kind and name: versions with their sums, as two environments may hold two versions of one package."""


def list_differences(old: BundleManifest, new: BundleManifest) -> list[str]:
    """A line for each thing that comes, goes or changes; by kind and name, as file names hold versions."""
    before, after = _by_name(old), _by_name(new)
    lines = []
    for key in sorted({*before, *after}):
        gone = sorted(before.get(key, set()) - after.get(key, set()))
        come = sorted(after.get(key, set()) - before.get(key, set()))
        lines += _lines(
            f"{key[0]:<6} {key[1]}", [version for version, _ in gone], [version for version, _ in come]
        )
    return lines


def _lines(what: str, gone: list[str], come: list[str]) -> list[str]:
    if len(gone) == len(come) == 1:
        told = f"{gone[0]} -> {come[0]}" if gone != come else f"{gone[0]} (other content)"
        return [f"~ {what} {told}"]
    return [*(f"- {what} {version}" for version in gone), *(f"+ {what} {version}" for version in come)]


def _by_name(manifest: BundleManifest) -> Named:
    """Indexes say nothing that the packages do not."""
    found: Named = defaultdict(set)
    for entry in manifest.files:
        if entry.kind is not BundleFileKind.INDEX:
            found[entry.kind.value, _qualified(entry, manifest)].add((entry.version, entry.sha256))
    return found


def _qualified(entry: BundleFile, manifest: BundleManifest) -> str:
    """A package of two systems is two packages."""
    if entry.kind is BundleFileKind.DEB and len(manifest.systems) > 1:
        return f"{entry.path.split('/')[1]} {entry.name}"
    return entry.name
