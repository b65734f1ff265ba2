"""Creates datasets (uploaded archive, registered path, sample digits), lists and deletes them, and records the end of
their import."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from cluster.domain.errors import NotFound, Refused
from cluster.domain.names import check_dataset_name, check_file_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import LIVE_JOB_STATES, DatasetKind, DatasetState, OperationKind
from cluster.failpoints import external_call
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import (
    enqueue_operation,
    fail_operation,
    finish_operation,
    request_operation,
)
from cluster.services.people.access import (
    dataset_relation,
    load_workspace,
    require_active_workspace,
    workspace_relation,
)
from cluster.services.storage import folders
from cluster.services.storage.disk_space import require_disk_space
from cluster.store.audit import add_audit_entry
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from cluster.store.operations import Operation
from cluster.store.sql.visibility import can_see_dataset, can_see_job
from cluster.store.workspaces import Workspace

ARCHIVE_ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
SAMPLE_NAME = "digits"


def create_upload(
    cluster: Cluster, actor: Actor, workspace_id: int, name: str, archive_name: str, received: Path
) -> Dataset:
    """`received` is the whole archive in the incoming folder; it is renamed, never copied, and unpacked
    by an operation. Raises Refused on `name` and `archive`."""
    check_dataset_name(name)
    check_archive_name(cluster, archive_name)

    def take_in(dataset: Dataset) -> None:
        dataset.archive = archive_name
        archive = folders.incoming_archive(cluster.settings, dataset.id)
        with external_call("datasets.archive_taken_in"):
            received.rename(archive)

    return create_dataset(
        cluster, actor, workspace_id, name, DatasetKind.UPLOAD, OperationKind.DATASET_IMPORT, take_in
    )


def check_archive_name(cluster: Cluster, archive_name: str) -> None:
    check_file_name(archive_name, cluster.settings.unicode_file_names, "archive")
    if not archive_name.lower().endswith(ARCHIVE_ENDINGS):
        raise Refused("archive", "archive.unknown_kind", name=archive_name, endings=list(ARCHIVE_ENDINGS))


def register_path(cluster: Cluster, actor: Actor, workspace_id: int, name: str, path: str) -> Dataset:
    """The files stay where they are. Only beneath the installation's dataset roots,
    and by the workspace's manager or an administrator: a path may hold more than its name says."""
    check_dataset_name(name)
    folder = check_registered_path(cluster, path)

    def remember(dataset: Dataset) -> None:
        dataset.path = str(folder)

    return create_dataset(
        cluster, actor, workspace_id, name, DatasetKind.PATH, OperationKind.DATASET_IMPORT, remember
    )


def check_registered_path(cluster: Cluster, path: str) -> Path:
    """The resolved folder, so that a link cannot lead out of the roots."""
    roots = [str(root) for root in cluster.settings.dataset_roots]
    if not path.startswith("/") or "\0" in path or len(path) > 1000:
        raise Refused("path", "dataset.path_not_absolute", path=path[:200], roots=roots)
    folder = Path(path).resolve()
    if not any(folder.is_relative_to(root.resolve()) for root in cluster.settings.dataset_roots):
        raise Refused("path", "dataset.path_outside_roots", path=path, roots=roots)
    if not folder.is_dir():
        raise Refused("path", "dataset.path_missing", path=path)
    return folder


def create_sample(cluster: Cluster, actor: Actor, workspace_id: int) -> Dataset:
    """Real handwritten digits, written once into the workspace. Named `digits`, or the next free."""
    with cluster.store.read() as session:
        load_workspace(session, actor, workspace_id)
        taken = set(
            session.scalars(
                select(Dataset.name).where(Dataset.workspace_id == workspace_id, is_not_deleted())
            )
        )
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
    enqueue_operation(cluster, operation)
    cluster.events.publish("datasets", dataset.id)
    return dataset


def is_not_deleted() -> Any:
    return Dataset.deleted_at.is_(None)


def list_datasets(cluster: Cluster, actor: Actor, workspace_id: int | None = None) -> list[Dataset]:
    """Newest first; administrators see all."""
    query = select(Dataset).where(can_see_dataset(actor), is_not_deleted())
    if workspace_id is not None:
        query = query.where(Dataset.workspace_id == workspace_id)
    query = query.options(joinedload(Dataset.workspace), joinedload(Dataset.creator))
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Dataset.id.desc()).limit(500)))


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


def list_reading_jobs(cluster: Cluster, actor: Actor, dataset_id: int) -> Sequence[Job]:
    """The newest jobs that read it, as far as the person may see them."""
    query = select(Job).where(Job.dataset_id == dataset_id, can_see_job(actor)).options(joinedload(Job.user))
    with cluster.store.read() as session:
        return list(session.scalars(query.order_by(Job.id.desc()).limit(50)))


def can_delete_dataset(actor: Actor, dataset: Dataset) -> bool:
    return is_allowed("dataset.delete", dataset_relation(actor, dataset))


def delete_dataset(cluster: Cluster, actor: Actor, dataset_id: int) -> None:
    """Its creator, the workspace's manager and administrators may; not while a living job reads it.

    A registered path is only forgotten: its files stay.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        dataset = load_dataset(session, actor, dataset_id)
        require_permission("dataset.delete", dataset_relation(actor, dataset), dataset_id)
        readers = select(func.count()).where(Job.dataset_id == dataset.id, Job.state.in_(LIVE_JOB_STATES))
        if count := session.scalar(readers):
            raise Refused("dataset", "dataset.in_use", name=dataset.name, jobs=count)
        dataset.deleted_at = now
        operation = None
        if not dataset.path:
            operation = request_operation(
                session, OperationKind.DATASET_DELETE, dataset.id, actor, now, dataset.workspace_id
            )
        add_audit_entry(session, now, actor, "dataset.deleted", dataset.id, name=dataset.name)
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
    """`size` in bytes; `classes` as (label, images) where it is a folder-per-class set. Stale: Conflict."""
    with cluster.store.write() as session:
        operation = finish_operation(session, operation_id, fence, cluster.clock())
        dataset = session.get_one(Dataset, operation.subject_id)
        dataset.state = DatasetState.READY
        dataset.files, dataset.bytes = files, size
        dataset.classes = [list(pair) for pair in classes] if classes else None
        dataset.error_code = dataset.error_data = None
    publish_import_end(cluster, operation_id, dataset.id)


def fail_import(cluster: Cluster, operation_id: int, fence: int, code: str, data: dict[str, Any]) -> None:
    """The operation and its dataset tell the same reason. Stale: Conflict."""
    with cluster.store.write() as session:
        operation = fail_operation(session, operation_id, fence, cluster.clock(), code, data)
        dataset = session.get_one(Dataset, operation.subject_id)
        if dataset.deleted_at is None:
            dataset.state = DatasetState.FAILED
            dataset.error_code, dataset.error_data = code, data
    publish_import_end(cluster, operation_id, dataset.id)


def publish_import_end(cluster: Cluster, operation_id: int, dataset_id: int) -> None:
    """Jobs may be waiting for this dataset: the queue hears of it too."""
    cluster.events.publish("operations", operation_id)
    cluster.events.publish("datasets", dataset_id)
    cluster.events.publish("queue", 0)
