"""The status of Kubernetes as the scheduler recorded it last, the namespaces that workspaces should have, and the
corrections made there."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from cluster.domain.kubernetes.status import (
    KubernetesStatus,
    has_status_changed,
    kubernetes_status_to_data,
    parse_kubernetes_status,
)
from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace, workspace_namespace_of
from cluster.domain.people.actor import Actor
from cluster.domain.states import AttemptState, NodeState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.audit import add_audit_entry
from cluster.store.facts import InstallationFact, read_fact
from cluster.store.jobs import Attempt
from cluster.store.workspaces import Workspace

KUBERNETES_STATUS_FACT = "kubernetes_status"
SYSTEM_ACTOR = Actor(0, "groundcrew")


def read_kubernetes_status(cluster: Cluster) -> KubernetesStatus | None:
    """Returns None if jobs do not run on Kubernetes or its status was never read."""
    with cluster.store.read() as session:
        return load_kubernetes_status(session)


def load_kubernetes_status(session: Session) -> KubernetesStatus | None:
    return read_fact(session, KUBERNETES_STATUS_FACT, parse_kubernetes_status)


def node_closed_reason(
    standing: KubernetesStatus | None, node: str, state: NodeState
) -> Mapping[str, Any] | None:
    """The reason, as {code, data}, why Kubernetes starts nothing on a node that is otherwise ready."""
    return standing.kept_out(node) if standing and state is NodeState.READY else None


def record_kubernetes_status(cluster: Cluster, held: HeldLease, standing: KubernetesStatus) -> bool:
    """Records the status and returns whether pages show it differently now. Raises LeaseLost."""
    before = read_kubernetes_status(cluster)
    with cluster.store.write() as session:
        check_lease(session, held)
        session.merge(
            InstallationFact(name=KUBERNETES_STATUS_FACT, value=kubernetes_status_to_data(standing))
        )
    is_new = has_status_changed(before, standing)
    if is_new:
        cluster.events.publish("nodes", 0)
    return is_new


def delete_kubernetes_status(cluster: Cluster, held: HeldLease) -> None:
    """Deletes the status, because jobs do not run on Kubernetes, or no longer. Raises LeaseLost."""
    if read_kubernetes_status(cluster) is None:
        return
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(delete(InstallationFact).where(InstallationFact.name == KUBERNETES_STATUS_FACT))
    cluster.events.publish("nodes", 0)


def list_workspace_namespaces(cluster: Cluster) -> list[WorkspaceNamespace]:
    """The namespaces of all workspaces, before, during and after their terms."""
    now, zone = cluster.clock(), cluster.settings.zone
    with cluster.store.read() as session:
        workspaces = session.scalars(select(Workspace).order_by(Workspace.id)).all()
    return [workspace_namespace_of(workspace, now, zone) for workspace in workspaces]


def read_reported_units(cluster: Cluster) -> dict[int, list[str]]:
    """The units that the shim of each live job reported, by job. The attempt's handle contains them."""
    living = select(Attempt.job_id, Attempt.handle).where(Attempt.state == AttemptState.RUNNING)
    with cluster.store.read() as session:
        rows = session.execute(living).all()
    told = {job_id: (handle or {}).get("gpus") for job_id, handle in rows}
    return {
        job_id: [str(unit) for unit in units] for job_id, units in told.items() if isinstance(units, list)
    }


def record_corrections(
    cluster: Cluster, held: HeldLease, changes: Sequence[tuple[int, str, Mapping[str, Any]]]
) -> None:
    """Records each change of `changes`: workspace, `workspace.put_right` or `workspace.made_again`, and object.
    Raises LeaseLost.
    """
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        for workspace, action, data in changes:
            add_audit_entry(session, now, SYSTEM_ACTOR, action, workspace or None, **data)
