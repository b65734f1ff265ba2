"""The environment that has JupyterLab: its version for this release, its state, and its build.

Cells run in the environment of the job, not in this one.
"""

from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState, OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import (
    enqueue_operation,
    fail_operation,
    finish_operation,
    request_operation,
)
from cluster.store.facts import InstallationFact
from cluster.store.operations import Operation

FACT = "editor_environment"


def ensure_editor(cluster: Cluster, actor: Actor, path: Path, is_built: bool) -> None:
    """Makes this the environment that has JupyterLab, and requests its build unless it is built. The call can be
    repeated.
    """
    now, requested = cluster.clock(), None
    with cluster.store.write() as session:
        fact = session.get(InstallationFact, FACT, with_for_update=True)
        before = fact.value if fact is not None and fact.value["path"] == str(path) else {}
        value: dict[str, Any] = {
            "path": str(path),
            "state": EnvironmentState.READY.value,
            "operation": before.get("operation"),
        }
        if not is_built:
            value["state"] = EnvironmentState.BUILDING.value
            if not is_being_built(session, value["operation"]):
                requested = request_operation(session, OperationKind.EDITOR_BUILD, None, actor, now)
                value["operation"] = requested.id
        session.merge(InstallationFact(name=FACT, value=value))
    if requested is not None:
        enqueue_operation(cluster, requested)


def is_being_built(session: Session, operation_id: int | None) -> bool:
    operation = session.get(Operation, operation_id) if operation_id else None
    return operation is not None and operation.state in (OperationState.REQUESTED, OperationState.RUNNING)


def load_editor(session: Session) -> Path | None:
    """The folder of the environment; None while it is not ready."""
    fact = session.get(InstallationFact, FACT)
    if fact is None or fact.value["state"] != EnvironmentState.READY.value:
        return None
    return Path(fact.value["path"])


def load_editor_build(session: Session) -> int | None:
    """The operation that builds the environment, or that has failed to build it."""
    fact = session.get(InstallationFact, FACT)
    return None if fact is None else fact.value["operation"]


def finish_editor_build(cluster: Cluster, operation_id: int, fence: int, path: Path) -> None:
    """Raises Conflict if the fence is stale."""
    with cluster.store.write() as session:
        finish_operation(session, operation_id, fence, cluster.clock())
        value = {"path": str(path), "state": EnvironmentState.READY.value, "operation": operation_id}
        session.merge(InstallationFact(name=FACT, value=value))
    cluster.events.publish("operations", operation_id)
    cluster.events.publish("queue", 0)


def fail_editor_build(
    cluster: Cluster, operation_id: int, fence: int, code: str, data: dict[str, object]
) -> None:
    """Raises Conflict if the fence is stale."""
    with cluster.store.write() as session:
        fail_operation(session, operation_id, fence, cluster.clock(), code, data)
        fact = session.get_one(InstallationFact, FACT)
        fact.value = fact.value | {"state": EnvironmentState.FAILED.value}
    cluster.events.publish("operations", operation_id)
