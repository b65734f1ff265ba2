"""Edits one text file of a training's code in the browser: each save is a new version."""

import hashlib
from dataclasses import dataclass

from cluster.domain.code_files import is_archive_name, read_editable_text, write_edited_text
from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeSource
from cluster.services import code_uploads, code_versions, trainings
from cluster.services.context import Cluster
from cluster.store.trainings import CodeVersion, Training

EDITS_TRIED = 10


@dataclass(frozen=True)
class EditableFile:
    """A file of version `version` with plain line ends."""

    path: str
    version: int
    text: str


def can_edit_text(path: str, content: bytes) -> bool:
    try:
        read_editable_text(path, content)
    except Refused:
        return False
    return not is_archive_name(path)


def read_editable_file(cluster: Cluster, training: Training, number: int, path: str) -> EditableFile:
    """Raises NotFound, and Refused on `text` for a file that no form can show."""
    code_versions.read_ready_version(cluster, training, number)
    content = code_versions.read_code_content(cluster.settings, training, number, path)
    if is_archive_name(path):
        raise Refused("text", "code.not_editable", file=path)
    return EditableFile(path, number, read_editable_text(path, content))


def save_file(
    cluster: Cluster, actor: Actor, training_id: int, path: str, text: str, base: int
) -> CodeVersion:
    """Makes a new version with this file changed. All other files stay as they are in the newest version.

    Versions that came meanwhile do no harm unless they changed this file. Raises Conflict if they did, Refused on
    `text` if nothing has changed, NotFound and Forbidden.
    """
    training = trainings.read_training(cluster, actor, training_id)
    before = code_versions.read_code_content(cluster.settings, training, base, path)
    content = write_edited_text(text, before)
    if content == before:
        raise Refused("text", "code.nothing_changed", version=base)
    known = hashlib.sha256(before).hexdigest()
    for _ in range(EDITS_TRIED):
        newest = code_versions.read_newest_number(cluster, training_id)
        if newest != base and read_digest(cluster, training, newest, path) != known:
            break
        try:
            return code_uploads.upload_code(
                cluster, actor, training, [(path, content)], (), newest, CodeSource.EDITOR
            )
        except Conflict:
            continue
    raise Conflict("code.file_changed_since", file=path, base=base, newest=newest)


def read_digest(cluster: Cluster, training: Training, number: int, path: str) -> str | None:
    """Returns None if the version has no such file."""
    try:
        manifest = code_versions.read_manifest(cluster, training, number)
    except NotFound:
        return None
    return next((file.sha256 for file in manifest if file.path == path), None)
