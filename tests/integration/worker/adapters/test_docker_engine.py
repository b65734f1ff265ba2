"""A container engine that is away, or there and hangs."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from worker.adapters import docker_engine as adapter
from worker.adapters.docker_engine import DockerEngine, EngineUnreachable


@pytest.fixture
def hanging(ground: Path) -> Iterator[Path]:
    """Takes every call and never answers."""
    path = ground / "docker.sock"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as server:
        server.bind(str(path))
        server.listen(64)
        yield path


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_an_engine_that_hangs_is_waited_for_once_and_then_left_alone(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "REST_SECONDS", 60.0)
    engine = DockerEngine(str(hanging), ask_seconds=0.5)
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(EngineUnreachable):
            engine.inspect("anything")
    assert 0.4 < time.monotonic() - began < 5


def test_an_engine_that_is_away_is_asked_again_each_time(ground: Path) -> None:
    engine = DockerEngine(str(ground / "nowhere.sock"))
    began = time.monotonic()
    for _ in range(20):
        with pytest.raises(EngineUnreachable) as silent:
            engine.inspect("anything")
    assert time.monotonic() - began < 5
    assert silent.value.data == {"socket": str(ground / "nowhere.sock")}
