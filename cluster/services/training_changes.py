"""Edits, hands over, archives and deletes trainings. Their owners, the workspace's manager and administrators may."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from cluster.domain import names
from cluster.domain.errors import Refused
from cluster.domain.jobs.headline_metric import check_objective
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed, require_permission
from cluster.domain.states import ENDED_JOB_STATES, LIVE_JOB_STATES, Visibility
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import choose_environment
from cluster.services.jobs.file_deletions import MAX_JOBS_PER_REQUEST, request_file_deletion
from cluster.services.people.access import training_relation
from cluster.services.storage.staged_code import delete_code
from cluster.services.trainings import LONGEST_DESCRIPTION, add_training_members, load_training
from cluster.store.audit import add_audit_entry
from cluster.store.jobs import Job, Sweep
from cluster.store.trainings import CodeVersion, GitSource, Training, TrainingMember, objective_columns
from cluster.store.users import User
from cluster.store.workspaces import WorkspaceMember


@dataclass(frozen=True)
class TrainingChanges:
    """New values; None leaves one as it is."""

    name: str | None = None
    description: str | None = None
    visibility: Visibility | None = None
    member_names: Sequence[str] | None = None
    objective: tuple[str, bool] | None = None
    """A metric, empty for none, and whether lower is better."""
    environment_id: int | None = None
    """The environment of its new jobs, or `DEFAULT_ENVIRONMENT_ID`."""


@dataclass(frozen=True)
class TrainingDependents:
    """The things that depend on a training. `job_bytes` are those of the files of ended jobs."""

    live_jobs: int
    ended_jobs: int
    sweeps: int
    code_versions: int
    code_bytes: int
    job_bytes: int


def can_edit_training(actor: Actor, training: Training) -> bool:
    return is_allowed("training.edit", training_relation(actor, training))


def can_delete_training(actor: Actor, training: Training) -> bool:
    return is_allowed("training.delete", training_relation(actor, training))


def load_to_change(session: Session, actor: Actor, training_id: int, action: str) -> Training:
    """Raises NotFound and Forbidden."""
    session.execute(select(Training.id).where(Training.id == training_id).with_for_update())
    training = load_training(session, actor, training_id)
    require_permission(action, training_relation(actor, training), training_id)
    return training


def edit_training(cluster: Cluster, actor: Actor, training_id: int, changes: TrainingChanges) -> Training:
    """Raises Refused on `name`, `description`, `objective_metric`, `environment` and `members`."""
    if changes.name is not None:
        names.check_training_name(changes.name)
    description = changes.description
    if description is not None:
        description = names.check_text(description, "description", LONGEST_DESCRIPTION)
    objective: dict[str, Any] = {}
    if changes.objective is not None:
        objective = objective_columns(check_objective(*changes.objective))
    given = {"name": changes.name, "description": description, "visibility": changes.visibility}
    wanted: dict[str, Any] = {field: value for field, value in given.items() if value is not None} | objective
    now = cluster.clock()
    try:
        with cluster.store.write() as session:
            training = load_to_change(session, actor, training_id, "training.edit")
            if changes.environment_id is not None:
                chosen = choose_environment(cluster, session, training, changes.environment_id)
                wanted |= {"environment_id": chosen.id if chosen else None}
            changed = {field: value for field, value in wanted.items() if value != getattr(training, field)}
            before = {field: str(getattr(training, field)) for field in changed}
            for field, value in changed.items():
                setattr(training, field, value)
            is_replaced = changes.member_names is not None and replace_members(
                session, training, changes.member_names
            )
            session.flush()
            if changed or is_replaced:
                data = {field: str(value) for field, value in changed.items()}
                if is_replaced:
                    data["members"] = " ".join(changes.member_names or ())
                add_audit_entry(session, now, actor, "training.edited", training_id, before=before, **data)
    except IntegrityError:
        raise Refused("name", "name.taken", name=changes.name) from None
    cluster.events.publish("trainings", training_id)
    return training


def replace_members(session: Session, training: Training, member_names: Sequence[str]) -> bool:
    """Names other members. Returns False if they are the same people as before. Raises Refused on `members`."""
    wanted = {name for name in member_names if name}
    if wanted == {member.name for member in training.members}:
        return False
    session.execute(delete(TrainingMember).where(TrainingMember.training_id == training.id))
    add_training_members(session, training, sorted(wanted))
    session.flush()
    session.refresh(training, ["members"])
    return True


def hand_over_training(cluster: Cluster, actor: Actor, training_id: int, owner_name: str) -> Training:
    """The new owner is a member of the workspace; the former one stays named if the training is private.

    Raises Refused on `owner`.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        training = load_to_change(session, actor, training_id, "training.hand_over")
        owner = session.scalar(
            select(User)
            .join(WorkspaceMember, WorkspaceMember.user_id == User.id)
            .where(WorkspaceMember.workspace_id == training.workspace_id, User.name == owner_name)
        )
        if owner is None:
            raise Refused("owner", "user.not_in_workspace", name=owner_name)
        former = training.owner
        if former.id == owner.id:
            return training
        training.owner = owner
        if all(member.id != former.id for member in training.members):
            session.add(TrainingMember(training_id=training.id, user_id=former.id))
        about = {"former": former.name, "owner": owner.name}
        add_audit_entry(session, now, actor, "training.handed_over", training_id, **about)
        session.flush()
        session.refresh(training, ["members"])
    cluster.events.publish("trainings", training_id)
    return training


