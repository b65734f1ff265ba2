"""Creates datasets (uploaded archive, registered path, sample digits), lists and deletes them, and records the end of
their import."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.names import LONGEST_FILE_NAME, check_dataset_name, suggest_file_name, suggest_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.refusals import Refusals
from cluster.domain.states import LIVE_JOB_STATES, DatasetKind, DatasetState, OperationKind, OperationState
from cluster.domain.storage.upload_archives import is_name_refusal
from cluster.failpoints import external_call
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import (
    end_operation,
    enqueue_operation,
    fail_operation,
    finish_operation,
    request_operation,
)
from cluster.services.operations.retries import requeue_operation
from cluster.services.people.access import (
    dataset_relation,
    load_workspace,
    require_active_workspace,
    workspace_relation,
)
from cluster.services.storage import folders
from cluster.services.storage.dataset_files import DatasetFiles, locate_dataset_files
from cluster.services.storage.disk_space import require_disk_space
from cluster.services.storage.registered_paths import check_registered_path
from cluster.services.storage.workspace_storage import add_stored_bytes, require_storage_room
from cluster.store.audit import add_audit_entry
from cluster.store.datasets import Dataset
from cluster.store.jobs import IS_LIVE, Job
from cluster.store.operations import Operation
from cluster.store.sql.visibility import can_see_dataset, can_see_job
from cluster.store.workspaces import Workspace

ARCHIVE_ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
SAMPLE_NAME = "digits"


def create_upload(
    cluster: Cluster, actor: Actor, workspace_id: int, name: str, archive_name: str, received: Path | None
) -> Dataset:
    """`received` is the whole archive in the incoming folder; it is renamed, never copied, and unpacked
    by an operation. None if the form had none. Raises Refused on `name` and `archive`."""
    refusals = Refusals()
    refusals.check(check_dataset_name, name)
    refusals.require("archive", received)
    refusals.check(check_archive_kind, archive_name)
    refusals.raise_all()

    def take_in(dataset: Dataset) -> None:
        # The archive's own name is only shown, so no name is refused.
        dataset.archive = suggest_archive_name(cluster, archive_name)
        archive = folders.incoming_archive(cluster.settings, dataset.id)
        assert received is not None
        with external_call("datasets.archive_taken_in"):
            received.rename(archive)

    return create_dataset(
        cluster, actor, workspace_id, name, DatasetKind.UPLOAD, OperationKind.DATASET_IMPORT, take_in
    )


def check_upload(
    cluster: Cluster, actor: Actor, workspace_id: int, name: str, archive_name: str, size: int
) -> None:
    """Refuses an upload before it begins. `size` is the archive's size in bytes; `archive_name` is empty if no archive
    was chosen yet. Raises Refused, Unavailable, Forbidden and NotFound.
    """
    refusals = Refusals()
    refusals.check(check_dataset_name, name)
    if archive_name:
        refusals.check(check_archive_kind, archive_name)
    limit = cluster.settings.upload_limit_bytes
    if size > limit:
        refusals.add(Refused("archive", "archive.over_limit", size=size, limit=limit))
    with cluster.store.read() as session:
        workspace = load_workspace(session, actor, workspace_id)
        require_permission("dataset.create", workspace_relation(actor, workspace), workspace_id)
        refusals.check(require_active_workspace, cluster, workspace, "name")
        refusals.check(require_storage_room, workspace, "archive", size)
        refusals.check(require_free_dataset_name, session, workspace_id, name)
    refusals.raise_all()
    require_disk_space(cluster.settings, size)


def require_free_dataset_name(session: Session, workspace_id: int, name: str) -> None:
    """Refuses a used name and suggests a free one. A failed dataset does not keep its name from others."""
    taken = set(session.scalars(select(Dataset.name).where(*names_in_use(workspace_id))))
    if name in taken:
        names = (f"{name[:46].rstrip('-')}-{number}" for number in range(2, 1000))
        repaired = next((other for other in names if other not in taken), "")
        raise Refused("name", "name.taken", name=name, repaired=repaired)


def names_in_use(workspace_id: int) -> tuple[ColumnElement[bool], ...]:
    return Dataset.workspace_id == workspace_id, is_not_deleted(), Dataset.state != DatasetState.FAILED


def check_archive_kind(archive_name: str) -> None:
    if not archive_name.lower().endswith(ARCHIVE_ENDINGS):
        raise Refused("archive", "archive.unknown_kind", name=archive_name, endings=list(ARCHIVE_ENDINGS))


def split_ending(archive_name: str) -> tuple[str, str]:
    """Returns (name, ending). The ending says how the archive is packed; it is empty if it is unknown."""
    lower = archive_name.lower()
    length = max((len(each) for each in ARCHIVE_ENDINGS if lower.endswith(each)), default=0)
    cut = len(archive_name) - length
    return archive_name[:cut], archive_name[cut:]


def suggest_archive_name(cluster: Cluster, archive_name: str) -> str:
    """A file name with the same ending."""
    name, ending = split_ending(archive_name)
    suggested = suggest_file_name(name, cluster.settings.unicode_file_names)
    room = LONGEST_FILE_NAME - len(ending)
    return suggested.encode()[:room].decode("utf-8", "ignore") + ending


def suggest_dataset_name(archive_name: str) -> str:
    """The dataset name that a form proposes for an archive; may be empty."""
    return suggest_name(split_ending(archive_name)[0], 50)


def unpack_with_latin_names(cluster: Cluster, actor: Actor, dataset_id: int) -> None:
    """Unpacks the archive of a failed upload again; each file name that the rule refuses is replaced by the one that it
    suggests. Raises Conflict if the dataset did not fail because of a name, or if another dataset has its name by now.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        dataset = load_dataset(session, actor, dataset_id)
        require_permission("dataset.unpack_again", dataset_relation(actor, dataset), dataset_id)
        require_active_workspace(cluster, dataset.workspace, "dataset")
        if not failed_at_names(dataset):
            raise Conflict("dataset.not_failed_at_names", name=dataset.name)
        dataset.has_latin_names = True
        operation = session.get_one(Operation, dataset.operation_id, with_for_update=True)
        requeue_operation(session, operation, actor, now)
        add_audit_entry(session, now, actor, "dataset.unpacked_again", dataset.id, name=dataset.name)
    enqueue_operation(cluster, operation)
    cluster.events.publish("datasets", dataset_id)


