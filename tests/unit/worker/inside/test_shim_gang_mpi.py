"""mpirun begins once each worker of an MPIJob answers, and not at all if one never does."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.free_ports import free_port
from worker.inside import shim_gang

SCRIPT = Path(shim_gang.__file__)
PROGRAM = ("--", sys.executable, "-c", "print('begun')")


@pytest.fixture
def hostfile(tmp_path: Path) -> Path:
    """As the MPI operator writes it."""
    path = tmp_path / "hostfile"
    path.write_text("127.0.0.1 slots=2\n127.0.0.2 slots=2\n\n")
    return path


@pytest.fixture
def port() -> int:
    return free_port()


def open_door(address: str, port: int) -> socket.socket:
    return socket.create_server((address, port))


@pytest.fixture
def first(port: int) -> Iterator[socket.socket]:
    """The first host's."""
    with open_door("127.0.0.1", port) as door:
        yield door


def begin(hostfile: Path, port: int, seconds: str, *program: str) -> "subprocess.Popen[str]":
    words = [sys.executable, str(SCRIPT), "mpi", str(hostfile), str(port), seconds, *(program or PROGRAM)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_it_begins_once_the_last_one_answers(hostfile: Path, port: int, first: socket.socket) -> None:
    waiting = begin(hostfile, port, "60")
    first.accept()[0].close()
    assert waiting.poll() is None
    with open_door("127.0.0.2", port):
        said, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, said) == (0, "begun\n")


def test_where_one_never_answers_nothing_begins_and_it_is_named(
    hostfile: Path, port: int, first: socket.socket
) -> None:
    said, complaint = begin(hostfile, port, "0.5").communicate(timeout=60)
    assert said == ""
    assert "127.0.0.2 did not answer within 0.5 s; no rank has begun" in complaint


def test_a_name_that_nobody_knows_yet_is_waited_for_and_said(
    hostfile: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shim_gang, "STABLE_SECONDS", 0.0)
    monkeypatch.setattr(shim_gang, "SSH_PAUSE_SECONDS", 0.0)
    asked = []

    def connect(place: tuple[str, int], _: float) -> socket.socket:
        asked.append(place)
        if len(asked) < 3:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return socket.socket()

    monkeypatch.setattr(socket, "create_connection", connect)
    assert shim_gang.wait_for_ssh("gc-9-2-worker-1", port, time.monotonic() + 60)
    assert asked == [("gc-9-2-worker-1", port)] * 3
    said = capsys.readouterr().err
    assert said.count("waiting for gc-9-2-worker-1") == 1


def test_an_image_without_mpirun_ends_as_a_shell_says_it(
    tmp_path: Path, port: int, first: socket.socket
) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("127.0.0.1 slots=2\n")
    waiting = begin(hostfile, port, "60", "--", "no-such-mpirun")
    _, complaint = waiting.communicate(timeout=60)
    assert (waiting.returncode, complaint) == (127, "groundcrew: no-such-mpirun: No such file or directory\n")
