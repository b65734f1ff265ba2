"""Keeps archives of code until a task unpacks them, and records the end of that task."""

from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.code_files import CodeUpload
from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeSource, CodeState, OperationKind
from cluster.services.code_version_rows import add_upload_entry, new_version, place_version
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle
from cluster.services.storage import staged_code
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, Training


def request_import(
    cluster: Cluster, actor: Actor, training_id: int, upload: CodeUpload, newest: int
) -> CodeVersion | None:
    """Requests the import of an archive, which lies beside other uploads until the task has unpacked it."""
    received = staged_code.receive_archive(cluster.settings, upload.archive)
    try:
        with cluster.store.write(lock=f"code of training {training_id}") as session:
            training = session.get_one(Training, training_id)
            if training.code_version != newest:
                return None
            version = add_import(cluster, session, actor, training, upload, received)
            operation = session.get_one(Operation, version.operation_id)
            add_upload_entry(session, actor, version)
    finally:
        staged_code.forget_archive(received)
    lifecycle.enqueue_operation(cluster, operation)
    return version


def add_import(
    cluster: Cluster, session: Session, actor: Actor, training: Training, upload: CodeUpload, received: Path
) -> CodeVersion:
    """Writes the row and the operation, and gives the archive the name by which the task finds it."""
    now, newest = cluster.clock(), training.code_version
    version = new_version(session, actor, training, CodeSource.ARCHIVE, newest or None, now)
    version.origin = upload.archive_name
    operation = lifecycle.request_operation(
        session, OperationKind.CODE_IMPORT, training.id, actor, now, training.workspace_id
    )
    version.operation_id = operation.id
    staged_code.take_in_archive(cluster.settings, received, training.id, version.number)
    return version


def read_import(cluster: Cluster, operation: Operation) -> tuple[Training, CodeVersion]:
    """The version that a task's operation is to prepare."""
    query = select(CodeVersion).where(CodeVersion.operation_id == operation.id)
    with cluster.store.read() as session:
        version = session.scalars(query.options(joinedload(CodeVersion.training))).one()
        return version.training, version


def finish_import(cluster: Cluster, operation: Operation, staged: staged_code.StagedCode) -> None:
    """Places the staged files as the version that new jobs run. Raises Conflict if the task is stale."""
    with cluster.store.write(lock=f"code of training {operation.subject_id}") as session:
        lifecycle.finish_operation(session, operation.id, operation.fence, cluster.clock())
        version = session.scalars(select(CodeVersion).where(CodeVersion.operation_id == operation.id)).one()
        training = session.get_one(Training, version.training_id)
        if version.state is not CodeState.PREPARING or training.code_version > version.number:
            raise Conflict("code.superseded")
        place_version(session, training, version, staged)
    publish_import_end(cluster, operation)


def fail_import(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    """Records the same reason in operation and version. Raises Conflict if the task is stale."""
    with cluster.store.write() as session:
        lifecycle.fail_operation(session, operation.id, operation.fence, cluster.clock(), code, data)
        version = session.scalars(select(CodeVersion).where(CodeVersion.operation_id == operation.id)).one()
        if version.state is CodeState.PREPARING:
            version.state, version.error_code, version.error_data = CodeState.FAILED, code, data
    publish_import_end(cluster, operation)


def publish_import_end(cluster: Cluster, operation: Operation) -> None:
    cluster.events.publish("operations", operation.id)
    cluster.events.publish("trainings", operation.subject_id or 0)
