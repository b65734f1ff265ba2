"""Reads which libraries programs find where they run, from the environment's contents or the recorded images."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from cluster.domain.images import parse_default_image
from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.default_images import DEFAULT_IMAGES_FACT
from cluster.services.images.environments import load_default_environment
from cluster.store.facts import InstallationFact

TORCH = "torch"


def lacks_torch(cluster: Cluster, session: Session) -> bool:
    """Whether torchrun would find no torch; False also where nothing is known."""
    contents = read_libraries(cluster, session)
    return bool(contents) and TORCH not in contents


def read_torch_is_missing(cluster: Cluster) -> bool:
    with cluster.store.read() as session:
        return lacks_torch(cluster, session)


def read_libraries(cluster: Cluster, session: Session) -> Sequence[str]:
    """Lists the libraries of the environment, or of all default images together. An image that the site has named has
    none.
    """
    if cluster.settings.executor.capabilities.has_environment_in_image:
        if cluster.settings.kubernetes_image:
            return []
        fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
        images = [parse_default_image(image) for image in (fact.value if fact else {}).values()]
        return [part.library for image in images for part in image.contents]
    environment = load_default_environment(session)
    if environment is None or environment.state is not EnvironmentState.READY:
        return []
    return [str(library) for library, *_ in environment.contents]
