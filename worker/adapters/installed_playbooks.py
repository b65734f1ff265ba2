"""Checks that the installed playbooks of repairs belong to root and match their manifest."""

import hashlib
from pathlib import Path

from cluster.domain.errors import Unavailable

MANIFEST = "MANIFEST"


def check_installed_playbooks(folder: Path, owner: int = 0) -> None:
    """Raises Unavailable with the first file that is missing, added or changed, or that
    others than root may change.
    """
    manifest = folder / MANIFEST
    wanted = parse_playbook_manifest(manifest.read_text()) if manifest.is_file() else {}
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if not path.is_dir()}
    found.pop(MANIFEST, None)
    different = sorted(set(wanted) ^ set(found)) or ([] if wanted else [MANIFEST])
    for name in different:
        raise Unavailable("repair.tree_changed", file=name)
    for path in (folder, *folder.rglob("*")):
        about = path.lstat()
        if path.is_symlink() or about.st_uid != owner or about.st_mode & 0o022:
            raise Unavailable("repair.tree_changed", file=str(path.relative_to(folder)))
    for name, path in found.items():
        if hashlib.sha256(path.read_bytes()).hexdigest() != wanted[name]:
            raise Unavailable("repair.tree_changed", file=name)


def parse_playbook_manifest(text: str) -> dict[str, str]:
    """Parses lines in the format of sha256sum."""
    lines = [line.split("  ", 1) for line in text.splitlines() if "  " in line]
    return {name: digest for digest, name in lines}
