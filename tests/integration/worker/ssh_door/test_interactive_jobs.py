"""`groundcrew shell` against a real portal, door and job: the command, the shell and the job end together."""

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from werkzeug.serving import make_server

from cluster.domain.states import JobState
from cluster.services.people import api_tokens
from cluster.store.jobs import Job
from cluster.store.users import User
from portal.app import build_app
from tests.builders import a_job, actor_of
from tests.integration.worker.ssh_door.conftest import RunningProgram, SshLab, until

ROOT = Path(__file__).parents[4]
PROGRAM = ["-m", "groundcrew_shell"]


@pytest.fixture(scope="module")
def minji(lab: SshLab) -> User:
    return lab.person("minji")


def start(lab: SshLab, user: User) -> RunningProgram:
    return lab.start(a_job(lab.cluster, lab.training, user, state=JobState.RUNNING), PROGRAM)


def read_end(lab: SshLab, running: RunningProgram) -> Any:
    return until(lambda: lab.executor.read_exit_record(running.plan.folder), what="the end of the job")


def test_the_job_ends_with_its_shell(lab: SshLab, minji: User) -> None:
    running = start(lab, minji)
    opening = "exec python3 -m groundcrew_shell open"
    done = lab.ssh("minji", running.login, opening, tty=True, stdin=None, input="echo $((6 * 7)); exit 3\n")
    assert done.returncode == 3 and "42" in done.stdout, (done.stdout, done.stderr, lab.log())
    assert read_end(lab, running).exit_code == 0
    assert "The shell ended with exit code 3." in (running.out / "rank-0.stdout").read_text()


@pytest.mark.long
def test_a_lost_connection_ends_the_job(lab: SshLab, minji: User) -> None:
    running = start(lab, minji)
    session = lab.begin("minji", running.login, "exec python3 -m groundcrew_shell open")
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write("echo here\n")
    session.stdin.flush()
    assert session.stdout.readline() == "here\n"
    session.kill()
    session.communicate()
    assert read_end(lab, running).exit_code == 0


@pytest.fixture
def portal(lab: SshLab) -> Iterator[str]:
    """The address of a portal of the lab's installation."""
    server = make_server("127.0.0.1", 0, build_app(lab.cluster), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join(10)
    server.server_close()


def start_the_waiting_job(lab: SshLab) -> RunningProgram:
    """What the scheduler does."""

    def find() -> Job | None:
        with lab.cluster.store.read() as session:
            return session.scalar(select(Job).where(Job.state == JobState.WAITING))

    job: Job = until(find, what="the submitted job")
    assert job.command == ["python", "-m", "groundcrew_shell"]
    running = lab.start(job, PROGRAM)
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).state = JobState.RUNNING
    return running


@pytest.mark.long
def test_the_command_opens_the_shell_of_a_job_in_a_terminal(lab: SshLab, minji: User, portal: str) -> None:
    _, token = api_tokens.create_api_token(lab.cluster, actor_of(minji), "laptop", ["read", "write"], 30)
    home = lab.ground / "home"
    home.mkdir(mode=0o700)
    words = ["-t", lab.training.name, "--time-limit", "30m", "-i", str(lab.key("minji"))]
    ours, theirs = pty.openpty()
    command = subprocess.Popen(
        [sys.executable, "-m", "portal.cli", "shell", *words],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        | {"GROUNDCREW_URL": portal, "GROUNDCREW_TOKEN": token},
        start_new_session=True,
    )
    os.close(theirs)
    running = start_the_waiting_job(lab)
    os.write(ours, b"tty && echo $((6 * 7)) && exit 3\n")
    shown = read_all(ours)
    assert command.wait(60) == 3, (shown, lab.log())
    assert "/dev/pts/" in shown and "\n42" in shown and "at the latest" in shown
    assert read_end(lab, running).exit_code == 0


def read_all(terminal: int) -> str:
    content = b""
    while True:
        try:
            content += os.read(terminal, 65536)
        except OSError:  # Its last process has ended.
            os.close(terminal)
            return content.decode()
