"""Creates trainings from a built-in model or from uploaded code, public or for named members, and stores the versions
of their code."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload, selectinload

from cluster.domain.built_in_models import BUILT_IN_MODELS
from cluster.domain.errors import NotFound, Refused
from cluster.domain.names import check_file_name, check_text, check_training_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import TrainingKind, Visibility
from cluster.services.context import Cluster
from cluster.services.people.access import (
    load_workspace,
    require_active_workspace,
    training_relation,
    workspace_relation,
)
from cluster.services.storage import folders
from cluster.services.storage.disk_space import require_disk_space
from cluster.services.storage.orphaned_files import delete_orphaned_code
from cluster.store.audit import add_audit_entry
from cluster.store.sql.visibility import can_see_training
from cluster.store.trainings import Training, TrainingMember
from cluster.store.users import User
from cluster.store.workspaces import Workspace, WorkspaceMember

LONGEST_DESCRIPTION = 500
LARGEST_CODE_BYTES = 20 * 1024**2
MAX_CODE_FILES = 200

CodeFiles = Sequence[tuple[str, bytes]]


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
) -> Training:
    """Raises Refused on `name`, `description`, `model`, `code`, `members`; NotFound."""
    check_training_name(name)
    description = check_text(description, "description", LONGEST_DESCRIPTION)
    if kind is TrainingKind.BUILT_IN:
        if model not in BUILT_IN_MODELS:
            raise Refused("model", "model.unknown", name=model or "", models=sorted(BUILT_IN_MODELS))
        code = ()
    else:
        model = None
        check_code_files(cluster, code)
    now = cluster.clock()
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
                model=model,
                visibility=visibility,
                owner_id=actor.user_id,
                code_version=1 if code else 0,
                created_at=now,
            )
            session.add(training)
            session.flush()
            add_training_members(session, training, member_names)
            if code:
                folder = folders.code_folder(cluster.settings, workspace.id, training.id, 1)
                folders.write_code(cluster.settings, folder, list(code), workspace.id)
            add_audit_entry(
                session, now, actor, "training.created", training.id, name=name, workspace=workspace.name
            )
    except IntegrityError:
        raise Refused("name", "name.taken", name=name) from None
    cluster.events.publish("trainings", training.id)
    if code:
        delete_orphaned_code(cluster, workspace_id)
    return training


def check_code_files(cluster: Cluster, code: CodeFiles) -> None:
    """File names by the file-name rule; at least one file; a limit on count and bytes. Raises Unavailable."""
    if not code:
        raise Refused("code", "code.missing")
    if len(code) > MAX_CODE_FILES:
        raise Refused("code", "code.too_many_files", count=len(code), limit=MAX_CODE_FILES)
    names = [name for name, _ in code]
    for name in names:
        check_file_name(name, cluster.settings.unicode_file_names, "code")
        if names.count(name) > 1:
            raise Refused("code", "code.twice", name=name)
    size = sum(len(content) for _, content in code)
    if size > LARGEST_CODE_BYTES:
        raise Refused("code", "code.too_large", bytes=size, limit=LARGEST_CODE_BYTES)
    require_disk_space(cluster.settings, size)


def add_training_members(session: Session, training: Training, names: Sequence[str]) -> None:
    """Named people of the workspace; anybody else is refused by name."""
    for name in dict.fromkeys(name for name in names if name):
        user = session.scalar(
            select(User)
            .join(WorkspaceMember, WorkspaceMember.user_id == User.id)
            .where(WorkspaceMember.workspace_id == training.workspace_id, User.name == name)
        )
        if user is None:
            raise Refused("members", "user.not_in_workspace", name=name)
        session.add(TrainingMember(training_id=training.id, user_id=user.id))


def can_upload_code(actor: Actor, training: Training) -> bool:
    return is_allowed("training.upload_code", training_relation(actor, training))


def upload_code(cluster: Cluster, actor: Actor, training_id: int, code: CodeFiles) -> Training:
    """A new version beside the old ones, which jobs that name them keep. The owner and managers may."""
    check_code_files(cluster, code)
    now = cluster.clock()
    # Two at once would take the same number and write into each other's folder.
    with cluster.store.write(lock=f"code of training {training_id}") as session:
        training = load_training(session, actor, training_id)
        require_permission("training.upload_code", training_relation(actor, training), training_id)
        require_active_workspace(cluster, training.workspace, "code")
        if training.kind is not TrainingKind.ADVANCED:
            raise Refused("code", "code.built_in_has_none", name=training.name)
        version = training.code_version + 1
        folder = folders.code_folder(cluster.settings, training.workspace_id, training.id, version)
        folders.write_code(cluster.settings, folder, list(code), training.workspace_id)
        training.code_version = version
        add_audit_entry(session, now, actor, "training.code_uploaded", training.id, version=version)
    cluster.events.publish("trainings", training.id)
    return training


def load_training(session: Session, actor: Actor, training_id: int) -> Training:
    """Raises NotFound where the person may not see it."""
    training = session.scalar(
        select(Training)
        .where(Training.id == training_id, can_see_training(actor))
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


def list_trainings(cluster: Cluster, actor: Actor, workspace_id: int | None = None) -> list[Training]:
    """Newest first."""
    query = select(Training).where(can_see_training(actor))
    if workspace_id is not None:
        query = query.where(Training.workspace_id == workspace_id)
    loads = (joinedload(Training.workspace), joinedload(Training.owner))
    with cluster.store.read() as session:
        return list(session.scalars(query.options(*loads).order_by(Training.id.desc()).limit(500)))


def list_code_files(cluster: Cluster, training: Training) -> list[tuple[str, int]]:
    """[(file name, bytes), …] of the newest version, by name."""
    folder = folders.code_folder(cluster.settings, training.workspace_id, training.id, training.code_version)
    if training.code_version == 0 or not folder.is_dir():
        return []
    return sorted((entry.name, entry.stat().st_size) for entry in folder.iterdir())
