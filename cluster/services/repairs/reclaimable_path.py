"""One path that can be deleted to free disk space: its size and reason, and its deletion without following links."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cluster.failpoints import external_call
from cluster.files import safe_files

DELETING_SUFFIX = ".gone"
"""The suffix of a folder that is being deleted: if the process is killed, the rest is not taken for a complete
folder."""


@dataclass(frozen=True)
class ReclaimablePath:
    """`code` is the reason. `size` is in bytes and includes the contents of a folder."""

    path: Path
    size: int
    code: str


def tree_size(path: Path) -> int:
    """The size in bytes. Files that disappear in between count as zero."""
    if path.is_symlink() or not path.is_dir():
        return path_size(path)
    return sum(path_size(Path(folder, name)) for folder, _, names in os.walk(path) for name in names)


def path_size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def modified_at(path: Path) -> float:
    return path.stat(follow_symlinks=False).st_mtime


def delete_reclaimable_path(path: Path) -> None:
    """Deletes the path without following links in it, because root may delete folders of services."""
    with external_call("leftovers.delete"), safe_files.open_folder_path(path.parent) as parent:
        if safe_files.kind_at(parent, path.name) != stat.S_IFDIR:
            safe_files.remove_name(parent, path.name)
            return
        going = path.name
        if path.suffix != DELETING_SUFFIX:
            going = f"{path.name}{DELETING_SUFFIX}"
            safe_files.remove_tree(parent, going)  # The folder was half deleted before and then built again.
            safe_files.move_at(parent, path.name, parent, going)
        safe_files.remove_tree(parent, going)
