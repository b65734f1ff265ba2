"""Rows of new versions of code: the next number, the placed folder, the audit entry."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import CodeSource, CodeState, OperationState
from cluster.services.storage.staged_code import StagedCode
from cluster.services.storage.workspace_storage import add_stored_bytes
from cluster.store.audit import add_audit_entry
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, Training


def new_version(
    session: Session, actor: Actor, training: Training, source: CodeSource, base: int | None, now: datetime
) -> CodeVersion:
    """Adds a version with the next number. Raises Refused on `code` while an archive is being unpacked."""
    last = session.scalar(
        select(CodeVersion)
        .where(CodeVersion.training_id == training.id)
        .order_by(CodeVersion.number.desc())
        .limit(1)
    )
    if last is not None and last.state is CodeState.PREPARING:
        operation = session.get(Operation, last.operation_id) if last.operation_id else None
        if operation is not None and operation.state in (OperationState.REQUESTED, OperationState.RUNNING):
            raise Refused("code", "code.being_prepared", version=last.number)
        last.state, last.error_code, last.error_data = CodeState.FAILED, "code.superseded", {}
    version = CodeVersion(
        training_id=training.id,
        number=max(last.number if last else 0, training.code_version) + 1,
        state=CodeState.PREPARING,
        source=source,
        base=base,
        created_by=actor.user_id,
        created_at=now,
    )
    session.add(version)
    return version


def place_version(session: Session, training: Training, version: CodeVersion, staged: StagedCode) -> None:
    """Names the staged folder by one rename within the transaction. New jobs run this version from now on."""
    staged.place(training.id, version.number)
    files = sorted(staged.files, key=lambda file: file.path)
    version.state = CodeState.READY
    version.error_code = version.error_data = None
    version.manifest = [[file.path, file.size, file.sha256] for file in files]
    version.files, version.bytes = len(files), sum(file.size for file in files)
    training.code_version = version.number
    add_stored_bytes(session, training.workspace_id, version.bytes)


def add_upload_entry(session: Session, actor: Actor, version: CodeVersion) -> None:
    add_audit_entry(
        session,
        version.created_at,
        actor,
        "training.code_uploaded",
        version.training_id,
        version=version.number,
    )
