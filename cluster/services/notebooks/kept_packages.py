"""Requests an environment with the packages that `pip install` has put into a notebook, in which every job of the
workspace can run. Only names and versions of the packages are copied: the packages are installed again from the site's
index.
"""

from sqlalchemy.exc import IntegrityError

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource
from cluster.services import code_uploads, trainings
from cluster.services.context import Cluster
from cluster.services.images import environment_builds, environment_rows
from cluster.services.images.environment_requests import check_request, require_own_builds
from cluster.services.notebooks.last_environment import python_of, read_last_environment
from cluster.services.notebooks.working_copies import InstalledPackage, list_packages
from cluster.services.notifications.environment_events import write_environment_event
from cluster.services.operations.lifecycle import enqueue_operation
from cluster.services.people.access import can_change_workspace, load_workspace
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment


def ask_for_environment(
    cluster: Cluster, actor: Actor, training_id: int, name: str, description: str = ""
) -> Environment:
    """The environment of the person's last notebook of this training with the packages of their own on top.

    It waits for the manager of the workspace; if a manager or an administrator asks, it is built at once. Raises
    NotFound, Forbidden, Conflict if jobs run in images, and Refused for every field that is wrong.
    """
    require_own_builds(cluster)
    training = trainings.read_training(cluster, actor, training_id)
    code_uploads.require_training_with_code(cluster, actor, training)
    base = read_last_environment(cluster, actor, training)
    python = python_of(base)
    request = environment_rows.EnvironmentRequest(
        name,
        requirements_of(list_packages(cluster, training, actor.user_id, python), training.name),
        description,
        python,
        workspace_ids=[training.workspace_id],
        source=EnvironmentSource.NOTEBOOK,
        base_id=base.id,
    )
    checked = check_request(request)
    try:
        with cluster.store.write() as session:
            workspace = load_workspace(session, actor, training.workspace_id)
            environment = environment_rows.record_environment(
                cluster, session, actor, request, checked, [workspace]
            )
            is_approved = can_change_workspace("environment.create", actor, workspace)
            operation = (
                environment_builds.request_build(session, actor, environment, cluster)
                if is_approved
                else None
            )
            if not is_approved:
                write_environment_event(session, environment, workspace, actor.name, cluster.clock())
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


def requirements_of(packages: list[InstalledPackage], training: str) -> str:
    """Raises Refused on `packages` if there are none."""
    if not packages:
        raise Refused("packages", "notebook.no_packages", name=training)
    return "".join(f"{package.name}=={package.version}\n" for package in packages)
