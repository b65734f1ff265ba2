"""Reads whether the environment or image of jobs computes on GPUs, from the environment's contents or the recorded
images.
"""

from sqlalchemy.orm import Session

from cluster.domain.images import parse_default_image
from cluster.domain.jobs.gpu_support import EnvironmentOrImage, GpuSupport, gpu_support_of, no_gpu_reason
from cluster.domain.queue.reasons import NoGpuEnvironment
from cluster.domain.states import EnvironmentSource, EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.default_images import DEFAULT_IMAGES_FACT
from cluster.settings import Settings
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.nodes import ANY_GPU, Unit

ANY_REAL_GPU = ANY_GPU.where(Unit.simulated.is_(False))
UNKNOWN_ENVIRONMENT = EnvironmentOrImage("", GpuSupport.UNKNOWN)


def read_job_environment(
    cluster: Cluster, session: Session, environment: Environment | None
) -> EnvironmentOrImage:
    """The environment of jobs. Nothing is known about simulated GPUs, which compute nothing."""
    if cluster.settings.executor.capabilities.is_simulated:
        return UNKNOWN_ENVIRONMENT
    ground = job_environment_of(cluster.settings, session, environment)
    is_in_doubt = bool(ground.name) and ground.support is not GpuSupport.YES
    return ground if is_in_doubt and session.scalar(ANY_REAL_GPU) is not None else UNKNOWN_ENVIRONMENT


def job_environment_of(
    settings: Settings, session: Session, environment: Environment | None
) -> EnvironmentOrImage:
    executor = settings.executor.capabilities
    if environment is not None and environment.source == EnvironmentSource.IMAGE:
        return EnvironmentOrImage(environment.reference, support_of(environment), is_image=True)
    if executor.has_environment_in_image:
        return job_environment_of_images(settings, session)
    if environment is None or environment.state is not EnvironmentState.READY or not environment.contents:
        return UNKNOWN_ENVIRONMENT
    container = settings.docker_image if executor.needs_image else ""
    return EnvironmentOrImage(
        environment.name, gpu_support_of(environment.contents), container_image=container
    )


def support_of(environment: Environment) -> GpuSupport:
    """Returns the GPU support that is recorded with an image, else the one that the environment's contents show."""
    if environment.gpu_support:
        return GpuSupport(environment.gpu_support)
    return gpu_support_of(environment.contents)


def job_environment_of_images(settings: Settings, session: Session) -> EnvironmentOrImage:
    """The image that the site has named, if it is one of the built ones, else the built one for GPUs."""
    fact = session.get(InstallationFact, DEFAULT_IMAGES_FACT)
    known = [parse_default_image(image) for image in (fact.value if fact else {}).values()]
    if settings.kubernetes_image:
        variant = next((image.variant for image in known if image.reference == settings.kubernetes_image), "")
        support = {"cuda": GpuSupport.YES, "cpu": GpuSupport.NO}.get(variant, GpuSupport.UNKNOWN)
        return EnvironmentOrImage(settings.kubernetes_image, support, is_image=True)
    if not known:
        return UNKNOWN_ENVIRONMENT
    has_cuda = any(image.variant == "cuda" for image in known)
    return EnvironmentOrImage(
        known[0].reference, GpuSupport.YES if has_cuda else GpuSupport.NO, is_image=True
    )


def read_no_gpu_reason(
    cluster: Cluster, session: Session, environment: Environment | None
) -> NoGpuEnvironment | None:
    """The reason why no job can start although units are GPUs: the environment computes on CPUs only."""
    return no_gpu_reason(read_job_environment(cluster, session, environment))