def can_unpack_again(actor: Actor, dataset: Dataset) -> bool:
    """Whether the person may have the upload unpacked with Latin names, and whether that would help."""
    relation = dataset_relation(actor, dataset)
    return failed_at_names(dataset) and is_allowed("dataset.unpack_again", relation)


def list_suggested_names(dataset: Dataset) -> list[tuple[str, str]]:
    """Lists the archive's names that the rule refuses, each with the name that it suggests."""
    if not failed_at_names(dataset):
        return []
    data = dataset.error_data or {}
    suggested = data.get("suggested") or [[data.get("file", ""), data.get("repaired", "")]]
    return [(name, latin) for name, latin in suggested]


def failed_at_names(dataset: Dataset) -> bool:
    """Whether the file names of the archive are all that is wrong with it."""
    code = dataset.error_code or ""
    is_upload = dataset.kind is DatasetKind.UPLOAD and dataset.state is DatasetState.FAILED
    return is_upload and not dataset.has_latin_names and is_name_refusal(code)


def register_path(cluster: Cluster, actor: Actor, workspace_id: int, name: str, path: str) -> Dataset:
    """Registers files that stay where they are. The path must lie beneath the installation's dataset roots, and only
    the workspace's manager or an administrator may register it, because a path may contain more than its name says.
    """
    refusals = Refusals()
    refusals.check(check_dataset_name, name)
    folder = refusals.check(check_registered_path, cluster.settings, path)
    refusals.raise_all()

    def remember(dataset: Dataset) -> None:
        dataset.path = str(folder)

    return create_dataset(
        cluster, actor, workspace_id, name, DatasetKind.PATH, OperationKind.DATASET_IMPORT, remember
    )


def create_sample(cluster: Cluster, actor: Actor, workspace_id: int) -> Dataset:
    """Creates a dataset of real handwritten digits, once per workspace, named `digits` or the next free name."""
    with cluster.store.read() as session:
        load_workspace(session, actor, workspace_id)
        taken = set(session.scalars(select(Dataset.name).where(*names_in_use(workspace_id))))
    names = [SAMPLE_NAME, *(f"{SAMPLE_NAME}-{number}" for number in range(2, 1000))]
    name = next(name for name in names if name not in taken)
    return create_dataset(
        cluster, actor, workspace_id, name, DatasetKind.SAMPLE, OperationKind.DATASET_SAMPLE
    )


