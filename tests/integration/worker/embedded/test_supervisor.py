"""One service of the embedded set is restarted by a real supervisord; whoever asked for it may die at any moment."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.worker.executors.conftest import until
from worker.bootstrap.paths import CLONE, InstallationPaths
from worker.embedded import supervisor as services
from worker.embedded import supervisor_client
from worker.embedded.state_directory import ensure_state_directory
from worker.embedded.supervisor import ServiceDefinition, render_supervisor_configuration
from worker.embedded.supervisor_client import ServiceStatus, SupervisorClient

IDLE = (sys.executable, "-S", "-c", "import signal; signal.pause()")
DEAF = (sys.executable, "-S", "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()")


@pytest.fixture(scope="module")
def supervisor() -> Iterator[SupervisorClient]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        places = InstallationPaths(CLONE, Path(folder) / "state", Path(folder) / "cache")
        ensure_state_directory(places)
        those = [ServiceDefinition("idle", IDLE, 10, 10), ServiceDefinition("deaf", DEAF, 20, 1)]
        for module in (services, supervisor_client):
            patch.setattr(module, "define_services", lambda places: those)
        places.supervisor_file.write_text(render_supervisor_configuration(places))
        supervisor = SupervisorClient(places)
        supervisor.start_supervisord({"PATH": "/usr/bin:/bin"})
        try:
            yield supervisor
        finally:
            supervisor.stop_all()


def running(supervisor: SupervisorClient, name: str, other_than: int = 0) -> ServiceStatus:
    def look() -> ServiceStatus | None:
        (found,) = (each for each in supervisor.list_services() if each.name == name)
        return found if found.state == "RUNNING" and found.pid != other_than else None

    found = until(look)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["idle", "deaf"])
def test_another_process_runs_afterwards_also_where_the_first_one_hung(
    supervisor: SupervisorClient, name: str
) -> None:
    old = running(supervisor, name)
    supervisor.restart_service(name)
    assert running(supervisor, name).pid != old.pid
    assert not psutil.pid_exists(old.pid)


def test_what_was_stopped_is_started(supervisor: SupervisorClient) -> None:
    supervisor.call("stopProcess", "idle")
    supervisor.restart_service("idle")
    assert running(supervisor, "idle").pid


def test_a_service_comes_back_when_whoever_restarts_it_is_killed_meanwhile(
    supervisor: SupervisorClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = running(supervisor, "idle")

    class Killed(Exception):
        pass

    def dies(*_: object) -> bool:
        raise Killed

    monkeypatch.setattr(SupervisorClient, "wait_for_new_process", dies)
    with pytest.raises(Killed):
        supervisor.restart_service("idle")
    assert running(supervisor, "idle", old.pid).pid
