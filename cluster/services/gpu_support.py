"""Reads whether what jobs run in computes on GPUs: from the environment's contents, or from the recorded images."""

from sqlalchemy.orm import Session

from cluster.domain.gpu_support import Ground, Support, reason_without_gpus, support_of
from cluster.domain.images import parse_image
from cluster.domain.reasons import NoGpuEnvironment
from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images import DEFAULT_IMAGES
from cluster.settings import Settings
from cluster.store.leases import Fact
from cluster.store.nodes import A_GPU, Unit
from cluster.store.operations import Environment

A_REAL_GPU = A_GPU.where(Unit.simulated.is_(False))
NOTHING_TO_SAY = Ground("", Support.UNKNOWN)


def read_ground(cluster: Cluster, session: Session, environment: Environment | None) -> Ground:
    """Nothing to say where no GPU is one: stand-ins, as tests have them, compute nothing and are called so."""
    if cluster.settings.executor == "simulated":
        return NOTHING_TO_SAY
    ground = ground_of(cluster.settings, session, environment)
    is_in_doubt = bool(ground.name) and ground.support is not Support.YES
    return ground if is_in_doubt and session.scalar(A_REAL_GPU) is not None else NOTHING_TO_SAY


def ground_of(settings: Settings, session: Session, environment: Environment | None) -> Ground:
    if settings.executor == "kubernetes":
        return ground_of_images(settings, session)
    if environment is None or environment.state is not EnvironmentState.READY or not environment.contents:
        return NOTHING_TO_SAY
    container = settings.docker_image if settings.executor == "docker" else ""
    return Ground(environment.name, support_of(environment.contents), container_image=container)


def ground_of_images(settings: Settings, session: Session) -> Ground:
    """The image that the site has named, if it is one of those that were built; else the built one for GPUs."""
    fact = session.get(Fact, DEFAULT_IMAGES)
    known = [parse_image(image) for image in (fact.value if fact else {}).values()]
    if settings.kubernetes_image:
        variant = next((image.variant for image in known if image.reference == settings.kubernetes_image), "")
        support = {"cuda": Support.YES, "cpu": Support.NO}.get(variant, Support.UNKNOWN)
        return Ground(settings.kubernetes_image, support, is_image=True)
    if not known:
        return NOTHING_TO_SAY
    has_cuda = any(image.variant == "cuda" for image in known)
    return Ground(known[0].reference, Support.YES if has_cuda else Support.NO, is_image=True)


def gpu_reason(
    cluster: Cluster, session: Session, environment: Environment | None
) -> NoGpuEnvironment | None:
    """Why no job can start here, where units are GPUs and what jobs run in computes on CPUs only."""
    return reason_without_gpus(read_ground(cluster, session, environment))
