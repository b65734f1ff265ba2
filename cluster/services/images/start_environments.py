"""Reads the environments in which programs of attempts run: those that their jobs have chosen, and images."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.jobs.gpu_support import EnvironmentOrImage, GpuSupport
from cluster.domain.states import EnvironmentSource, UnitKind
from cluster.services.context import Cluster
from cluster.services.images import default_images, environments, gpu_support
from cluster.services.images.environment_choice import load_environments
from cluster.settings import Settings
from cluster.store.environments import Environment


@dataclass(frozen=True)
class StartEnvironment:
    """The environment of an attempt's program. `id` is None if none of ours is known."""

    id: int | None
    name: str = ""
    path: Path = Path("/nonexistent")
    support: EnvironmentOrImage = EnvironmentOrImage("", GpuSupport.UNKNOWN)
    """The GPU support may have changed since the attempt was placed."""
    image: str = ""
    """The reference of an image that was chosen."""
    is_chosen: bool = False
    """Whether jobs name the environment; else it is the default one."""


def read_start_environments(
    cluster: Cluster, session: Session, chosen: Collection[int | None]
) -> dict[int | None, StartEnvironment]:
    """Reads the environments by the ids that jobs have chosen, and the default one by None."""
    rows: dict[int | None, Environment | None] = {None: environments.load_default_environment(session)}
    rows.update(load_environments(session, [key for key in chosen if key is not None]).items())
    return {key: start_environment(cluster, session, row) for key, row in rows.items()}


def read_image_rows(settings: Settings, session: Session) -> dict[str, int]:
    if not settings.executor.capabilities.has_environment_in_image:
        return {}
    query = select(Environment.reference, Environment.id).where(
        Environment.source == EnvironmentSource.IMAGE, Environment.deleted_at.is_(None)
    )
    return {reference: key for reference, key in session.execute(query)}  # noqa: C416


def start_environment(
    cluster: Cluster, session: Session, environment: Environment | None
) -> StartEnvironment:
    support = gpu_support.read_job_environment(cluster, session, environment)
    if environment is None:
        return StartEnvironment(None, support=support)
    is_in_image = cluster.settings.executor.capabilities.has_environment_in_image
    is_known = is_in_image is (environment.source == EnvironmentSource.IMAGE)
    return StartEnvironment(
        environment.id if is_known else None,
        environment.name,
        Path(environment.path or "/nonexistent"),
        support,
        environment.reference,
        environment.source != EnvironmentSource.DEFAULT,
    )


def read_container_images(settings: Settings, session: Session) -> dict[UnitKind, str]:
    if not settings.executor.capabilities.has_environment_in_image:
        return dict.fromkeys(UnitKind, settings.docker_image)
    return {
        kind: settings.kubernetes_image or default_images.read_default_image(session, kind)
        for kind in UnitKind
    }
