"""One service of the embedded set is restarted by a real supervisord; whoever asked for it may die at any moment."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.executors.conftest import until
from worker.embedded import services
from worker.embedded.places import CLONE, Places
from worker.embedded.services import Process, Service, Supervisor, supervisor_configuration
from worker.embedded.state import ensure_state

IDLE = (sys.executable, "-S", "-c", "import signal; signal.pause()")
DEAF = (sys.executable, "-S", "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()")


@pytest.fixture(scope="module")
def supervisor() -> Iterator[Supervisor]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        places = Places(CLONE, Path(folder) / "state", Path(folder) / "cache")
        ensure_state(places)
        those = [Service("idle", IDLE, 10, 10), Service("deaf", DEAF, 20, 1)]
        patch.setattr(services, "services", lambda places: those)
        places.supervisor_file.write_text(supervisor_configuration(places))
        supervisor = Supervisor(places)
        supervisor.start({"PATH": "/usr/bin:/bin"})
        try:
            yield supervisor
        finally:
            supervisor.stop()


def running(supervisor: Supervisor, name: str, other_than: int = 0) -> Process:
    def look() -> Process | None:
        (found,) = (each for each in supervisor.processes() if each.name == name)
        return found if found.state == "RUNNING" and found.pid != other_than else None

    found = until(look)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["idle", "deaf"])
def test_another_process_runs_afterwards_also_where_the_first_one_hung(
    supervisor: Supervisor, name: str
) -> None:
    old = running(supervisor, name)
    supervisor.restart(name)
    assert running(supervisor, name).pid != old.pid
    assert not psutil.pid_exists(old.pid)


def test_what_was_stopped_is_started(supervisor: Supervisor) -> None:
    supervisor.ask("stopProcess", "idle")
    supervisor.restart("idle")
    assert running(supervisor, "idle").pid


def test_a_service_comes_back_when_whoever_restarts_it_is_killed_meanwhile(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = running(supervisor, "idle")

    class Killed(Exception):
        pass

    def dies(*_: object) -> bool:
        raise Killed

    monkeypatch.setattr(Supervisor, "is_another", dies)
    with pytest.raises(Killed):
        supervisor.restart("idle")
    assert running(supervisor, "idle", old.pid).pid
