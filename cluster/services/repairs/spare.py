"""A file or folder that can be deleted, with its size and the reason; deletes it without following links."""

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
    """`code` says why it may go; `size` in bytes, of a folder with all that is in it."""

    path: Path
    size: int
    code: str


def tree_size(path: Path) -> int:
    """Files that disappear meanwhile count zero."""
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
    """Follows no link, neither here nor below: folders of services may be deleted by root."""
    with external_call("leftovers.delete"), safe_files.open_folder_path(path.parent) as parent:
        if safe_files.kind_at(parent, path.name) != stat.S_IFDIR:
            safe_files.remove_name(parent, path.name)
            return
        going = path.name
        if path.suffix != DELETING_SUFFIX:
            going = f"{path.name}{DELETING_SUFFIX}"
            safe_files.remove_tree(parent, going)  # One that was half deleted, and built again since.
            safe_files.move_at(parent, path.name, parent, going)
        safe_files.remove_tree(parent, going)
