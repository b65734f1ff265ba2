"""Wheels that an administrator has uploaded, from which environments are built if there is no package index."""

import os
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cluster.domain.environments.wheels import FIELD, WheelName, parse_wheel_name
from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.failpoints import external_call
from cluster.files import safe_files, zip_tables
from cluster.services.context import Cluster
from cluster.services.storage.folders import WHEELS, wheels_folder
from cluster.store.audit import add_audit_entry


@dataclass(frozen=True)
class UploadedWheel:
    """A wheel in the folder; `size` is in bytes."""

    file: str
    name: WheelName
    size: int
    uploaded_at: datetime


def list_wheels(cluster: Cluster, actor: Actor) -> list[UploadedWheel]:
    """Lists the uploaded wheels by the names of the files. For administrators."""
    require_administrator(actor)
    found = []
    folder = wheels_folder(cluster.settings)
    for entry in sorted(os.scandir(folder), key=lambda each: each.name) if folder.is_dir() else ():
        try:
            status, name = entry.stat(follow_symlinks=False), parse_wheel_name(entry.name)
        except (FileNotFoundError, Refused):
            continue
        moment = datetime.fromtimestamp(status.st_mtime, UTC)
        found.append(UploadedWheel(entry.name, name, status.st_size, moment))
    return found


def add_wheels(cluster: Cluster, actor: Actor, arrived: list[tuple[str, Path]]) -> None:
    """Adds all wheels or none. Each is (name, file on the storage disk), and the file is moved. Files of the same name
    are replaced.

    Raises Forbidden, and Refused on `wheels`.
    """
    require_administrator(actor)
    if not arrived:
        raise Refused(FIELD, "environment.wheels_missing")
    for name, file in arrived:
        check_wheel(name, file)
    for name, file in arrived:
        put_in_place(cluster, name, file)
    with cluster.store.write() as session:
        names = [name for name, _ in arrived]
        add_audit_entry(session, cluster.clock(), actor, "environment.wheels_added", None, files=names)


def check_wheel(name: str, file: Path) -> None:
    parsed = parse_wheel_name(name)
    try:
        zip_tables.check_zip_table(file)
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
    except (zip_tables.TooManyEntries, zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise Refused(FIELD, "environment.wheel_unreadable", name=name) from None
    if not any(member.endswith(".dist-info/METADATA") for member in members):
        raise Refused(FIELD, "environment.wheel_unreadable", name=parsed.package)


@external_call("wheels.added")
def put_in_place(cluster: Cluster, name: str, file: Path) -> None:
    with (
        safe_files.open_folder_path(file.parent) as source,
        safe_files.open_folder_path(cluster.settings.storage_dir) as storage,
    ):
        if not cluster.settings.service_user:
            os.close(safe_files.ensure_folder(storage, WHEELS, 0o755))
        target = safe_files.open_folder_at(WHEELS, storage)
        try:
            descriptor = safe_files.open_plain_at(source, file.name)
            try:
                safe_files.set_owner_and_mode(descriptor, 0o644)
            finally:
                os.close(descriptor)
            safe_files.move_at(source, file.name, target, name)
            os.fsync(target)
        finally:
            os.close(target)


def delete_wheel(cluster: Cluster, actor: Actor, file: str) -> None:
    """Deletes the wheel. Environments that were built from it stay. Raises Forbidden and NotFound."""
    require_administrator(actor)
    if file not in [wheel.file for wheel in list_wheels(cluster, actor)]:
        raise NotFound("wheel")
    with (
        external_call("wheels.deleted"),
        safe_files.open_folder_path(wheels_folder(cluster.settings)) as folder,
    ):
        safe_files.remove_name(folder, file)
    with cluster.store.write() as session:
        add_audit_entry(session, cluster.clock(), actor, "environment.wheel_deleted", None, file=file)
