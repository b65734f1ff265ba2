"""Register the environments of this version, and request a build of those whose files are missing."""

from pathlib import Path

from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.environments import ensure_default_environment, rebuild_default_environment
from cluster.services.notebooks.editor_environment import ensure_editor
from cluster.services.people.users import service_actor
from worker.environments.build_platform import PYTHON, read_build_platform, training_environment_path
from worker.environments.description import read_environment_description
from worker.environments.editor_environment import editor_path, is_editor_ready
from worker.environments.manifest import is_environment_ready


def ensure_training_environment(cluster: Cluster) -> None:
    """Registers this version's environment as the default, and requests a build if its files are missing."""
    path = training_environment_path(
        read_environment_description(), read_build_platform(PYTHON), cluster.settings.cache_dir
    )
    digest = path.name.removeprefix("training-")
    actor = service_actor(cluster)
    environment = ensure_default_environment(cluster, actor, digest, str(path))
    if environment.state is EnvironmentState.READY and not is_environment_ready(Path(environment.path)):
        rebuild_default_environment(cluster, actor)


def ensure_editor_environment(cluster: Cluster) -> None:
    """Registers this version's environment of editors, and requests a build if its files are missing."""
    path = editor_path(read_build_platform(PYTHON), cluster.settings.cache_dir)
    ensure_editor(cluster, service_actor(cluster), path, is_editor_ready(path))
