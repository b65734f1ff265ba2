"""`make status` shows each service and where the installation lies."""

import time
from types import SimpleNamespace

import pytest

from cluster.settings import VERSION
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.commands import status
from worker.embedded.commands.running_jobs import RunningJobLine


def service(name: str, state: str = "RUNNING", pid: int = 7) -> SimpleNamespace:
    return SimpleNamespace(name=name, state=state, pid=pid, started_at=time.time() - 185)


@pytest.fixture
def installation(places: InstallationPaths, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """`services` None: nothing runs."""
    world = SimpleNamespace(services=None, places=places)
    monkeypatch.setattr(status, "find_installation_paths", lambda: places)
    monkeypatch.setattr(
        status,
        "SupervisorClient",
        lambda _: SimpleNamespace(
            is_running=lambda: world.services is not None, list_services=lambda: world.services
        ),
    )
    monkeypatch.setattr(
        status, "list_running_job_lines", lambda _: [RunningJobLine(12, "lenet", "vision", "minji")]
    )
    url = SimpleNamespace(from_environment=lambda _: SimpleNamespace(public_url="http://127.0.0.1:8470"))
    monkeypatch.setattr(status, "Settings", url)
    return world


@pytest.mark.parametrize(
    ("services", "code"),
    [
        (None, 1),
        ([service("portal"), service("scheduler")], 0),
        ([service("portal"), service("scheduler", "BACKOFF", 0)], 1),
    ],
)
def test_the_exit_code_says_whether_every_service_runs(
    installation: SimpleNamespace, services: list[SimpleNamespace] | None, code: int
) -> None:
    installation.services = services
    assert status.main([]) == code


def test_services_address_folders_and_jobs_are_shown(
    installation: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    installation.services = [service("portal", pid=4711), service("scheduler", "FATAL", 0)]
    status.main([])
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[1].split()[:3] == ["portal", "running", "4711"] and " 3 " in lines[1]
    assert lines[2].split() == ["scheduler", "fatal"]
    places = installation.places
    for shown in (
        "http://127.0.0.1:8470",
        VERSION,
        str(places.state_dir),
        str(places.cache_dir),
        "job-12 lenet",
    ):
        assert shown in printed
