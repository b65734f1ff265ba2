"""The row of an environment that somebody has added, and the folder of its files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    EnvironmentSource,
    EnvironmentState,
)
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace

FOLDER = "environments"


@dataclass(frozen=True)
class EnvironmentRequest:
    """The body of a form or of a REST request. Without workspaces the environment is global."""

    name: str
    requirements: str
    description: str = ""
    python: str = ""
    """A version of Python such as 3.11. Empty: that of the distribution."""
    builds_sources: bool = False
    workspace_ids: Sequence[int] = ()
    source: EnvironmentSource = EnvironmentSource.REQUIREMENTS
    base_id: int | None = None
    """The environment of which it is a copy, with these packages on top."""


def environments_folder(settings: Settings) -> Path:
    return settings.state_dir / FOLDER


def environment_folder(settings: Settings, environment_id: int) -> Path:
    return environments_folder(settings) / str(environment_id)


def record_environment(
    cluster: Cluster,
    session: Session,
    actor: Actor,
    request: EnvironmentRequest,
    description: str,
    workspaces: list[Workspace],
) -> Environment:
    """The row of a checked request; nothing builds it yet. Raises IntegrityError if the name is taken."""
    environment = Environment(
        name=request.name,
        description=description,
        source=request.source,
        state=EnvironmentState.UNAPPROVED,
        python=request.python,
        requirements=request.requirements,
        builds_sources=request.builds_sources,
        base_id=request.base_id,
        is_global=not workspaces,
        workspaces=workspaces,
        created_by=actor.user_id,
        created_at=cluster.clock(),
    )
    session.add(environment)
    session.flush()
    environment.path = str(environment_folder(cluster.settings, environment.id))
    return environment
