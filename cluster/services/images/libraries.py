"""Reads which libraries programs find where they run, from the environment's contents or the recorded images."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from cluster.domain.images import parse_default_image
from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.default_images import DEFAULT_IMAGES_FACT
from cluster.services.images.environments import load_default_environment
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact

TORCH = "torch"


def read_torch_is_missing(cluster: Cluster, environment: Environment | None = None) -> bool:
    """True if torchrun would find no torch there; False also if nothing is known."""
    with cluster.store.read() as session:
        contents = read_libraries(cluster, session, environment)
    return bool(contents) and TORCH not in contents


def read_libraries(
    cluster: Cluster, session: Session, environment: Environment | None = None
) -> Sequence[str]:
    """Returns the libraries of `environment`; without one, those of the default environment or of all default images
    together. An image that the site has named has none.
    """
    if environment is not None:
        return list_libraries(environment)
    if cluster.settings.executor.capabilities.has_environment_in_image:
        if cluster.settings.kubernetes_image:
            return []
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
        images = [parse_default_image(image) for image in (fact.value if fact else {}).values()]
        return [part.library for image in images for part in image.contents]
    default = load_default_environment(session)
    return list_libraries(default) if default else []


def list_libraries(environment: Environment) -> list[str]:
    """The names of its libraries; none before it is ready."""
    if environment.state is not EnvironmentState.READY:
        return []
    return [str(library) for library, *_ in environment.contents]
