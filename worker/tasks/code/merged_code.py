"""Merges the files of an uploaded archive with those that stay of the version before."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cluster.domain.code_files import (
    check_code_path,
    check_code_size,
    find_wrapping_folder,
    is_ignored,
    plan_code_change,
)
from cluster.files.safe_read import open_file_beneath, open_file_size
from cluster.services import code_versions
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.trainings import CodeVersion, Training
from worker.tasks.code.unpacked_code import list_unpacked


def merge_files(
    cluster: Cluster, training: Training, version: CodeVersion, folder: Path
) -> Iterator[tuple[str, bytes]]:
    """Yields the archive's files, then the files of the version before that stay. Raises Refused before the first
    one.
    """
    settings = cluster.settings
    found = {path: size for path, size in list_unpacked(folder) if not is_ignored(path)}
    wrapping = find_wrapping_folder(list(found), version.origin)
    paths = {
        check_code_path(path.removeprefix(f"{wrapping}/"), settings.unicode_file_names): path
        for path in found
    }
    before = code_versions.read_base(cluster, training, version.base or 0)
    change = plan_code_change([file.path for file in before], list(paths))
    sizes = {path: found[unpacked] for path, unpacked in paths.items()}
    check_code_size(sizes | {file.path: file.size for file in before if file.path in set(change.kept)})
    return read_files(settings, training, version, folder, paths, change.kept)


def read_files(
    settings: Settings,
    training: Training,
    version: CodeVersion,
    folder: Path,
    paths: dict[str, str],
    kept: Sequence[str],
) -> Iterator[tuple[str, bytes]]:
    for path, unpacked in paths.items():
        with open_file_beneath(folder, *unpacked.split("/")) as file:
            yield path, file.read(open_file_size(file))
    for path in kept:
        yield path, code_versions.read_code_content(settings, training, version.base or 0, path)
