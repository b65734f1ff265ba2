"""Reads the versions of a training's code: their rows, the files that they have, and the contents."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session, joinedload, undefer

from cluster.domain.code_files import CodeFile
from cluster.domain.errors import NotFound
from cluster.domain.states import CodeState
from cluster.files.safe_files import list_names
from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    open_file_beneath,
    open_file_size,
    open_folder_beneath,
)
from cluster.services.context import Cluster
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.trainings import CodeVersion, Training

LISTED_VERSIONS = 200
VERSIONS = CodeVersion.__table__
MANIFEST = select(VERSIONS.c.state, VERSIONS.c.manifest).where(
    VERSIONS.c.training_id == bindparam("training"), VERSIONS.c.number == bindparam("number")
)
"""The statement is built once and reads columns, because every submission of own code executes it."""


def read_newest_number(cluster: Cluster, training_id: int) -> int:
    with cluster.store.read() as session:
        return session.scalar(select(Training.code_version).where(Training.id == training_id)) or 0


def list_code_versions(cluster: Cluster, training: Training) -> list[CodeVersion]:
    """Lists the versions, newest first, without their manifests."""
    query = (
        select(CodeVersion)
        .where(CodeVersion.training_id == training.id)
        .options(joinedload(CodeVersion.creator))
        .order_by(CodeVersion.number.desc())
        .limit(LISTED_VERSIONS)
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def read_ready_version(cluster: Cluster, training: Training, number: int | None = None) -> CodeVersion:
    """Returns the version, the newest one if `number` is None. Raises NotFound, also for one that is not ready."""
    query = (
        select(CodeVersion)
        .where(
            CodeVersion.training_id == training.id,
            CodeVersion.number == (training.code_version if number is None else number),
            CodeVersion.state == CodeState.READY,
        )
        .options(joinedload(CodeVersion.creator), undefer(CodeVersion.manifest))
    )
    with cluster.store.read() as session:
        version = session.scalar(query)
    if version is None:
        raise NotFound("code_version", number)
    return version


def has_code_version(session: Session, training_id: int, number: int) -> bool:
    return bool(
        session.scalar(
            select(func.count())
            .select_from(CodeVersion)
            .where(
                CodeVersion.training_id == training_id,
                CodeVersion.number == number,
                CodeVersion.state == CodeState.READY,
            )
        )
    )


def read_manifest(cluster: Cluster, training: Training, number: int | None = None) -> list[CodeFile]:
    """The files of a version by path. Raises NotFound."""
    number = training.code_version if number is None else number
    with cluster.store.read_columns() as connection:
        version = connection.execute(MANIFEST, {"training": training.id, "number": number}).first()
    if version is not None and version.state is not CodeState.READY:
        raise NotFound("code_version", number)
    if version is not None and version.manifest is not None:
        return [CodeFile(path, size, digest) for path, size, digest in version.manifest]
    if number < 1:
        raise NotFound("code_version", number)
    return scan_code(cluster.settings, training, number)


def read_base(cluster: Cluster, training: Training, number: int) -> list[CodeFile]:
    """The files with which a new version begins: none if there is no version, or its folder was lost."""
    try:
        return read_manifest(cluster, training, number)
    except NotFound:
        return []


def scan_code(settings: Settings, training: Training, number: int) -> list[CodeFile]:
    """Reads a version that an older installation wrote, whose files lie in one folder. Raises NotFound."""
    found = []
    try:
        with open_folder_beneath(settings.storage_dir, *code_parts(training, number)) as folder:
            names = sorted(list_names(folder))
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("code_version", number) from error
    for name in names:
        content = read_code_content(settings, training, number, name)
        found.append(CodeFile(name, len(content), hashlib.sha256(content).hexdigest()))
    return found


def code_parts(training: Training, number: int) -> tuple[str, ...]:
    """The folder of a version below the storage."""
    return folders.WORKSPACES, str(training.workspace_id), "code", str(training.id), str(number)


def read_code_content(settings: Settings, training: Training, number: int, path: str) -> bytes:
    with open_code_file(settings, training, number, path) as file:
        return file.read(open_file_size(file))


@contextmanager
def open_code_file(settings: Settings, training: Training, number: int, path: str) -> Iterator[BinaryIO]:
    """Opens a file of a version and follows no link. Raises NotFound."""
    names = [name for name in path.split("/") if name]
    try:
        if not names:
            raise FileNotPlain(path)
        with open_file_beneath(settings.storage_dir, *code_parts(training, number), *names) as file:
            yield file
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("file", path[:200]) from error
