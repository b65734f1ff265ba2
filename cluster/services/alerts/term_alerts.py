"""Lists the alerts about workspaces whose term ends soon, for their managers and for administrators."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, select

from cluster.domain.alerts import ENDS_SOON_DAYS, Alert, AlertDetail, AlertTopic, AlertUrgency
from cluster.domain.people.actor import Actor
from cluster.domain.states import WorkspaceState
from cluster.domain.workspace_terms import days_left, workspace_state
from cluster.services.alerts.alert_counts import AlertSource
from cluster.services.context import Cluster
from cluster.services.workspaces.queries import SUMMARY_COLUMNS, WorkspaceSummary
from cluster.store.nodes import offered_unit_kind
from cluster.store.workspaces import Workspace


def term_source(cluster: Cluster, actor: Actor) -> AlertSource:
    return AlertSource(
        lambda: ending_workspaces(cluster, actor).exists(), partial(ending_term_alerts, cluster, actor)
    )


def ending_workspaces(cluster: Cluster, actor: Actor) -> Select[*tuple[Any, ...]]:
    """Selects one day more on both sides than necessary, because the installation's zone decides which day it is."""
    today = cluster.clock().date()
    last_day = today + timedelta(days=ENDS_SOON_DAYS + 1)
    ending = select(*SUMMARY_COLUMNS).where(Workspace.ends_on.between(today - timedelta(days=1), last_day))
    return ending if actor.is_administrator else ending.where(Workspace.manager_id == actor.user_id)


def ending_term_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for workspaces whose term ends soon, to their manager and to administrators."""
    with cluster.store.read() as session:
        rows = session.execute(ending_workspaces(cluster, actor).order_by(Workspace.name)).all()
        kind = offered_unit_kind(session).value
    own = [WorkspaceSummary(*row) for row in rows]
    ending = [
        (workspace, left) for workspace in own if (left := days_left_if_few(cluster, workspace)) is not None
    ]
    for workspace, left in ending:
        code = "attention.term_ends" if left else "attention.term_ends_today"
        details = (AlertDetail("attention.units_held", {"units": workspace.units, "kind": kind}),)
        data = {"name": workspace.name, "days": left}
        yield Alert(AlertUrgency.CAUTION, AlertTopic.WORKSPACE, code, workspace.id, data, details)


def days_left_if_few(cluster: Cluster, workspace: WorkspaceSummary) -> int | None:
    """The days left of an active workspace. None if they are many."""
    now, zone = cluster.clock(), cluster.settings.zone
    if workspace_state(workspace, now, zone) is not WorkspaceState.ACTIVE:
        return None
    left = days_left(workspace, now, zone)
    return left if left <= ENDS_SOON_DAYS else None
