"""Decide which files of a commit become the code of a training."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.domain.code_files import check_code_path, check_code_size, is_ignored, plan_code_change
from cluster.domain.errors import Refused

LINK_MODE = "120000"
SUBMODULE_MODE = "160000"
LARGE_FILE_MARK = b"version https://git-lfs.github.com/spec/v1\n"
"""The beginning of the pointer file that replaces a file which Git LFS keeps elsewhere."""
LONGEST_POINTER = 1024
LONGEST_LINK = 4000


@dataclass(frozen=True)
class TreeEntry:
    """A line of `git ls-tree -r -l -z`. A submodule has no size."""

    mode: str
    object_id: str
    size: int
    path: str


def parse_tree(listing: bytes) -> list[TreeEntry]:
    """Raises Refused on `url` for a name that is no UTF-8 text."""
    entries = []
    for line in listing.split(b"\0"):
        if not line:
            continue
        facts, _, name = line.partition(b"\t")
        mode, _kind, object_id, size = facts.decode("ascii").split()
        try:
            path = name.decode()
        except UnicodeDecodeError:
            shown = name.decode("utf-8", "backslashreplace")[:200]
            raise Refused("url", "git.name_unreadable", file=shown) from None
        entries.append(TreeEntry(mode, object_id, int(size) if size.isdigit() else 0, path))
    return entries


def choose_code_entries(entries: Sequence[TreeEntry], unicode_names: bool) -> dict[str, TreeEntry]:
    """The files and links that become code, by their checked paths. Raises Refused for any entry that cannot be code,
    before any content is read.
    """
    chosen: dict[str, TreeEntry] = {}
    for entry in entries:
        if entry.mode == SUBMODULE_MODE:
            raise Refused("url", "git.submodule", path=entry.path[:200])
        if is_ignored(entry.path):
            continue
        if entry.mode == LINK_MODE and entry.size > LONGEST_LINK:
            raise Refused("url", "git.link", path=entry.path[:200], target="…")
        path = check_code_path(entry.path, unicode_names)
        if path in chosen:
            raise Refused("code", "code.twice", name=path)
        chosen[path] = entry
    plan_code_change([], list(chosen), replaces_all=True)
    check_code_size({path: entry.size for path, entry in chosen.items()})
    return chosen


def resolve_code_files(chosen: Mapping[str, TreeEntry], contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The contents by path; a link to another file of the code becomes a copy of it.

    `contents` has the content of each object by its id. Raises Refused for other links and for files that Git LFS keeps
    elsewhere.
    """
    files = {path: contents[entry.object_id] for path, entry in chosen.items() if entry.mode != LINK_MODE}
    for path, content in files.items():
        if len(content) < LONGEST_POINTER and content.startswith(LARGE_FILE_MARK):
            raise Refused("url", "git.large_file", path=path)
    resolved = dict(files)
    for path, entry in chosen.items():
        if entry.mode == LINK_MODE:
            target = contents[entry.object_id].decode("utf-8", "replace")
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if place not in files:
                raise Refused("url", "git.link", path=path, target=target[:200])
            resolved[path] = files[place]
    check_code_size({path: len(content) for path, content in resolved.items()})
    return resolved
