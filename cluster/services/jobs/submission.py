"""Submits jobs: checks the request against the rows, and one transaction writes the job, its first event and its audit
entry."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, bindparam, exists, func, literal_column, select, true
from sqlalchemy.orm import Session, joinedload
from sqlalchemy.orm.attributes import set_committed_value

from cluster.domain.built_in_models import BUILT_IN_MODELS, check_variables
from cluster.domain.environments.choices import DEFAULT_NAME, check_built_in_model, launcher_warnings
from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.gpu_support import check_gpu_support
from cluster.domain.jobs.memory import NodeMemory, check_memory
from cluster.domain.jobs.scripts import check_script
from cluster.domain.jobs.submission import JobRequest, SubmissionWarning, check_job_request
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import Relation, relation_to_training, require_permission
from cluster.domain.refusals import Refusals
from cluster.domain.states import (
    DatasetState,
    DesiredState,
    JobKind,
    JobState,
    TrainingKind,
    UnitKind,
    UnitState,
)
from cluster.services import trainings
from cluster.services.code_versions import has_code_version
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import choose_environment
from cluster.services.images.environments import load_default_environment
from cluster.services.images.gpu_support import read_job_environment
from cluster.services.images.libraries import read_libraries
from cluster.services.jobs.queries import load_job
from cluster.services.people.access import require_active_workspace
from cluster.services.storage.workspace_storage import require_storage_room
from cluster.store.audit import AuditEntry, audit_entry_columns
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.jobs import Job, JobEvent, first_position, job_shape
from cluster.store.leases import IdempotentAnswer
from cluster.store.nodes import Node, Unit, count_offered_units
from cluster.store.sql.bulk_insert import reserve_ids
from cluster.store.sql.multi_table_insert import insert_rows
from cluster.store.trainings import Training, TrainingMember
from cluster.store.users import User
from cluster.store.workspaces import WorkspaceMember

OK_STATE: ColumnElement[UnitState] = literal_column(f"'{UnitState.OK.value}'")
WORKING_UNITS = func.count(Unit.id)
LARGEST_NODE = (
    select(Unit.kind, WORKING_UNITS.label("units"))
    .join(Node)
    .where(Unit.state == OK_STATE, Node.has_executor)
    .group_by(Unit.node_id, Unit.kind)
    .order_by(WORKING_UNITS.desc())
    .limit(literal_column("1"))
)
LARGEST = LARGEST_NODE.subquery("largest")
IS_WORKSPACE_MEMBER = exists().where(
    WorkspaceMember.workspace_id == Training.workspace_id, WorkspaceMember.user_id == bindparam("person")
)
IS_TRAINING_MEMBER = exists().where(
    TrainingMember.training_id == Training.id, TrainingMember.user_id == bindparam("person")
)
SUBMISSION_QUERY = (
    select(Training, User, IS_WORKSPACE_MEMBER, IS_TRAINING_MEMBER, LARGEST.c.kind, LARGEST.c.units)
    .join_from(Training, User, User.id == bindparam("person"))
    .outerjoin(LARGEST, true())
    .where(Training.id == bindparam("training"))
    .options(joinedload(Training.workspace, innerjoin=True))
)
"""The statement is built once, because every submission executes it. It asks for the submitter's membership alone."""


@dataclass(frozen=True)
class CheckedSubmission:
    """A request with checked values, and the rows that it was checked against."""

    training: Training
    person: User
    dataset: Dataset | None
    request: JobRequest
    warnings: tuple[SubmissionWarning, ...]
    environment_id: int | None = None
    """The environment that was chosen. None: the default one."""


def submit_job(
    cluster: Cluster,
    actor: Actor,
    training_id: int,
    request: JobRequest,
    idempotency: tuple[str, str] | None = None,
) -> Job:
    """Submits a job; it is accepted once it is committed. `idempotency` is (key, hash of the body): the same pair
    returns the same job, and the same key with another body is refused. Raises Refused naming the field; NotFound.

    The job comes with what its description needs, so that nobody has to read it again.
    """
    now = cluster.clock()
    with cluster.store.write(lock=f"submit {actor.user_id}" if idempotency else None) as session:
        if idempotency and (answered := read_idempotent_answer(session, actor, *idempotency)):
            return load_job(session, actor, answered)
        asked = check_submission(cluster, session, actor, training_id, request)
        (job_id,) = reserve_ids(session, 1)
        row = new_job_row(job_id, job_columns(asked, actor, now))
        if idempotency:
            store_idempotent_answer(session, actor, *idempotency, job_id, now)
        about = {"name": row["name"], "units": row["units"]}
        insert_rows(
            session.connection(),
            (Job.__table__, row),
            (JobEvent.__table__, submitted_event(job_id, now)),
            (AuditEntry.__table__, audit_entry_columns(now, actor, "job.submitted", job_id, about)),
        )
    cluster.events.publish_all(("queue", job_id), ("jobs", job_id))
    return job_from_row(row, asked)


