"""Limits the size of request bodies per route, and writes uploaded archives straight to the storage disk."""

import io
import os
import secrets
from pathlib import Path, PurePosixPath
from typing import IO, Any

from flask import Request, current_app, g, request
from werkzeug.datastructures import FileStorage

from cluster.domain.people.permissions import require_administrator
from cluster.services.storage import disk_space, expected_uploads, folders, orphaned_files
from cluster.services.storage.workspace_storage import require_storage_room
from cluster.services.workspaces import queries
from cluster.settings import Settings
from portal.web import slow_uploads
from portal.web.request_context import current_actor, current_cluster
from portal.web.route_permissions import ROUTE_RULES, RouteRule

WHEEL_ENDPOINTS = frozenset({"wheels.upload"})
ARCHIVE_ENDPOINTS = frozenset({"datasets.create", "api_workspaces.DatasetUploads"}) | WHEEL_ENDPOINTS
CODE_ENDPOINTS = frozenset({"trainings.create", "training_code.upload", "api_trainings.CodeArchives"})
MIB = 1024 * 1024
CODE_BYTES = 24 * MIB
FORM_BYTES = 2 * MIB
CODE_API_ENDPOINTS = frozenset({"api_trainings.Trainings", "api_trainings.NewCodeVersion"})
CODE_API_BYTES = 28 * MIB
"""The limit for JSON with the contents in Base64."""
API_BYTES = 512 * 1024
"""The limit for JSON. The largest body is a sweep's list of values."""
ANONYMOUS_BODY_BYTES = 32 * 1024
FORM_FIELDS_BYTES = 256 * 1024
"""The limit for a form without files, which is read whole: half a million fields would delay all other requests."""
FORM_MIMETYPE = "application/x-www-form-urlencoded"
DISK_CHECK_BYTES = 16 * MIB
"""The free space is read again after so many bytes of an archive: several may arrive at the same time."""


class PortalRequest(Request):
    """Accepts large bodies only on pages that take files, and only from people who may upload there."""

    @property
    def max_content_length(self) -> int | None:
        """The limit of the request's body in bytes. A larger one is answered with 413 before any of it is written."""
        if self.is_open_to_anyone:
            return ANONYMOUS_BODY_BYTES
        if self.mimetype == FORM_MIMETYPE:
            return FORM_FIELDS_BYTES
        if self.endpoint in ARCHIVE_ENDPOINTS:
            return current_cluster().settings.upload_limit_bytes
        if self.endpoint in CODE_ENDPOINTS:
            return CODE_BYTES
        if self.endpoint in CODE_API_ENDPOINTS:
            return CODE_API_BYTES
        return API_BYTES if (self.endpoint or "").startswith("api_") else FORM_BYTES

    @max_content_length.setter
    def max_content_length(self, value: int | None) -> None:
        raise AttributeError("a route's limit stands in portal/web/uploads.py")

    @property
    def is_open_to_anyone(self) -> bool:
        """Whether the page is also for people who have not signed in: the forms of such pages have two or three short
        fields.
        """
        return ROUTE_RULES.get(self.endpoint or "") is RouteRule.ANYONE

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        """Checks permission and storage before the first byte of an archive is written. Raises NotFound, Forbidden,
        Refused.
        """
        if self.endpoint not in ARCHIVE_ENDPOINTS or not filename:
            return super()._get_file_stream(total_content_length, content_type, filename, content_length)
        if self.endpoint in WHEEL_ENDPOINTS:
            return receive_wheel(total_content_length or 0)
        values: dict[str, Any] = self.view_args or {}
        workspace = queries.read_workspace(current_cluster(), current_actor(), values["workspace_id"])
        size = total_content_length or 0
        require_storage_room(workspace, "archive", size)
        orphaned_files.delete_orphaned_archives(current_cluster())
        settings = current_cluster().settings
        disk_space.require_disk_space(settings, size)
        name = expected_uploads.upload_name(workspace.id, size, secrets.token_hex(8))
        file = IncomingFile(folders.incoming_folder(settings) / name, settings)
        g.setdefault("arriving", []).append(file)
        # Uploads that arrive at the same time are counted together, this one included, because its file exists by now.
        require_storage_room(
            workspace, "archive", expected_uploads.count_expected_bytes(current_cluster(), workspace.id)
        )
        return file


def receive_wheel(size: int) -> IO[bytes]:
    """Raises Forbidden before the first byte is written."""
    require_administrator(current_actor())
    settings = current_cluster().settings
    disk_space.require_disk_space(settings, size)
    name = f"{folders.UPLOAD_PREFIX}wheel-{secrets.token_hex(8)}"
    file = IncomingFile(folders.incoming_folder(settings) / name, settings)
    g.setdefault("arriving", []).append(file)
    return file


class IncomingFile(io.FileIO):
    """The file of a running upload, which stops growing before the disk falls below its reserve. Raises Unavailable."""

    def __init__(self, path: Path, settings: Settings) -> None:
        super().__init__(path, "xb+")
        self.settings = settings
        self.bytes_since_check = 0

    def write(self, data: Any, /) -> int:
        """Writes all of the data, as a buffered file would."""
        view = memoryview(data).cast("B")
        self.bytes_since_check += len(view)
        if self.bytes_since_check >= DISK_CHECK_BYTES:
            disk_space.require_disk_space(self.settings)
            self.bytes_since_check = 0
        written = 0
        while written < len(view):
            written += super().write(view[written:])
        return written


def init_app(app: Any) -> None:
    app.request_class = PortalRequest
    slow_uploads.init_app(app, ARCHIVE_ENDPOINTS)
    app.teardown_request(delete_incoming_files)


def read_files(field: str) -> list[tuple[str, bytes]]:
    """Name and content of each file of a field; a browser sends one empty part if no file was chosen."""
    files = []
    for file in request.files.getlist(field):
        with file.stream as stream:
            if file.filename:
                files.append((file.filename, stream.read()))
    return files


def read_code_files() -> list[tuple[str, bytes]]:
    """Path and content of each file of `code` and `folder`; a browser names the chosen folder in each path."""
    chosen = [(path.split("/", 1)[-1], content) for path, content in read_files("folder")]
    return read_files("code") + chosen


def read_text(file: FileStorage, most: int, encodings: tuple[str, ...] = ("utf-8-sig",)) -> str | None:
    """The text of a small file by the first encoding that fits; None if it is larger than `most` bytes or no text."""
    with file.stream as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        return None
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def file_name(file: FileStorage) -> str:
    """The last part of the name: some browsers send a path."""
    return PurePosixPath((file.filename or "").replace("\\", "/")).name


def saved_path(file: FileStorage) -> Path:
    """Writes the whole file to the storage disk, so that renaming it is enough to take it over."""
    file.stream.flush()
    os.fsync(file.stream.fileno())
    return Path(file.stream.name)


def delete_incoming_files(error: BaseException | None) -> None:
    """Deletes, at the end of the request, the uploaded files that no service has taken over."""
    if not current_app:
        return
    for file in g.pop("arriving", []):
        file.close()
        Path(file.name).unlink(missing_ok=True)
