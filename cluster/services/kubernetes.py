"""Kubernetes as it was last seen, what it should make of the workspaces, and what was put right there."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from cluster.domain.kube.standing import Standing, is_news, parse_standing, to_data
from cluster.domain.kube.tenancies import Tenancy, tenancy_of
from cluster.domain.people import Actor
from cluster.domain.states import AttemptState, NodeState
from cluster.services.context import Cluster
from cluster.services.leases import Held, check_lease
from cluster.store.audit import write_entry
from cluster.store.jobs import Attempt
from cluster.store.leases import Fact
from cluster.store.workspaces import Workspace

STANDING = "kubernetes_standing"
OURSELVES = Actor(0, "groundcrew")


def read_standing(cluster: Cluster) -> Standing | None:
    """None where jobs do not run on Kubernetes, or it was never looked at."""
    with cluster.store.read() as session:
        return load_standing(session)


def load_standing(session: Session) -> Standing | None:
    fact = session.get(Fact, STANDING)
    return parse_standing(fact.value) if fact else None


def kept_out_of(standing: Standing | None, node: str, state: NodeState) -> Mapping[str, Any] | None:
    """Why Kubernetes starts nothing on a node that is ready otherwise, as {code, data}."""
    return standing.kept_out(node) if standing and state is NodeState.READY else None


def note_standing(cluster: Cluster, held: Held, standing: Standing) -> bool:
    """Whether it was news to anybody who looks at a page. Raises LeaseLost."""
    before = read_standing(cluster)
    with cluster.store.write() as session:
        check_lease(session, held)
        session.merge(Fact(name=STANDING, value=to_data(standing)))
    is_new = is_news(before, standing)
    if is_new:
        cluster.bell.ring("nodes", 0)
    return is_new


def forget_standing(cluster: Cluster, held: Held) -> None:
    """Jobs do not run there, or no longer. Raises LeaseLost."""
    if read_standing(cluster) is None:
        return
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(delete(Fact).where(Fact.name == STANDING))
    cluster.bell.ring("nodes", 0)


def list_tenancies(cluster: Cluster) -> list[Tenancy]:
    """Of all workspaces, also of those whose term has not begun or is over."""
    now, zone = cluster.clock(), cluster.settings.zone
    with cluster.store.read() as session:
        workspaces = session.scalars(select(Workspace).order_by(Workspace.id)).all()
    return [tenancy_of(workspace, now, zone) for workspace in workspaces]


def reported_units(cluster: Cluster) -> dict[int, list[str]]:
    """By living job: the units that its shim says it really has, as its attempt's handle keeps them."""
    living = select(Attempt.job_id, Attempt.handle).where(Attempt.state == AttemptState.RUNNING)
    with cluster.store.read() as session:
        rows = session.execute(living).all()
    told = {job_id: (handle or {}).get("gpus") for job_id, handle in rows}
    return {
        job_id: [str(unit) for unit in units] for job_id, units in told.items() if isinstance(units, list)
    }


def note_put_right(
    cluster: Cluster, held: Held, changes: Sequence[tuple[int, str, Mapping[str, Any]]]
) -> None:
    """`changes`: workspace, `workspace.put_right` or `workspace.made_again`, and what. Raises LeaseLost."""
    now = cluster.clock()
    with cluster.store.write() as session:
        check_lease(session, held)
        for workspace, action, data in changes:
            write_entry(session, now, OURSELVES, action, workspace or None, **data)
