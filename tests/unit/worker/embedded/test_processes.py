"""The processes of an installation are known by what they run and by its state directory."""

import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.processes import (
    end_processes,
    is_installation_process,
    list_installation_processes,
    shares_root_filesystem,
)


def process(places: InstallationPaths, *command: str, state_dir: str | None = None) -> psutil.Process:
    environment = {"GROUNDCREW_STATE_DIR": state_dir or str(places.state_dir)}
    described = SimpleNamespace(cmdline=lambda: list(command), environ=lambda: environment, pid=os.getpid())
    return cast(psutil.Process, described)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("python", "-m", "worker", "scheduler"), True),
        (("python", "-m", "gunicorn", "portal.wsgi"), True),
        (("python", "-m", "portal.live"), True),
        (("python", "-m", "worker.embedded.forking_supervisord", ""), True),
        (("python", "-m", "worker", "status"), False),
        (("python", "-m", "pytest", "worker"), False),
        (("python", "-m"), False),
        ((), False),
    ],
)
def test_services_are_known_by_their_module(
    places: InstallationPaths, command: tuple[str, ...], expected: bool
) -> None:
    assert is_installation_process(process(places, *command), places) is expected
    assert not is_installation_process(process(places, *command, state_dir="/elsewhere"), places)


def test_redis_and_nginx_are_known_by_their_files(places: InstallationPaths) -> None:
    redis = ("redis-server", f"unixsocket:{places.state_dir}/run/redis.sock")
    nginx = ("nginx: master process nginx", "-c", f"{places.nginx_dir}/nginx.conf")
    for command in (redis, nginx):
        assert is_installation_process(process(places, *command, state_dir="/elsewhere"), places)
    assert not is_installation_process(process(places, "redis-server", "/run/redis.sock"), places)


STUBBORN_CHILD = """
import subprocess
subprocess.run(["sh", "-c", "trap '' TERM; echo; read x"])
"""


@pytest.fixture
def service(places: InstallationPaths) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that looks like the scheduler, with a child that does not hear SIGTERM."""
    pretends = ["-c", STUBBORN_CHILD, "-m", "worker", "scheduler"]
    environment = {**os.environ, "GROUNDCREW_STATE_DIR": str(places.state_dir)}
    started = subprocess.Popen(
        [sys.executable, *pretends], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    started.stdout.readline()
    yield started
    started.kill()
    started.communicate()


def test_what_a_service_has_started_belongs_to_it_and_ends_also_against_its_will(
    places: InstallationPaths, service: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    own = psutil.Process(service.pid)
    (child,) = own.children()
    monkeypatch.setattr(
        "worker.embedded.processes.is_installation_process", lambda each, _: each.pid == service.pid
    )
    assert {each.pid for each in list_installation_processes(places)} == {service.pid, child.pid}
    end_processes([own, child], patience=0.2)
    assert not psutil.pid_exists(child.pid) or child.status() == psutil.STATUS_ZOMBIE
    assert not own.is_running()
    end_processes([own, child], patience=0.2)


def test_a_process_on_this_file_system_shares_it() -> None:
    assert shares_root_filesystem(psutil.Process())
