"""Creates trainings from a built-in model or from uploaded code, public or for named members, and stores the versions
of their code."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload, selectinload

from cluster.domain.built_in_models import BUILT_IN_MODELS
from cluster.domain.code_files import CodeUpload
from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.headline_metric import check_objective
from cluster.domain.names import check_text, check_training_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_permission
from cluster.domain.refusals import Refusals
from cluster.domain.states import CodeSource, TrainingKind, Visibility
from cluster.services import code_imports, code_uploads, code_version_rows, code_versions
from cluster.services.code_uploads import CodeFiles
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import enqueue_operation
from cluster.services.people.access import load_workspace, require_active_workspace, workspace_relation
from cluster.services.storage.orphaned_files import delete_orphaned_code
from cluster.services.storage.staged_code import StagedCode, forget_archive, receive_archive, staged_code
from cluster.store.audit import add_audit_entry
from cluster.store.operations import Operation
from cluster.store.sql.visibility import can_see_training
from cluster.store.trainings import CodeVersion, Training, TrainingMember, objective_columns
from cluster.store.users import User
from cluster.store.workspaces import Workspace, WorkspaceMember

LONGEST_DESCRIPTION = 500


def check_first_upload(cluster: Cluster, code: CodeFiles) -> CodeUpload:
    """Raises Refused on `code`, and Unavailable while the disk is full."""
    upload = code_uploads.check_code_upload(cluster, code)
    if not upload.archive_name:
        code_uploads.plan_upload(upload, [], ())
    return upload


def create_training(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int,
    name: str,
    description: str,
    kind: TrainingKind,
    model: str | None,
    visibility: Visibility,
    code: CodeFiles = (),
    member_names: Sequence[str] = (),
    objective: tuple[str, bool] = ("", False),
) -> Training:
    """`objective` is a metric, empty for none, and whether lower is better. Raises Refused on `name`, `description`,
    `objective_metric`, `model` and `code` together, or on `members`; NotFound."""
    refusals = Refusals()
    refusals.check(check_training_name, name)
    description = refusals.check(check_text, description, "description", LONGEST_DESCRIPTION) or ""
    wanted = refusals.check(check_objective, *objective)
    upload = check_model_or_code(cluster, refusals, kind, model, code)
    refusals.raise_all()
    now = cluster.clock()
    with staged_upload(cluster, workspace_id, upload) as (staged, received):
        try:
            with cluster.store.write() as session:
                workspace = load_workspace(session, actor, workspace_id)
                require_permission("training.create", workspace_relation(actor, workspace), workspace_id)
                require_active_workspace(cluster, workspace, "name")
                training = Training(
                    workspace_id=workspace.id,
                    name=name,
                    description=description,
                    kind=kind,
                    model=model if kind is TrainingKind.BUILT_IN else None,
                    visibility=visibility,
                    owner_id=actor.user_id,
                    code_version=0,
                    created_at=now,
                    **objective_columns(wanted),
                )
                session.add(training)
                session.flush()
                add_training_members(session, training, member_names)
                operation = None
                if staged is not None:
                    place_first_version(session, actor, training, staged, now)
                elif upload is not None:
                    version = code_imports.add_import(cluster, session, actor, training, upload, received)
                    operation = session.get_one(Operation, version.operation_id)
                add_audit_entry(
                    session, now, actor, "training.created", training.id, name=name, workspace=workspace.name
                )
        except IntegrityError:
            raise Refused("name", "name.taken", name=name) from None
    if operation is not None:
        enqueue_operation(cluster, operation)
    cluster.events.publish("trainings", training.id)
    if upload is not None:
        delete_orphaned_code(cluster, workspace_id)
    return training


def place_first_version(
    session: Session, actor: Actor, training: Training, staged: StagedCode, now: datetime
) -> None:
    version = code_version_rows.new_version(session, actor, training, CodeSource.FILES, None, now)
    code_version_rows.place_version(session, training, version, staged)


def check_model_or_code(
    cluster: Cluster, refusals: Refusals, kind: TrainingKind, model: str | None, code: CodeFiles
) -> CodeUpload | None:
    """Takes the first upload of a training of own code; a built-in model has none."""
    if kind is TrainingKind.NOTEBOOK and not code:
        return None  # The first notebook begins with an empty folder.
    if kind is not TrainingKind.BUILT_IN:
        return refusals.check(check_first_upload, cluster, code)
    if model not in BUILT_IN_MODELS:
        refusals.add(Refused("model", "model.unknown", name=model or "", models=sorted(BUILT_IN_MODELS)))
    return None


@contextmanager
def staged_upload(
    cluster: Cluster, workspace_id: int, upload: CodeUpload | None
) -> Iterator[tuple[StagedCode | None, Path]]:
    """Writes the files beside their future place, or the archive beside other uploads. Files that are not placed before
    the end are deleted.
    """
    nothing = Path()
    if upload is None:
        yield None, nothing
    elif upload.archive_name:
        received = receive_archive(cluster.settings, upload.archive)
        try:
            yield None, received
        finally:
            forget_archive(received)
    else:
        with staged_code(cluster.settings, workspace_id, upload.files) as staged:
            yield staged, nothing


def add_training_members(session: Session, training: Training, names: Sequence[str]) -> None:
    """Returns the named members of the workspace. Raises Refused, which names people who are no members."""
    for name in dict.fromkeys(name for name in names if name):
        user = session.scalar(
            select(User)
            .join(WorkspaceMember, WorkspaceMember.user_id == User.id)
            .where(WorkspaceMember.workspace_id == training.workspace_id, User.name == name)
        )
        if user is None:
            raise Refused("members", "user.not_in_workspace", name=name)
        session.add(TrainingMember(training_id=training.id, user_id=user.id))


def upload_code(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    code: CodeFiles,
    removed: Collection[str] = (),
    base: int | None = None,
) -> CodeVersion:
    """Makes a new version of the code of a training that the person may see. Raises what `code_uploads.upload_code`
    raises.
    """
    training = read_training(cluster, actor, training_id)
    return code_uploads.upload_code(cluster, actor, training, code, removed, base)


def load_training(session: Session, actor: Actor, training_id: int) -> Training:
    """Raises NotFound if the person may not see it."""
    training = session.scalar(
        select(Training)
        .where(Training.id == training_id, can_see_training(actor), Training.deleted_at.is_(None))
        .options(
            joinedload(Training.workspace).joinedload(Workspace.manager),
            joinedload(Training.workspace).selectinload(Workspace.members),
            joinedload(Training.owner),
            selectinload(Training.members),
        )
    )
    if training is None:
        raise NotFound("training", training_id)
    return training


def read_training(cluster: Cluster, actor: Actor, training_id: int) -> Training:
    with cluster.store.read() as session:
        return load_training(session, actor, training_id)


def list_trainings(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int | None = None,
    before_id: int | None = None,
    limit: int = 500,
    archived: bool = False,
) -> list[Training]:
    """Lists trainings newest first, those before `before_id` (keyset): either the archived ones or the others."""
    query = select(Training).where(*shown_trainings(actor, workspace_id, archived))
    if before_id is not None:
        query = query.where(Training.id < before_id)
    loads = (joinedload(Training.workspace), joinedload(Training.owner))
    with cluster.store.read() as session:
        return list(session.scalars(query.options(*loads).order_by(Training.id.desc()).limit(limit)))


def count_trainings(
    cluster: Cluster, actor: Actor, workspace_id: int | None = None, archived: bool = False
) -> int:
    with cluster.store.read() as session:
        query = (
            select(func.count()).select_from(Training).where(*shown_trainings(actor, workspace_id, archived))
        )
        return session.scalar(query) or 0


def shown_trainings(
    actor: Actor, workspace_id: int | None, archived: bool = False
) -> Iterator[ColumnElement[bool]]:
    yield can_see_training(actor)
    yield Training.deleted_at.is_(None)
    yield Training.archived_at.is_not(None) if archived else Training.archived_at.is_(None)
    if workspace_id is not None:
        yield Training.workspace_id == workspace_id


def list_code_files(
    cluster: Cluster, training: Training, version: int | None = None
) -> list[tuple[str, int]]:
    """Returns [(path, bytes), …] of a version in the order of the paths; of the newest version if `version` is None."""
    number = training.code_version if version is None else version
    if number < 1:
        return []
    try:
        return [(file.path, file.size) for file in code_versions.read_manifest(cluster, training, number)]
    except NotFound:
        return []
