"""Adds environments from requirements files, changes who may choose them, builds them again and deletes them."""

from sqlalchemy.exc import IntegrityError

from cluster.domain.environments.choices import OLDEST_PYTHON, is_too_old
from cluster.domain.environments.requirements import parse_requirements
from cluster.domain.errors import Conflict, Refused
from cluster.domain.names import check_environment_name, check_text
from cluster.domain.people.actor import Actor
from cluster.domain.refusals import Refusals
from cluster.services.context import Cluster
from cluster.services.images.environment_builds import request_build
from cluster.services.images.environment_rows import EnvironmentRequest, record_environment
from cluster.services.images.environment_scope import LONGEST_DESCRIPTION, load_scope
from cluster.services.operations.lifecycle import (
    enqueue_operation,
)
from cluster.store.audit import add_audit_entry
from cluster.store.environments import Environment


def add_environment(cluster: Cluster, actor: Actor, request: EnvironmentRequest) -> Environment:
    """Records the environment and requests its build. Raises Refused for each wrong field, Forbidden, NotFound."""
    require_own_builds(cluster)
    description = check_request(request)
    now = cluster.clock()
    try:
        with cluster.store.write() as session:
            workspaces = load_scope(session, actor, request.workspace_ids)
            environment = record_environment(cluster, session, actor, request, description, workspaces)
            operation = request_build(session, actor, environment, cluster)
            scope = [workspace.name for workspace in workspaces]
            add_audit_entry(
                session, now, actor, "environment.added", environment.id, name=request.name, workspaces=scope
            )
    except IntegrityError:
        raise Refused("name", "name.taken", name=request.name) from None
    enqueue_operation(cluster, operation)
    cluster.events.publish("environments", environment.id)
    return environment


def require_own_builds(cluster: Cluster) -> None:
    """Raises Conflict if jobs run in what their image has."""
    if cluster.settings.executor.capabilities.has_environment_in_image:
        raise Conflict("environment.in_images")


def check_request(request: EnvironmentRequest) -> str:
    """Returns the stripped description. Raises Refused for every field that is wrong."""
    refusals = Refusals()
    refusals.check(check_environment_name, request.name)
    description = refusals.check(check_text, request.description, "description", LONGEST_DESCRIPTION) or ""
    refusals.check(parse_requirements, request.requirements)
    refusals.check(check_python, request.python)
    refusals.raise_all()
    return description


def check_python(version: str) -> None:
    """Checks the form of the version alone; only the machine that builds knows its interpreters. Raises Refused."""
    parts = version.split(".")
    if version and not (len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)):
        raise Refused("python", "environment.python_unreadable", version=version[:20])
    if is_too_old(version):
        least = ".".join(map(str, OLDEST_PYTHON))
        raise Refused("python", "environment.python_too_old", version=version, least=least)