def create_dataset(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int,
    name: str,
    kind: DatasetKind,
    operation_kind: OperationKind,
    complete: Callable[[Dataset], None] = lambda dataset: None,
) -> Dataset:
    action = "dataset.register_path" if kind is DatasetKind.PATH else "dataset.create"
    now = cluster.clock()
    if kind is not DatasetKind.PATH:
        require_disk_space(cluster.settings)
    try:
        with cluster.store.write() as session:
            workspace = load_workspace(session, actor, workspace_id)
            require_permission(action, workspace_relation(actor, workspace), workspace_id)
            require_active_workspace(cluster, workspace, "name")
            if kind is not DatasetKind.PATH:
                require_storage_room(workspace, "archive" if kind is DatasetKind.UPLOAD else "name")
            replaced = give_up_failed_dataset(session, actor, workspace, name, now)
            dataset = Dataset(
                workspace_id=workspace.id, name=name, kind=kind, created_by=actor.user_id, created_at=now
            )
            session.add(dataset)
            session.flush()
            complete(dataset)
            operation = request_operation(session, operation_kind, dataset.id, actor, now, workspace.id)
            dataset.operation_id = operation.id
            add_audit_entry(session, now, actor, "dataset.created", dataset.id, name=name, kind=kind.value)
    except IntegrityError:
        raise Refused("name", "name.taken", name=name) from None
    for requested in filter(None, (operation, replaced)):
        enqueue_operation(cluster, requested)
    cluster.events.publish("datasets", dataset.id)
    return dataset


def give_up_failed_dataset(
    session: Session, actor: Actor, workspace: Workspace, name: str, now: datetime
) -> Operation | None:
    """Deletes the dataset of this name if it failed, this person may delete it and no live job waits for it: a failed
    upload does not keep its name. Returns the operation that deletes its files; the caller enqueues it.
    """
    failed = session.scalar(
        select(Dataset).where(
            Dataset.workspace_id == workspace.id,
            Dataset.name == name,
            Dataset.state == DatasetState.FAILED,
            is_not_deleted(),
            ~exists().where(Job.dataset_id == Dataset.id, IS_LIVE),
        )
    )
    if failed is None or not is_allowed("dataset.delete", dataset_relation(actor, failed)):
        return None
    operation = mark_deleted(session, actor, failed, now)
    session.flush()
    return operation


def give_up_import(session: Session, dataset: Dataset, now: datetime) -> None:
    """Closes the interrupted import of a deleted dataset, so that no person has to decide about it any more."""
    importing = session.get(Operation, dataset.operation_id) if dataset.operation_id else None
    if importing is not None and importing.state is OperationState.INTERRUPTED:
        importing.error_code, importing.error_data = "operation.subject_deleted", {}
        end_operation(importing, OperationState.FAILED, now)


def mark_deleted(session: Session, actor: Actor, dataset: Dataset, now: datetime) -> Operation | None:
    """Returns the operation that deletes its files, which the caller enqueues. None if its files stay."""
    dataset.deleted_at = now
    give_up_import(session, dataset, now)
    operation = None
    if not dataset.path:
        operation = request_operation(
            session, OperationKind.DATASET_DELETE, dataset.id, actor, now, dataset.workspace_id
        )
    add_audit_entry(session, now, actor, "dataset.deleted", dataset.id, name=dataset.name)
    return operation


def is_not_deleted() -> Any:
    return Dataset.deleted_at.is_(None)


def list_datasets(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int | None = None,
    before_id: int | None = None,
    limit: int = 500,
) -> list[Dataset]:
    """Lists datasets, newest first, those before `before_id` (keyset). Administrators see all."""
    query = select(Dataset).where(*shown_datasets(actor, workspace_id))
    if before_id is not None:
        query = query.where(Dataset.id < before_id)
    query = query.options(joinedload(Dataset.workspace), joinedload(Dataset.creator))
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Dataset.id.desc()).limit(limit)))


def count_datasets(cluster: Cluster, actor: Actor, workspace_id: int | None = None) -> int:
    with cluster.store.read() as session:
        query = select(func.count()).select_from(Dataset).where(*shown_datasets(actor, workspace_id))
        return session.scalar(query) or 0


def shown_datasets(actor: Actor, workspace_id: int | None) -> Iterator[ColumnElement[bool]]:
    yield can_see_dataset(actor)
    yield is_not_deleted()
    if workspace_id is not None:
        yield Dataset.workspace_id == workspace_id


def selectable_datasets(rows: Iterable[Dataset]) -> list[Dataset]:
    """Lists datasets that a job may choose. A dataset that is being prepared is listed, because the job then waits for
    it; a failed one is left out.
    """
    return [dataset for dataset in rows if dataset.state is not DatasetState.FAILED]


def first_ready_dataset(rows: Iterable[Dataset]) -> Dataset | None:
    return next((dataset for dataset in rows if dataset.state is DatasetState.READY), None)


def load_dataset(session: Session, actor: Actor, dataset_id: int) -> Dataset:
    dataset = session.scalar(
        select(Dataset)
        .where(Dataset.id == dataset_id, can_see_dataset(actor), is_not_deleted())
        .options(joinedload(Dataset.workspace).selectinload(Workspace.members), joinedload(Dataset.creator))
    )
    if dataset is None:
        raise NotFound("dataset", dataset_id)
    return dataset


