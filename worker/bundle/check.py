"""Check that a bundle matches its manifest. Standard library only: hosts run this file by itself."""

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

FORMAT = 1
MANIFEST = "manifest.json"
TEXTS = ("path", "kind", "name", "version", "sha256", "licence", "source")
"""What is said of each file, beside its size."""


class NotABundle(Exception):
    """Not a bundle, or not one that this version understands; says why."""


def read_manifest_file(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """The manifest, or a copy of one under another name; raises NotABundle."""
    file = folder / name
    try:
        found: Any = json.loads(file.read_text())
    except FileNotFoundError as error:
        raise NotABundle(f"{folder} holds no bundle: {name} is missing") from error
    except (OSError, ValueError) as error:
        raise NotABundle(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotABundle(f"{file} is not a manifest of format {FORMAT}")
    if not is_manifest_well_formed(found):
        raise NotABundle(f"{file} is damaged, or was not written by a collector")
    return found


def read_installed_manifest(file: Path | None) -> dict[str, Any] | None:
    """What a host has noted; None where it has not, or that is damaged: then every file is read."""
    try:
        return None if file is None else read_manifest_file(file.parent, file.name)
    except NotABundle:
        return None


def is_manifest_well_formed(manifest: dict[str, Any]) -> bool:
    """Whether it says what is asked of it below, and names nothing outside its folder."""
    texts = [manifest.get(name) for name in ("version", "made", "collector")]
    systems, files = manifest.get("systems"), manifest.get("files")
    return (
        isinstance(systems, list)
        and all(isinstance(each, str) for each in [*texts, *systems])
        and isinstance(files, list)
        and all(is_entry_well_formed(each) for each in files)
    )


def is_entry_well_formed(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {*TEXTS, "size"}:
        return False
    path = PurePosixPath(entry["path"] if isinstance(entry["path"], str) else "..")
    is_beneath = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    return (
        is_beneath and isinstance(entry["size"], int) and all(isinstance(entry[name], str) for name in TEXTS)
    )


def find_faults(folder: Path, manifest: dict[str, Any], whole: bool = True) -> Iterator[str]:
    """A sentence for each file that is missing, changed or more than there should be.

    Without `whole` only the sizes are compared, which takes no time.
    """
    listed = {entry["path"] for entry in manifest["files"]}
    for entry in manifest["files"]:
        try:
            yield from find_fault(folder / entry["path"], entry, whole)
        except OSError as error:
            yield f"{entry['path']} cannot be read: {error.strerror}"
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name != MANIFEST and name not in listed and (path.is_symlink() or not path.is_dir()):
            yield f"{name} is not in the manifest"


def find_fault(path: Path, entry: dict[str, Any], whole: bool) -> Iterator[str]:
    """At most one sentence. Raises OSError."""
    if path.is_symlink() or not path.is_file():
        yield f"{entry['path']} is missing"
    elif path.stat().st_size != entry["size"]:
        yield f"{entry['path']} has {path.stat().st_size} bytes, not {entry['size']}"
    elif whole and sha256_of(path) != entry["sha256"]:
        yield f"{entry['path']} is not what was collected: its SHA-256 differs"


def find_downgrade(manifest: dict[str, Any], installed: dict[str, Any]) -> Iterator[str]:
    """A sentence where what is installed is newer."""
    if manifest["made"] < installed["made"]:
        yield f"bundle {manifest['version']} is older than {installed['version']}, which is installed here"


def this_system() -> str:
    """As debian-12."""
    release = platform.freedesktop_os_release()
    return f"{release['ID']}-{release.get('VERSION_ID', '')}"


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: list[str]) -> int:
    """Prints the faults and ends with 1, or `whole` and the version; `known` where this very bundle was read before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--installed", type=Path, help="the manifest that was installed last")
    parser.add_argument("--here", action="store_true", help="it must have packages for this machine")
    parser.add_argument("--may-be-older", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        manifest = read_manifest_file(chosen.folder)
    except NotABundle as error:
        print(error)
        return 1
    before = read_installed_manifest(chosen.installed)
    faults = list(find_faults(chosen.folder, manifest, whole=manifest != before))
    if before and not chosen.may_be_older:
        faults += find_downgrade(manifest, before)
    system = this_system()
    if chosen.here and system not in manifest["systems"]:
        faults.append(f"the bundle holds packages for {', '.join(manifest['systems'])}, not for {system}")
    known = "known" if manifest == before else "whole"
    print("\n".join(faults) or f"{known} {manifest['version']} {system}")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