def require_valid_job(cluster: Cluster, actor: Actor, training_id: int, request: JobRequest) -> None:
    """Raises what `submit_job` would raise, and writes nothing."""
    with cluster.store.read() as session:
        check_submission(cluster, session, actor, training_id, request)


def new_job_row(job_id: int, columns: dict[str, Any]) -> dict[str, Any]:
    """A job that waits at the end of its priority's line."""
    limits = columns["units"], columns["time_limit_seconds"], columns["dataset_id"]
    return columns | {
        "id": job_id,
        "state": JobState.WAITING,
        "desired": DesiredState.RUN,
        "fence": 0,
        "position": first_position(job_id, columns["priority"]),
        "shape": job_shape(*limits, None, columns["environment_id"]),
        "retries_used": 0,
    }


def submitted_event(job_id: int, now: datetime) -> dict[str, Any]:
    return {"job_id": job_id, "at": now, "state": JobState.WAITING.value, "code": "job.submitted", "data": {}}


def job_from_row(row: dict[str, Any], asked: CheckedSubmission) -> Job:
    """Builds the Job from the inserted row and from the rows that the check has loaded, without another query."""
    job = Job(**row)
    set_committed_value(job, "training", asked.training)
    set_committed_value(job, "workspace", asked.training.workspace)
    set_committed_value(job, "user", asked.person)
    set_committed_value(job, "dataset", asked.dataset)
    return job


def job_columns(asked: CheckedSubmission, actor: Actor, now: datetime) -> dict[str, Any]:
    """Returns the columns of a new job except its place in the queue. A sweep's jobs share all but a few of them."""
    training, checked = asked.training, asked.request
    return {
        "workspace_id": training.workspace_id,
        "training_id": training.id,
        "user_id": actor.user_id,
        "name": checked.name,
        "kind": checked.kind,
        "units": checked.units,
        "launcher": checked.launcher,
        "command": list(checked.command),
        "variables": dict(checked.variables),
        "code_version": training.code_version if checked.code_version is None else checked.code_version,
        "continues_job_id": checked.continues.job if checked.continues else None,
        "continues_from": checked.continues.key if checked.continues else None,
        "dataset_id": checked.dataset_id,
        "environment_id": asked.environment_id,
        "priority": checked.priority,
        "time_limit_seconds": checked.time_limit_seconds,
        "grace_seconds": checked.grace_seconds,
        "retries": checked.retries,
        "memory_bytes": checked.memory_bytes,
        "submitted_at": now,
    }


def read_idempotent_answer(session: Session, actor: Actor, key: str, body_hash: str) -> int | None:
    """Returns the id that the first such request has made. Raises Refused if the body of that one was different."""
    answer = session.get(IdempotentAnswer, (actor.user_id, key))
    if answer is None:
        return None
    if answer.body_hash != body_hash:
        raise Refused("Idempotency-Key", "idempotency.other_body", key=key)
    return answer.object_id


def store_idempotent_answer(
    session: Session, actor: Actor, key: str, body_hash: str, object_id: int, now: datetime
) -> None:
    session.add(
        IdempotentAnswer(
            user_id=actor.user_id, key=key, body_hash=body_hash, object_id=object_id, created_at=now
        )
    )


def check_submission(
    cluster: Cluster, session: Session, actor: Actor, training_id: int, request: JobRequest
) -> CheckedSubmission:
    """Raises Refused for every field that is wrong, NotFound and Forbidden."""
    found = session.execute(SUBMISSION_QUERY, {"person": actor.user_id, "training": training_id}).first()
    if found is None:
        raise NotFound("training", training_id)
    training, person, is_member, is_named, kind, largest = found
    require_permission("job.submit", submitter_relation(actor, training, is_member, is_named), training_id)
    require_active_workspace(cluster, training.workspace, "training")
    require_storage_room(training.workspace, "training")
    check_training(session, training, request)
    request = replace(request, name=request.name or training.name)
    kind = kind or UnitKind.GPU
    if cluster.settings.executor.capabilities.spreads_over_nodes and largest is not None:
        largest = count_offered_units(session)
    refusals = Refusals()
    warnings: tuple[SubmissionWarning, ...] = ()
    with refusals.collect():
        warnings = check_job_request(request, training.kind, training.workspace.units, largest, kind)
    if "command" not in refusals.by_field and request.kind is JobKind.PROGRAM:
        refusals.check(check_code, cluster, training, request)
    environment = refusals.check(choose_environment, cluster, session, training, request.environment_id)
    if "environment" not in refusals.by_field:
        warnings += (
            refusals.check(environment_warnings, cluster, session, training, request, environment) or ()
        )
    if request.memory_bytes is not None:
        nodes, overcommit = read_node_memories(session, kind), cluster.settings.memory_overcommit
        refusals.check(check_memory, request.memory_bytes, request.units, kind, nodes, overcommit)
    if kind is UnitKind.GPU and largest is not None:
        ground = read_job_environment(cluster, session, environment or load_default_environment(session))
        words = ("python",) if request.kind is JobKind.NOTEBOOK else request.command
        warnings += refusals.check(check_gpu_support, ground, kind, training.kind, words) or ()
    dataset = refusals.check(check_dataset, session, training, request.dataset_id)
    if training.kind is TrainingKind.BUILT_IN:
        if dataset is None:
            refusals.add(Refused("dataset", "job.dataset_needed", model=training.model))
        with refusals.collect():
            variables = check_variables(BUILT_IN_MODELS[training.model or ""], request.variables)
            request = replace(request, variables=variables)
    elif request.variables:
        refusals.add(Refused("variables", "job.variables_without_model", name=training.name))
    refusals.raise_all()
    chosen = environment.id if environment else None
    return CheckedSubmission(training, person, dataset, request, warnings, chosen)


