"""Asks that what `pip install` wrote in a notebook becomes an environment, in which every job of the workspace can run.

Names and versions of the packages are taken over, and no file: they are installed again from the site's index.
"""

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, selectinload

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import is_allowed
from cluster.domain.states import EnvironmentSource, EnvironmentState, JobKind
from cluster.services import code_uploads, trainings
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import choose_environment
from cluster.services.images.environment_requests import (
    EnvironmentRequest,
    check_request,
    record_environment,
    request_build,
    require_own_builds,
)
from cluster.services.images.environments import load_default_environment
from cluster.services.notebooks.working_copies import InstalledPackage, list_packages
from cluster.services.operations.lifecycle import enqueue_operation
from cluster.services.people.access import workspace_relation
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment
from cluster.store.jobs import Attempt, Job
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace


def ask_for_environment(
    cluster: Cluster, actor: Actor, training_id: int, name: str, description: str = ""
) -> Environment:
    """The environment of the person's last notebook of this training with the packages of their own on top.

    It waits for the manager of the workspace; if a manager or an administrator asks, it is built at once. Raises
    NotFound, Forbidden, Conflict where jobs run in images, and Refused for every field that is wrong.
    """
    require_own_builds(cluster)
    training = trainings.read_training(cluster, actor, training_id)
    code_uploads.require_training_with_code(cluster, actor, training)
    base = read_base(cluster, actor, training)
    python = python_of(base)
    request = EnvironmentRequest(
        name,
        requirements_of(list_packages(cluster, training, actor.user_id, python), training),
        description,
        python,
        workspace_ids=[training.workspace_id],
        source=EnvironmentSource.NOTEBOOK,
        base_id=base.id,
    )
    checked = check_request(request)
    try:
        with cluster.store.write() as session:
            workspace = session.get_one(
                Workspace, training.workspace_id, options=[selectinload(Workspace.members)]
            )
            environment = record_environment(cluster, session, actor, request, checked, [workspace])
            is_approved = is_allowed("environment.create", workspace_relation(actor, workspace))
            operation = request_build(session, actor, environment, cluster) if is_approved else None
            add_audit_entry(
                session,
                cluster.clock(),
                actor,
                "environment.added" if is_approved else "environment.requested",
                environment.id,
                name=name,
                workspaces=[workspace.name],
                packages=request.requirements.split(),
            )
    except IntegrityError:
        raise Refused("name", "name.taken", name=name) from None
    if operation is not None:
        enqueue_operation(cluster, operation)
    cluster.events.publish("environments", environment.id)
    return environment


def requirements_of(packages: list[InstalledPackage], training: Training) -> str:
    """Raises Refused on `packages` if there are none."""
    if not packages:
        raise Refused("packages", "notebook.no_packages", name=training.name)
    return "".join(f"{package.name}=={package.version}\n" for package in packages)


def read_base(cluster: Cluster, actor: Actor, training: Training) -> Environment:
    """The environment in which the person's last notebook ran, else the one that the training names. Raises Refused on
    `packages` if it is not there any more.
    """
    last = (
        select(Environment)
        .join(Attempt, Attempt.environment_id == Environment.id)
        .join(Job, Job.id == Attempt.job_id)
        .where(Job.user_id == actor.user_id, Job.training_id == training.id, Job.kind == JobKind.NOTEBOOK)
        .order_by(Job.id.desc(), Attempt.number.desc())
        .limit(1)
    )
    with cluster.store.read() as session:
        base = session.scalar(last) or named_environment(cluster, session, training)
    if base is None or base.state is not EnvironmentState.READY or base.deleted_at is not None:
        raise Refused("packages", "notebook.base_gone", name=base.name if base else "default")
    return base


def named_environment(cluster: Cluster, session: Session, training: Training) -> Environment | None:
    return choose_environment(cluster, session, training, None) or load_default_environment(session)


def python_of(environment: Environment) -> str:
    """As 3.11."""
    versions = {str(line[0]): str(line[1]) for line in environment.contents}
    return ".".join((versions.get("python") or environment.python).split(".")[:2])
