"""The default training environment, from the point of view of make up: known, asked for, and whole."""

from pathlib import Path

from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.environments import ensure_default_environment, rebuild_default_environment
from cluster.services.users import service_actor
from worker.environments.description import read_description
from worker.environments.machine import PYTHON, environment_path, read_machine
from worker.environments.ready import is_ready


def ensure_training_environment(cluster: Cluster) -> None:
    """Make it this version's environment, and ask for its building where its files are not there."""
    path = environment_path(read_description(), read_machine(PYTHON), cluster.settings.cache_dir)
    digest = path.name.removeprefix("training-")
    actor = service_actor(cluster)
    environment = ensure_default_environment(cluster, actor, digest, str(path))
    if environment.state is EnvironmentState.READY and not is_ready(Path(environment.path)):
        rebuild_default_environment(cluster, actor)
