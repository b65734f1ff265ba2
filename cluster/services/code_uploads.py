"""Uploads files or an archive as a new version of a training's code."""

from collections.abc import Collection, Iterator, Sequence

from cluster.domain import code_files
from cluster.domain.code_files import CodeChange, CodeFile, CodeUpload
from cluster.domain.errors import Conflict, Refused
from cluster.domain.names import check_file_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import CodeSource, TrainingKind
from cluster.services import code_imports, code_version_rows, code_versions
from cluster.services.context import Cluster
from cluster.services.people.access import require_active_workspace, training_relation
from cluster.services.storage import disk_space, staged_code, workspace_storage
from cluster.settings import Settings
from cluster.store.trainings import CodeVersion, Training

CodeFiles = Sequence[tuple[str, bytes]]
"""[(relative path, content), …]. A single archive is unpacked."""
UPLOADS_TRIED = 10
"""The number of tries of an upload. If another upload was faster, it begins again with that upload's version."""


def check_code_upload(cluster: Cluster, code: CodeFiles) -> CodeUpload:
    """Checks names by the file-name rule (NFC). Caches and folders of version control are left out.

    Raises Refused on `code`, and Unavailable while the disk is full.
    """
    unicode_names = cluster.settings.unicode_file_names
    disk_space.require_disk_space(cluster.settings, sum(len(content) for _, content in code))
    archives = [name for name, _ in code if code_files.is_archive_name(name)]
    if archives and len(code) > 1:
        raise Refused("code", "code.archive_alone", name=archives[0])
    if archives:
        name, content = code[0]
        return CodeUpload((), check_file_name(name, unicode_names, "code"), content)
    kept = [(path, content) for path, content in code if not code_files.is_ignored(path)]
    return CodeUpload([(code_files.check_code_path(path, unicode_names), content) for path, content in kept])


def plan_upload(upload: CodeUpload, before: Sequence[CodeFile], removed: Collection[str]) -> CodeChange:
    """Raises Refused on `code`."""
    change = code_files.plan_code_change(
        [file.path for file in before], [path for path, _ in upload.files], removed
    )
    sizes = {path: len(content) for path, content in upload.files}
    kept = set(change.kept)
    code_files.check_code_size(sizes | {file.path: file.size for file in before if file.path in kept})
    return change


def can_upload_code(actor: Actor, training: Training) -> bool:
    return is_allowed("training.upload_code", training_relation(actor, training))


def is_archive(name: str) -> bool:
    return code_files.is_archive_name(name)


def check_archive(
    cluster: Cluster, actor: Actor, training: Training, name: str, size: int, base: int | None
) -> None:
    """Refuses an upload before it begins; `size` is in bytes. Raises Refused, Conflict, Unavailable and Forbidden."""
    require_training_with_code(cluster, actor, training)
    if not is_archive(name):
        raise Refused("archive", "code.no_archive", name=name)
    check_file_name(name, cluster.settings.unicode_file_names, "archive")
    newest = code_versions.read_newest_number(cluster, training.id)
    if base is not None and base != newest:
        raise Conflict("code.changed_since", base=base, newest=newest)
    disk_space.require_disk_space(cluster.settings, size)
    workspace_storage.require_storage_room(training.workspace, "archive", size)


def require_training_with_code(cluster: Cluster, actor: Actor, training: Training) -> None:
    """Raises Forbidden, and Refused on `code`."""
    require_permission("training.upload_code", training_relation(actor, training), training.id)
    require_active_workspace(cluster, training.workspace, "code")
    if training.kind is TrainingKind.BUILT_IN:
        raise Refused("code", "code.built_in_has_none", name=training.name)
    if training.archived_at is not None:
        raise Refused("code", "training.archived", name=training.name)


def upload_code(
    cluster: Cluster,
    actor: Actor,
    training: Training,
    code: CodeFiles,
    removed: Collection[str] = (),
    base: int | None = None,
    source: CodeSource = CodeSource.FILES,
) -> CodeVersion:
    """Makes a new version beside the old ones, which jobs still name. The owner and managers may.

    It begins with the files of version `base`, the newest if None. Raises Refused on `code`, and Conflict if `base` is
    not the newest any more.
    """
    require_training_with_code(cluster, actor, training)
    size = sum(len(content) for _, content in code)
    workspace_storage.require_storage_room(training.workspace, "code", size)
    upload = check_code_upload(cluster, code)
    for _ in range(UPLOADS_TRIED):
        newest = code_versions.read_newest_number(cluster, training.id)
        if base is not None and base != newest:
            break
        version = try_upload(cluster, actor, training, upload, removed, newest, source)
        if version is not None:
            cluster.events.publish("trainings", training.id)
            return version
    raise Conflict("code.changed_since", base=base or 0, newest=newest)


def try_upload(
    cluster: Cluster,
    actor: Actor,
    training: Training,
    upload: CodeUpload,
    removed: Collection[str],
    newest: int,
    source: CodeSource = CodeSource.FILES,
) -> CodeVersion | None:
    """Returns None, and has written nothing, if another upload was faster."""
    if upload.archive_name:
        return code_imports.request_import(cluster, actor, training.id, upload, newest)
    before = code_versions.read_base(cluster, training, newest)
    change = plan_upload(upload, before, removed)
    files = iterate_files(cluster.settings, training, newest, upload.files, change)
    # Two at once would take the same number; only the files are written outside the lock.
    with (
        staged_code.staged_code(cluster.settings, training.workspace_id, files) as staged,
        cluster.store.write(lock=f"code of training {training.id}") as session,
    ):
        row = session.get_one(Training, training.id)
        if row.code_version != newest:
            return None
        version = code_version_rows.new_version(session, actor, row, source, newest or None, cluster.clock())
        code_version_rows.place_version(session, row, version, staged)
        code_version_rows.add_upload_entry(session, actor, version)
    return version


def iterate_files(
    settings: Settings, training: Training, base: int, files: CodeFiles, change: CodeChange
) -> Iterator[tuple[str, bytes]]:
    yield from files
    for path in change.kept:
        yield path, code_versions.read_code_content(settings, training, base, path)