def read_dataset(cluster: Cluster, actor: Actor, dataset_id: int) -> Dataset:
    with cluster.store.read() as session:
        return load_dataset(session, actor, dataset_id)


def read_dataset_files(cluster: Cluster, actor: Actor, dataset_id: int) -> tuple[Dataset, DatasetFiles]:
    """Raises NotFound, Conflict for a dataset that is not ready, and Refused for a path that leads elsewhere."""
    dataset = read_dataset(cluster, actor, dataset_id)
    return dataset, locate_dataset_files(cluster.settings, actor, dataset)


def list_reading_jobs(cluster: Cluster, actor: Actor, dataset_id: int) -> Sequence[Job]:
    """Lists the newest jobs that read the dataset and that the person may see."""
    query = select(Job).where(Job.dataset_id == dataset_id, can_see_job(actor)).options(joinedload(Job.user))
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Job.id.desc()).limit(50)))


def can_delete_dataset(actor: Actor, dataset: Dataset) -> bool:
    return is_allowed("dataset.delete", dataset_relation(actor, dataset))


def rename_dataset(cluster: Cluster, actor: Actor, dataset_id: int, name: str) -> None:
    """The dataset's creator, the workspace's manager and administrators may rename it. Raises Refused on `name`."""
    check_dataset_name(name)
    now = cluster.clock()
    try:
        with cluster.store.write() as session:
            dataset = load_dataset(session, actor, dataset_id)
            require_permission("dataset.edit", dataset_relation(actor, dataset), dataset_id)
            former, dataset.name = dataset.name, name
            if former != name:
                add_audit_entry(session, now, actor, "dataset.renamed", dataset_id, former=former, name=name)
    except IntegrityError:
        raise Refused("name", "name.taken", name=name) from None
    cluster.events.publish("datasets", dataset_id)


def delete_dataset(cluster: Cluster, actor: Actor, dataset_id: int) -> None:
    """The dataset's creator, the workspace's manager and administrators may delete it, unless a live job reads it. Of a
    registered path only the row is deleted: its files stay.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        dataset = load_dataset(session, actor, dataset_id)
        require_permission("dataset.delete", dataset_relation(actor, dataset), dataset_id)
        readers = select(func.count()).where(Job.dataset_id == dataset.id, Job.state.in_(LIVE_JOB_STATES))
        if count := session.scalar(readers):
            raise Refused("dataset", "dataset.in_use", name=dataset.name, jobs=count)
        operation = mark_deleted(session, actor, dataset, now)
    if operation is not None:
        enqueue_operation(cluster, operation)
    cluster.events.publish("datasets", dataset_id)


def read_dataset_of_operation(cluster: Cluster, operation: Operation) -> Dataset:
    """The dataset that a task's operation is about, deleted or not."""
    with cluster.store.read() as session:
        return session.get_one(Dataset, operation.subject_id)


def finish_import(
    cluster: Cluster,
    operation_id: int,
    fence: int,
    files: int,
    size: int,
    classes: list[tuple[str, int]] | None,
) -> None:
    """Records the import. `size` is bytes; `classes` are (label, images) of image folders. Raises Conflict if stale."""
    with cluster.store.write() as session:
        operation = finish_operation(session, operation_id, fence, cluster.clock())
        dataset = session.get_one(Dataset, operation.subject_id)
        dataset.state = DatasetState.READY
        dataset.files, dataset.bytes = files, size
        if dataset.kind is not DatasetKind.PATH:
            add_stored_bytes(session, dataset.workspace_id, size)
        dataset.classes = [list(pair) for pair in classes] if classes else None
        dataset.error_code = dataset.error_data = None
    publish_import_end(cluster, operation_id, dataset.id)


def fail_import(cluster: Cluster, operation_id: int, fence: int, code: str, data: dict[str, Any]) -> None:
    """Records the same reason in operation and dataset. Raises Conflict if the task is stale."""
    with cluster.store.write() as session:
        operation = fail_operation(session, operation_id, fence, cluster.clock(), code, data)
        dataset = session.get_one(Dataset, operation.subject_id)
        if dataset.deleted_at is None:
            dataset.state = DatasetState.FAILED
            dataset.error_code, dataset.error_data = code, data
    publish_import_end(cluster, operation_id, dataset.id)


def publish_import_end(cluster: Cluster, operation_id: int, dataset_id: int) -> None:
    """Publishes the end to the queue too, because jobs may be waiting for this dataset."""
    cluster.events.publish("operations", operation_id)
    cluster.events.publish("datasets", dataset_id)
    cluster.events.publish("queue", 0)
