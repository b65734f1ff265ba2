"""What changes from one bundle to another."""

from worker.bundle.manifest import Entry, Manifest


def differences(old: Manifest, new: Manifest) -> list[str]:
    """A line for each thing that comes, goes or changes; by kind and name, as file names hold versions."""
    before, after = _by_name(old), _by_name(new)
    lines = []
    for key in sorted({*before, *after}):
        kind, name = key
        if key not in before:
            lines.append(f"+ {kind:<6} {name} {after[key].version}")
        elif key not in after:
            lines.append(f"- {kind:<6} {name} {before[key].version}")
        elif before[key].sha256 != after[key].sha256:
            versions = (before[key].version, after[key].version)
            told = " -> ".join(versions) if versions[0] != versions[1] else f"{versions[0]} (other content)"
            lines.append(f"~ {kind:<6} {name} {told}")
    return lines


def _by_name(manifest: Manifest) -> dict[tuple[str, str], Entry]:
    """Indexes say nothing that the packages do not; a package of two systems has two entries."""
    return {
        (entry.kind.value, _qualified(entry, manifest)): entry
        for entry in manifest.files
        if entry.kind.value != "index"
    }


def _qualified(entry: Entry, manifest: Manifest) -> str:
    if entry.kind.value == "deb" and len(manifest.systems) > 1:
        return f"{entry.path.split('/')[1]} {entry.name}"
    return entry.name
