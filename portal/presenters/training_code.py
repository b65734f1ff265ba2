"""The code of a training as its page shows it: one folder of a version, or the beginning of one of its files."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cluster.domain.code_files import CodeFile, compare_manifests, is_at_or_below
from cluster.domain.errors import NotFound
from cluster.files.safe_read import open_file_size
from cluster.services import code_versions
from cluster.services.context import Cluster
from cluster.store.trainings import CodeVersion, Training

PREVIEWED_BYTES = 256 * 1024
COMPARED_BYTES = 256 * 1024
"""The limit for one file. A longer one is only reported to differ, because difflib takes quadratic time."""
COMPARED_LINES = 5_000
COMPARED_FILES = 100
SHOWN_LINES = 4_000
"""The limit for all files together."""


@dataclass(frozen=True)
class CodeEntry:
    """A file or a folder; `size` of a folder is that of all files below it."""

    name: str
    path: str
    is_folder: bool
    size: int
    files: int


@dataclass(frozen=True)
class CodeTab:
    """The shown folder (`entries`) or file (`text`, None if it is no text), at `path` below the code's folder."""

    path: tuple[str, ...]
    entries: Sequence[CodeEntry] | None = None
    size: int = 0
    text: str | None = None
    is_whole: bool = True

    @property
    def parents(self) -> list[tuple[str, str]]:
        """Name and path of each folder above the shown one."""
        return [(name, "/".join(self.path[: number + 1])) for number, name in enumerate(self.path[:-1])]

    @property
    def here(self) -> str:
        return "/".join(self.path)


@dataclass(frozen=True)
class FileDifference:
    """One file. `kind` is added, removed or changed. `lines` are a unified diff; None if it is too long or no text."""

    path: str
    kind: str
    lines: Sequence[str] | None


@dataclass(frozen=True)
class VersionComparison:
    """The differences of two versions. The files of `left_out` differ as well and are not shown."""

    files: Sequence[FileDifference]
    left_out: int

    @property
    def lines(self) -> list[str]:
        """The lines of all files that could be compared."""
        return [line for file in self.files for line in file.lines or ()]

    @property
    def uncompared(self) -> list[str]:
        return [file.path for file in self.files if file.lines is None]


def read_code_tab(cluster: Cluster, training: Training, version: CodeVersion, path: str) -> CodeTab:
    """Raises NotFound."""
    names = tuple(name for name in path.split("/") if name)
    here = "/".join(names)
    manifest = code_versions.read_manifest(cluster, training, version.number)
    if any(file.path == here for file in manifest):
        return read_file_tab(cluster, training, version, names)
    entries = list_folder(manifest, here)
    if not entries and names:
        raise NotFound("file", path[:200])
    return CodeTab(names, entries)


def list_folder(manifest: Sequence[CodeFile], folder: str) -> list[CodeEntry]:
    """Lists folders first, each kind by name."""
    start = f"{folder}/" if folder else ""
    found: dict[str, CodeEntry] = {}
    for file in manifest:
        if not file.path.startswith(start):
            continue
        name, _, rest = file.path.removeprefix(start).partition("/")
        before = found.get(name)
        size, files = (before.size, before.files) if before else (0, 0)
        found[name] = CodeEntry(name, start + name, bool(rest), size + file.size, files + 1)
    return sorted(found.values(), key=lambda one: (not one.is_folder, one.name))


def read_file_tab(
    cluster: Cluster, training: Training, version: CodeVersion, names: tuple[str, ...]
) -> CodeTab:
    with code_versions.open_code_file(cluster.settings, training, version.number, "/".join(names)) as file:
        size, beginning = open_file_size(file), file.read(PREVIEWED_BYTES)
    text = None if b"\0" in beginning else beginning.decode("utf-8", "replace")
    return CodeTab(names, None, size, text, size <= PREVIEWED_BYTES)


def files_below(manifest: Sequence[CodeFile], folder: str) -> list[tuple[str, ...]]:
    """The paths of the files of a folder, relative to it. They are the names in its zip archive. Raises NotFound."""
    start = f"{folder}/" if folder else ""
    found = [
        tuple(file.path.removeprefix(start).split("/"))
        for file in manifest
        if not folder or (file.path != folder and is_at_or_below(file.path, folder))
    ]
    if not found:
        raise NotFound("file", folder[:200])
    return found


def compare_versions(cluster: Cluster, training: Training, before: int, after: int) -> VersionComparison:
    """The files that differ, each as a unified diff if it is a short text. Raises NotFound."""
    versions = (training, before), (training, after)
    return compare_files(
        cluster, versions, [code_versions.read_manifest(cluster, *version) for version in versions]
    )


def compare_code(
    cluster: Cluster, before: tuple[Training, int], after: tuple[Training, int]
) -> VersionComparison:
    """Compares versions of any two trainings; one that is lost has no files."""
    versions = before, after
    return compare_files(
        cluster, versions, [code_versions.read_base(cluster, *version) for version in versions]
    )


def compare_files(
    cluster: Cluster, versions: Sequence[tuple[Training, int]], manifests: Sequence[list[CodeFile]]
) -> VersionComparison:
    difference = compare_manifests(*manifests)
    kinds = dict.fromkeys(difference.added, "added")
    kinds |= dict.fromkeys(difference.removed, "removed")
    kinds |= dict.fromkeys(difference.changed, "changed")
    sizes = [{file.path: file.size for file in manifest} for manifest in manifests]
    left, files = SHOWN_LINES, []
    for path in sorted(kinds)[:COMPARED_FILES]:
        texts = [
            read_compared_lines(cluster, *version, path, known.get(path))
            for version, known in zip(versions, sizes, strict=True)
        ]
        lines = None if None in texts or left <= 0 else list(diff_lines(texts[0] or [], texts[1] or [], path))
        lines = lines if lines is not None and len(lines) <= left else None
        left -= len(lines or ())
        files.append(FileDifference(path, kinds[path], lines))
    return VersionComparison(files, len(kinds) - len(files))


def diff_lines(before: Sequence[str], after: Sequence[str], path: str) -> Iterator[str]:
    return difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="")


def read_compared_lines(
    cluster: Cluster, training: Training, number: int, path: str, size: int | None
) -> list[str] | None:
    """Returns no lines if the version lacks the file; None if the file is too long, no text or lost."""
    if size is None:
        return []
    if size > COMPARED_BYTES:
        return None
    try:
        content = code_versions.read_code_content(cluster.settings, training, number, path)
    except NotFound:
        return None
    if b"\0" in content:
        return None
    lines = content.decode("utf-8", "replace").splitlines()
    return lines if len(lines) <= COMPARED_LINES else None


def print_comparison(comparison: VersionComparison) -> str:
    """Prints the comparison in the format of `diff -u` and git."""
    lines: list[str] = []
    for file in comparison.files:
        lines += file.lines if file.lines is not None else [f"Files a/{file.path} and b/{file.path} differ"]
    return "".join(f"{line}\n" for line in lines)
