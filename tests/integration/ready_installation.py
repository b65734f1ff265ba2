"""An embedded set that is ready for jobs, as tests of its life and death take it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.nodes import queries
from cluster.services.notebooks.editor_environment import load_editor
from cluster.settings import Settings
from tests.installation import Installation
from tests.integration.conftest import a_cluster
from worker.embedded.settings_file import read_settings_file


@contextmanager
def ready_cluster(installation: Installation) -> Iterator[Cluster]:
    """Up, with the training environment of this machine and two CPU slots."""
    installation.up()
    with a_cluster(
        Settings.from_environment(read_settings_file(installation.places.settings_file))
    ) as cluster:
        wait_until(lambda: is_environment_ready(cluster), 900, "the training environment")
        wait_until(lambda: queries.count_working_units(cluster) == 2, 60, "two CPU slots")
        yield cluster


def is_environment_ready(cluster: Cluster) -> bool:
    environment = environments.read_default_environment(cluster)
    assert environment is None or environment.state is not EnvironmentState.FAILED
    return environment is not None and environment.state is EnvironmentState.READY


def has_editor(cluster: Cluster) -> bool:
    """Whether JupyterLab is installed, so that notebooks can be opened."""
    with cluster.store.read() as session:
        return load_editor(session) is not None


def wait_until(is_so: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
