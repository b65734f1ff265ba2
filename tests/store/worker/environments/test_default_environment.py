"""This version's environment is the default one, and it is built where its files are not there."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.states import EnvironmentState
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.store.environments import Environment
from tests.conftest import RecordingBell
from worker.environments import default_environment
from worker.environments.build_platform import PYTHON, read_build_platform, training_environment_path
from worker.environments.default_environment import ensure_training_environment
from worker.environments.description import read_environment_description


@pytest.fixture
def here(cluster: Cluster, tmp_path: Path) -> Cluster:
    """With a cache of environments of its own."""
    return replace(cluster, settings=replace(cluster.settings, cache_dir=tmp_path / "cache"))


def set_ready(cluster: Cluster) -> None:
    with cluster.store.write() as session:
        environment = session.scalars(select(Environment)).one()
        environment.state = EnvironmentState.READY
        environment.operation_id = None


def test_the_environment_of_this_version_is_asked_for_once(here: Cluster, bell: RecordingBell) -> None:
    for _ in range(2):
        ensure_training_environment(here)
    current = read_default_environment(here)
    expected = training_environment_path(
        read_environment_description(), read_build_platform(PYTHON), here.settings.cache_dir
    )
    assert current is not None and current.path == str(expected)
    assert current.digest == expected.name.removeprefix("training-") and len(bell.enqueued) == 1


@pytest.mark.parametrize("is_there", [True, False])
def test_it_is_built_again_where_its_files_have_gone(
    here: Cluster, bell: RecordingBell, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    ensure_training_environment(here)
    set_ready(here)
    asked: list[Path] = []
    monkeypatch.setattr(
        default_environment, "is_environment_ready", lambda path: asked.append(path) or is_there
    )
    ensure_training_environment(here)
    current = read_default_environment(here)
    assert current is not None and asked == [Path(current.path)]
    assert len(bell.enqueued) == (1 if is_there else 2)