def archive_training(cluster: Cluster, actor: Actor, training_id: int, archived: bool = True) -> Training:
    """An archived training takes no jobs and no code, and lists leave it out. A second request changes nothing."""
    now = cluster.clock()
    with cluster.store.write() as session:
        training = load_to_change(session, actor, training_id, "training.archive")
        if (training.archived_at is not None) != archived:
            training.archived_at = now if archived else None
            action = "training.archived" if archived else "training.unarchived"
            add_audit_entry(session, now, actor, action, training_id, name=training.name)
    cluster.events.publish("trainings", training_id)
    return training


def read_dependents(cluster: Cluster, training: Training) -> TrainingDependents:
    with cluster.store.read() as session:
        return load_dependents(session, training.id)


def load_dependents(session: Session, training_id: int) -> TrainingDependents:
    of_training = Job.training_id == training_id
    live = select(func.count(Job.id)).where(of_training, Job.state.in_(LIVE_JOB_STATES))
    ended = select(func.count(Job.id), func.coalesce(func.sum(Job.storage_bytes), 0)).where(
        of_training, Job.state.in_(ENDED_JOB_STATES)
    )
    ended_jobs, job_bytes = session.execute(ended).one()
    versions, code_bytes = session.execute(
        select(func.count(), func.coalesce(func.sum(CodeVersion.bytes), 0)).where(
            CodeVersion.training_id == training_id
        )
    ).one()
    sweeps = select(func.count(Sweep.id)).where(Sweep.training_id == training_id)
    return TrainingDependents(
        session.scalar(live) or 0,
        ended_jobs,
        session.scalar(sweeps) or 0,
        versions,
        int(code_bytes or 0),
        int(job_bytes or 0),
    )


def delete_training(
    cluster: Cluster, actor: Actor, training_id: int, with_job_files: bool = False
) -> Training:
    """Deletes a training with its code, and the files of its jobs if asked for. The jobs stay with their numbers.

    Raises Refused on `training` while a job of it is live.
    """
    now = cluster.clock()
    with cluster.store.write(lock=f"code of training {training_id}") as session:
        training = load_to_change(session, actor, training_id, "training.delete")
        dependents = load_dependents(session, training_id)
        if dependents.live_jobs:
            raise Refused("training", "training.in_use", name=training.name, jobs=dependents.live_jobs)
        ended = list(
            session.scalars(
                select(Job.id).where(
                    Job.training_id == training_id, Job.fence > 0, Job.files_unwanted_at.is_(None)
                )
            )
        )
        session.execute(delete(GitSource).where(GitSource.training_id == training_id))
        training.deleted_at = now
        training.archived_at = training.archived_at or now
        add_audit_entry(
            session,
            now,
            actor,
            "training.deleted",
            training_id,
            name=training.name,
            jobs=dependents.ended_jobs,
        )
    if with_job_files:
        for first in range(0, len(ended), MAX_JOBS_PER_REQUEST):
            request_file_deletion(cluster, actor, ended[first : first + MAX_JOBS_PER_REQUEST])
    delete_code(cluster.settings, training.workspace_id, training.id)
    cluster.events.publish("trainings", training_id)
    return training
