"""Writes a version of code beside its future place, so that it appears there completely or not at all."""

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cluster.domain.code_files import CodeFile
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.services.storage import folders
from cluster.settings import Settings

STAGED_PREFIX = ".staged-"
"""The prefix of code that is being written. A version is named by its number, in its training's folder."""


class StagedCode:
    """The files of a future version of code, complete in a hidden folder beside the trainings' folders."""

    def __init__(self, settings: Settings, workspace_id: int, code: int, name: str) -> None:
        self.settings, self.workspace_id = settings, workspace_id
        self.code, self.name = code, name
        self.files: list[CodeFile] = []

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        staging = safe_files.make_folder(self.code, self.name)
        try:
            for path, content in files:
                write_code_file(staging, path, content)
                self.files.append(CodeFile(path, len(content), hashlib.sha256(content).hexdigest()))
            folders.give_to_group(self.settings, staging, self.workspace_id)
        finally:
            os.close(staging)

    def place(self, training_id: int, version: int) -> None:
        """Gives the folder its name in one step. It replaces the leftover of an interrupted call."""
        rights = folders.group_rights(self.settings, self.workspace_id)
        with external_call("storage.code_in_its_place"):
            versions = safe_files.ensure_folder(self.code, str(training_id), rights.folder, rights.owner)
            try:
                safe_files.remove_tree(versions, str(version))
                safe_files.move_at(self.code, self.name, versions, str(version))
            finally:
                os.close(versions)


@contextmanager
def staged_code(
    settings: Settings, workspace_id: int, files: Iterable[tuple[str, bytes]]
) -> Iterator[StagedCode]:
    """Writes files by their relative paths. Files that are not placed before the end are deleted.

    Raises Unavailable if the workspace has no folder yet.
    """
    workspace = folders.ensure_workspace_folder(settings, workspace_id)
    with safe_files.open_folder_path(workspace, "code") as code:
        staged = StagedCode(settings, workspace_id, code, f"{STAGED_PREFIX}{secrets.token_hex(8)}")
        try:
            with external_call("staged_code.write_code"):
                staged.write(files)
            yield staged
        finally:
            with external_call("storage.staged_code_removed"):
                safe_files.remove_tree(code, staged.name)


def write_code_file(folder: int, path: str, content: bytes) -> None:
    """Creates the folders of the path as well. Raises UnsafeFile and FileExistsError."""
    *parents, name = path.split("/")
    opened = [folder]
    try:
        for part in parents:
            opened.append(safe_files.ensure_folder(opened[-1], part, 0o700))
        safe_files.create_synced_file(opened[-1], name, content)
    finally:
        for descriptor in opened[1:]:
            os.close(descriptor)


def write_code(
    settings: Settings, folder: Path, files: Sequence[tuple[str, bytes]], workspace_id: int
) -> None:
    """Writes a code version completely or not at all, and replaces the leftover of an interrupted call.

    Raises Unavailable if the workspace has no folder yet.
    """
    training, version = folder.parts[-2:]
    with staged_code(settings, workspace_id, files) as staged:
        staged.place(int(training), int(version))


def delete_code(settings: Settings, workspace_id: int, training_id: int) -> None:
    """Deletes all versions. If a crash leaves files, they are deleted with other orphaned code a day later."""
    workspace = folders.workspace_folder(settings, workspace_id)
    with (
        suppress(FileNotFoundError),
        safe_files.open_folder_path(workspace, "code") as code,
        external_call("storage.code_deleted"),
    ):
        safe_files.remove_tree(code, str(training_id))


def receive_archive(settings: Settings, content: bytes) -> Path:
    """Keeps an archive beside unfinished uploads. The caller deletes an archive that was not taken in."""
    received = folders.incoming_folder(settings) / f"{folders.UPLOAD_PREFIX}{secrets.token_hex(8)}"
    with external_call("code.archive_received"), received.open("xb") as file:
        file.write(content)
        os.fsync(file.fileno())
    return received


def take_in_archive(settings: Settings, received: Path, training_id: int, version: int) -> None:
    """Names the archive as the task that unpacks it finds it."""
    with external_call("code.archive_taken_in"):
        received.rename(folders.incoming_code(settings, training_id, version))


def forget_archive(received: Path) -> None:
    with external_call("code.archive_forgotten"):
        received.unlink(missing_ok=True)
