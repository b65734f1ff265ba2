"""What differs between the code of two jobs, as a unified diff of their code versions."""

import difflib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.files.safe_files import kind_at, list_names
from cluster.files.safe_read import FileMissing, FileNotPlain, open_folder_beneath, read_small_file

MAX_FILES = 500
MAX_DEPTH = 8
LARGEST_FILE = 256 * 1024
MAX_LINES = 600
"""Of all files together."""
MAX_COMPARED_LINES = 5_000
"""Of one file: difflib takes quadratic time."""


@dataclass(frozen=True)
class CodeVersionFolder:
    """Names one version of a training's code."""

    workspace_id: int
    training_id: int
    version: int

    @property
    def parts(self) -> tuple[str, ...]:
        return "workspaces", str(self.workspace_id), "code", str(self.training_id), str(self.version)


@dataclass(frozen=True)
class CodeDiff:
    """`lines` are those of the diff; `uncompared` are files that differ and are too large or no text."""

    lines: tuple[str, ...]
    uncompared: tuple[str, ...]
    is_cut: bool

    @property
    def is_empty(self) -> bool:
        return not self.lines and not self.uncompared


def compare_code(root: Path, before: CodeVersionFolder, after: CodeVersionFolder) -> CodeDiff:
    """What is missing counts as empty. No link is followed."""
    lines: list[str] = []
    uncompared: list[str] = []
    known = {each: set(list_code_paths(root, each)) for each in (before, after)}
    for path in sorted(known[before] | known[after]):
        name = "/".join(path)
        old, new = (read_small_file(root, *each.parts, *path, limit=LARGEST_FILE) for each in (before, after))
        if old is not None and old == new:
            continue
        old_lines = as_lines(old) if path in known[before] else []
        new_lines = as_lines(new) if path in known[after] else []
        if old_lines is None or new_lines is None:
            uncompared.append(name)
            continue
        lines += difflib.unified_diff(old_lines, new_lines, f"a/{name}", f"b/{name}", lineterm="")
        if len(lines) > MAX_LINES:
            break
    return CodeDiff(tuple(lines[:MAX_LINES]), tuple(uncompared), len(lines) > MAX_LINES)


def as_lines(content: bytes | None) -> list[str] | None:
    """None if it is no text or too large to be compared."""
    if content is None:
        return None
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        return None
    return lines if len(lines) <= MAX_COMPARED_LINES else None


def list_code_paths(root: Path, folder: CodeVersionFolder) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for path in walk_files(root, folder.parts, ()):
        found.append(path)
        if len(found) == MAX_FILES:
            break
    return found


def walk_files(root: Path, base: tuple[str, ...], below: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    try:
        with open_folder_beneath(root, *base, *below) as folder:
            kinds = {name: kind_at(folder, name) for name in sorted(list_names(folder))}
    except (FileMissing, FileNotPlain, OSError):
        return
    for name, mode in kinds.items():
        if stat.S_ISREG(mode):
            yield (*below, name)
        elif stat.S_ISDIR(mode) and len(below) < MAX_DEPTH:
            yield from walk_files(root, base, (*below, name))
