"""The fork server takes attempts from its socket, gives its children names, and ends with the socket."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.adapters.job_runtime import install_runtime
from worker.inside.shim_fork_server import READY

BLANKS = " " * 4096


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[bytes]", socket.socket]]:
    program = install_runtime(tmp_path) / "shim_fork_server.py"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        started = subprocess.Popen([sys.executable, "-I", "-S", str(program), BLANKS], stdin=theirs)
        theirs.close()
        ours.settimeout(30)
        yield started, ours
    assert started.wait(30) == 0


def test_it_says_that_it_is_ready_under_its_own_name(
    server: tuple["subprocess.Popen[bytes]", socket.socket],
) -> None:
    process, control = server
    assert control.recv(100) == READY
    words = Path(f"/proc/{process.pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    assert words[1:3] == [b"-I", b"-S"] and words[3].endswith(b"/shim_fork_server.py") and len(words) == 4


def test_a_shim_answers_through_the_descriptor_that_came_with_its_folder(
    server: tuple["subprocess.Popen[bytes]", socket.socket], tmp_path: Path
) -> None:
    _, control = server
    assert control.recv(100) == READY
    for _ in range(2):
        reader, writer = os.pipe()
        socket.send_fds(control, [os.fsencode(tmp_path / "no-attempt")], [writer])
        os.close(writer)
        with os.fdopen(reader, "rb") as answer:
            assert b'"refused": "error"' in answer.read()


def test_without_room_for_names_it_does_not_start(tmp_path: Path) -> None:
    program = install_runtime(tmp_path) / "shim_fork_server.py"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        done = subprocess.run([sys.executable, "-IS", str(program)], stdin=theirs, timeout=30, check=False)
    assert done.returncode == 1
