"""Reads the working copy of a person and a training, and saves it as a new version of the training's code.

The files are written by the person's programs. They are read without following links, within limits.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import update

from cluster.domain import code_files
from cluster.domain.errors import Conflict, Refused
from cluster.domain.names import shown_text
from cluster.domain.notebooks.jupyter_server import FILES, PACKAGES
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeSource
from cluster.files import safe_read
from cluster.services import code_uploads, code_versions, trainings
from cluster.services.context import Cluster
from cluster.services.storage.notebook_folders import working_copy_parts
from cluster.store.trainings import CodeVersion, Training, WorkingCopy

MOST_ENTRIES = 5_000
DISTRIBUTION = re.compile(r"([A-Za-z0-9._]+)-([A-Za-z0-9.!+_]+)\.dist-info")


@dataclass(frozen=True)
class SavedCopy:
    """The version as which a working copy was saved; `is_new` is False if nothing had changed."""

    version: int
    is_new: bool


@dataclass(frozen=True)
class InstalledPackage:
    """A package that `pip install` has put into a working copy."""

    name: str
    version: str


def read_working_copy(cluster: Cluster, actor: Actor, training_id: int) -> WorkingCopy | None:
    """Reads the person's own working copy. None if there was no notebook of this training yet."""
    with cluster.store.read() as session:
        return session.get(WorkingCopy, (training_id, actor.user_id))


def save_as_version(cluster: Cluster, actor: Actor, training_id: int, overwrite: bool = False) -> SavedCopy:
    """Makes the whole working copy the newest version.

    Raises Refused on `code`, Forbidden, NotFound, and Conflict if there is a newer version than
    the one that the copy began from, unless `overwrite`.
    """
    training = trainings.read_training(cluster, actor, training_id)
    code_uploads.require_training_with_code(cluster, actor, training)
    copy = read_working_copy(cluster, actor, training_id)
    if copy is None:
        raise Refused("code", "notebook.no_files", name=training.name)
    newest = training.code_version
    if newest > copy.code_version and not overwrite:
        raise Conflict("notebook.newer_version", newest=newest, base=copy.code_version)
    files = read_files(cluster, training, actor.user_id)
    before = code_versions.read_base(cluster, training, newest)
    if is_unchanged(files, before):
        return SavedCopy(newest, is_new=False)
    version = upload(cluster, actor, training, files, [file.path for file in before])
    with cluster.store.write() as session:
        changed = update(WorkingCopy).where(
            WorkingCopy.training_id == training_id, WorkingCopy.user_id == actor.user_id
        )
        session.execute(changed.values(code_version=version.number))
    return SavedCopy(version.number, is_new=True)


def upload(
    cluster: Cluster, actor: Actor, training: Training, files: list[tuple[str, bytes]], before: list[str]
) -> CodeVersion:
    """Saves the copy as a new version of the code, without the files that the copy has no longer."""
    here = {path for path, _ in files}
    removed = [path for path in before if path not in here]
    base = training.code_version
    return code_uploads.upload_code(cluster, actor, training, files, removed, base, CodeSource.NOTEBOOK)


def is_unchanged(files: list[tuple[str, bytes]], before: list[code_files.CodeFile]) -> bool:
    return {path: code_files.digest_of(content) for path, content in files} == {
        file.path: file.sha256 for file in before
    }


def read_files(cluster: Cluster, training: Training, user_id: int) -> list[tuple[str, bytes]]:
    """Regular files by path, without what uploads leave out. Raises Refused on `code`."""
    parts = working_copy_parts(training.workspace_id, training.id, user_id)
    found, size = [], 0
    try:
        with safe_read.open_folder_beneath(cluster.settings.storage_dir, *parts, FILES) as folder:
            for path, content in walk(folder, "", [0]):
                size += len(content)
                if size > code_files.LARGEST_CODE_BYTES:
                    raise Refused("code", "code.too_large", bytes=size, limit=code_files.LARGEST_CODE_BYTES)
                found.append((path, content))
    except (safe_read.FileMissing, safe_read.FileNotPlain) as error:
        raise Refused("code", "code.missing") from error
    return sorted(found)


def walk(folder: int, above: str, seen: list[int]) -> Iterator[tuple[str, bytes]]:
    """Yields the files without links and special files. `seen` counts the entries."""
    for name in sorted(safe_read.list_first_names(folder, MOST_ENTRIES + 1)):
        path = f"{above}{name}"
        seen[0] += 1
        if seen[0] > MOST_ENTRIES or path.count("/") > code_files.DEEPEST_CODE:
            raise Refused("code", "code.too_many_files", count=seen[0], limit=code_files.MAX_CODE_FILES)
        if code_files.is_ignored(path):
            continue
        yield from read_entry(folder, name, path, seen)


def read_entry(folder: int, name: str, path: str, seen: list[int]) -> Iterator[tuple[str, bytes]]:
    try:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError as error:
        raise Refused("code", "notebook.unreadable", file=shown_text(path)) from error
    except OSError:
        yield from read_plain(folder, name, path)
        return
    try:
        yield from walk(below, f"{path}/", seen)
    finally:
        os.close(below)


def read_plain(folder: int, name: str, path: str) -> Iterator[tuple[str, bytes]]:
    try:
        with safe_read.open_plain_file(folder, name) as file:
            size = safe_read.open_file_size(file)
            if size > code_files.LARGEST_CODE_BYTES:
                raise Refused("code", "code.too_large", bytes=size, limit=code_files.LARGEST_CODE_BYTES)
            yield path, file.read(size)
    except safe_read.FileMissing as missing:
        if isinstance(missing.__cause__, PermissionError):
            raise Refused("code", "notebook.unreadable", file=shown_text(path)) from missing
    except safe_read.FileNotPlain:
        return


def list_packages(
    cluster: Cluster, training: Training, user_id: int, python: str = ""
) -> list[InstalledPackage]:
    """Lists packages by the names of the folders that pip writes. It opens no file in them.

    `python` is a version as 3.11; an empty one lists the packages of every version.
    """
    parts = (*working_copy_parts(training.workspace_id, training.id, user_id), PACKAGES, "lib")
    found: set[tuple[str, str]] = set()
    try:
        with safe_read.open_folder_beneath(cluster.settings.storage_dir, *parts) as libraries:
            versions = [
                name
                for name in safe_read.list_first_names(libraries, MOST_ENTRIES)
                if re.fullmatch(r"python3\.\d{1,2}", name) and python in ("", name.removeprefix("python"))
            ]
        for version in versions[:10]:
            with safe_read.open_folder_beneath(
                cluster.settings.storage_dir, *parts, version, "site-packages"
            ) as folder:
                names = safe_read.list_first_names(folder, MOST_ENTRIES)
            found |= {match.groups() for name in names if (match := DISTRIBUTION.fullmatch(name))}  # type: ignore[misc]
    except (safe_read.FileMissing, safe_read.FileNotPlain, PermissionError):
        return []
    return [InstalledPackage(name.replace("_", "-"), version) for name, version in sorted(found)]
