"""The one function that RQ may call: it claims an operation, runs its body and records the result."""

import json
import os
import socket
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError

from cluster.domain.errors import Conflict, GroundcrewError
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import claim_operation
from cluster.settings import Settings
from cluster.store.operations import Operation
from worker.composition import open_cluster
from worker.tasks.operation_lease import lease_kept
from worker.tasks.task_bodies import BODIES, CAN_BEGIN, TaskBody

log = structlog.get_logger()


def run_operation(operation_id: int) -> None:
    """Runs an operation. A second or late call does no harm, because only the worker that claims the row works on it.
    It opens the database itself, because no connection may cross the fork of RQ's work horse.
    """
    cluster = open_cluster(Settings.from_environment())
    try:
        with structlog.contextvars.bound_contextvars(operation=operation_id):
            run_claimed(cluster, operation_id)
    finally:
        cluster.store.close()


def run_claimed(cluster: Cluster, operation_id: int) -> None:
    kind = read_operation_kind(cluster, operation_id)
    if kind not in BODIES or not can_start_now(cluster, kind):
        log.info("not now", kind=kind)
        return
    operation = claim_operation(cluster, operation_id, f"{socket.gethostname()}:{os.getpid()}")
    if operation is None:
        return
    log.info("begun", kind=kind, fence=operation.fence)
    body, record_failure = BODIES[kind]
    with lease_kept(cluster, operation):
        failure = run_body(body, cluster, operation)
    if failure is not None:
        try:
            record_failure(cluster, operation, *failure)
        except Conflict:
            log.warning("another task worker has claimed it")


def run_body(body: TaskBody, cluster: Cluster, operation: Operation) -> tuple[str, dict[str, Any]] | None:
    """Returns None if the body ended well or the operation is no longer ours, else code and data of the reason.

    It is the one place of the tasks that catches every exception, so that the row names whatever went wrong.
    """
    try:
        body(cluster, operation)
    except Conflict as stale:
        log.warning("stopped: no longer ours", code=stale.code)
        return None
    except GroundcrewError as error:
        log.warning("failed", code=error.code, **as_json_values(error.data))
        return error.code, as_json_values(error.data)
    except Exception as error:
        if is_server_away(error):
            # The database is restarting, perhaps by this repair: the lease expires, and the row is taken up again.
            log.warning("left to be taken up again: the database is away", error=str(error))
            return None
        log.exception("broken")
        return "operation.broken", {"error": f"{type(error).__name__}: {error}"[:500]}
    log.info("done")
    return None


def is_server_away(error: Exception) -> bool:
    """Whether PostgreSQL went away or does not answer; errors of SQLite's file are none of these."""
    import psycopg  # The module is slow to import, and not used with SQLite.

    return isinstance(error, OperationalError) and isinstance(error.orig, psycopg.OperationalError)


def can_start_now(cluster: Cluster, kind: str) -> bool:
    return kind not in CAN_BEGIN or CAN_BEGIN[kind](cluster)


def read_operation_kind(cluster: Cluster, operation_id: int) -> str:
    with cluster.store.read() as session:
        operation = session.get(Operation, operation_id)
    return operation.kind if operation else ""


def as_json_values(data: dict[str, Any]) -> dict[str, Any]:
    """Converts the values to those that a row and a page can keep: paths and others become text, and a ? replaces the
    bytes of a file's name that are no text.
    """
    text = json.dumps(data, default=str, ensure_ascii=False).encode("utf-8", "replace").decode()
    found: dict[str, Any] = json.loads(text)
    return found