def check_training(session: Session, training: Training, request: JobRequest) -> None:
    """Raises NotFound for a deleted training, and Refused if it is archived or has no such code."""
    if training.deleted_at is not None:
        raise NotFound("training", training.id)
    if training.archived_at is not None:
        raise Refused("training", "training.archived", name=training.name)
    if training.kind is TrainingKind.BUILT_IN:
        if request.code_version is not None:
            raise Refused("code_version", "code.built_in_has_none", name=training.name)
        if request.kind is JobKind.NOTEBOOK:
            raise Refused("training", "notebook.of_built_in", name=training.name)
        return
    if request.kind is JobKind.NOTEBOOK:
        return
    if request.code_version in (None, training.code_version):
        if training.code_version == 0:
            raise Refused("training", "code.none_ready", name=training.name)
        return
    if not has_code_version(session, training.id, request.code_version):
        raise Refused(
            "code_version", "code.no_such_version", version=request.code_version, name=training.name
        )


def check_code(cluster: Cluster, training: Training, request: JobRequest) -> None:
    """Raises Refused for a script that the version does not have."""
    if training.kind is TrainingKind.BUILT_IN:
        return
    version = training.code_version if request.code_version is None else request.code_version
    files = [path for path, _ in trainings.list_code_files(cluster, training, version)]
    check_script(request.command, files, version)


def environment_warnings(
    cluster: Cluster,
    session: Session,
    training: Training,
    request: JobRequest,
    environment: Environment | None,
) -> tuple[SubmissionWarning, ...]:
    """Raises Refused on `environment` for a built-in model if the environment lacks its libraries."""
    libraries = read_libraries(cluster, session, environment)
    name = environment.name if environment else DEFAULT_NAME
    if training.kind is TrainingKind.BUILT_IN:
        if environment is not None:
            check_built_in_model(training.model or "", libraries, name)
        return ()
    return launcher_warnings(request.launcher, libraries, name)


def submitter_relation(actor: Actor, training: Training, is_member: bool, is_named: bool) -> Relation:
    """Raises NotFound if the person may not see it."""
    relation = relation_to_training(
        actor,
        training.workspace.manager_id,
        [actor.user_id] if is_member else [],
        training.owner_id,
        training.visibility,
        [actor.user_id] if is_named else [],
    )
    if relation is Relation.STRANGER or not (is_member or actor.is_administrator):
        raise NotFound("training", training.id)
    return relation


def read_largest_node(session: Session) -> tuple[UnitKind, int | None]:
    """Returns (kind of units, working units of the largest node); None before any node has reported."""
    row = session.execute(LARGEST_NODE).first()
    return (row[0], row[1]) if row else (UnitKind.GPU, None)


def read_node_memories(session: Session, kind: UnitKind) -> list[NodeMemory]:
    """Reads the memory of all nodes with such units; nodes without a report of their memory are left out."""
    query = (
        select(Node.facts, func.count(Unit.id))
        .join(Unit)
        .where(Unit.state != UnitState.GONE, Unit.kind == kind, Node.has_executor)
        .group_by(Node.id)
    )
    found = [(facts.get("memory_bytes"), units) for facts, units in session.execute(query)]
    return [NodeMemory(units, memory) for memory, units in found if isinstance(memory, int)]


def check_dataset(session: Session, training: Training, dataset_id: int | None) -> Dataset | None:
    if dataset_id is None:
        return None
    dataset = session.scalar(
        select(Dataset).where(
            Dataset.id == dataset_id,
            Dataset.workspace_id == training.workspace_id,
            Dataset.deleted_at.is_(None),
        )
    )
    if dataset is None:
        raise Refused("dataset", "job.dataset_unknown", id=dataset_id, workspace=training.workspace.name)
    if dataset.state is DatasetState.FAILED:
        raise Refused("dataset", "job.dataset_failed", name=dataset.name)
    return dataset
