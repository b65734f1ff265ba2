"""Writes the event that tells the manager of a workspace that somebody asks for an environment."""

from datetime import datetime

from sqlalchemy.orm import Session

from cluster.domain.states import NotificationKind
from cluster.services.notifications.job_events import read_kinds
from cluster.store.alerts import add_notification_events
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace


def write_environment_event(
    session: Session, environment: Environment, workspace: Workspace, person: str, now: datetime
) -> None:
    """Writes the event if the manager has chosen to be told."""
    manager = workspace.manager_id
    if NotificationKind.ENVIRONMENT_ASKED not in read_kinds(session, {manager}).get(manager, frozenset()):
        return
    data = {
        "person": person,
        "name": environment.name,
        "workspace": workspace.name,
        "packages": len((environment.requirements or "").split()),
    }
    row = {
        "user_id": manager,
        "key": f"environment:{environment.id}",
        "kind": NotificationKind.ENVIRONMENT_ASKED,
        "sweep_id": None,
        "data": {
            "code": "notification.environment_asked",
            "data": data,
            "details": [],
            "path": f"/environments/{environment.id}",
        },
        "happened_at": now,
    }
    add_notification_events(session, [row])
