"""A pod starts its ranks of a gang: places, the table by which they meet, the first bad end; mpirun waits for all."""

import os
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
MEETS = """
import os, urllib.request
where = "http://%s:%s/" % (os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
def ask(method, data=None):
    return urllib.request.urlopen(urllib.request.Request(where + "scope/key", data, method=method))
try:
    ask("GET")
except urllib.error.HTTPError as missing:
    print(missing.code)
ask("PUT", b"an address")
print(ask("GET").read().decode(), os.environ["HOROVOD_RANK"], os.environ["HOROVOD_SIZE"])
"""


def run(*words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(SCRIPT), *words]
    environment = {**os.environ, "GROUNDCREW_GANG_PORT": str(free_port()), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("counts", "index", "expected"),
    [
        ([2, 2], 0, [("0", "0", "0", "2"), ("1", "1", "0", "2")]),
        ([2, 2], 1, [("2", "0", "1", "2"), ("3", "1", "1", "2")]),
        ([1, 1, 1], 2, [("2", "0", "2", "3")]),
        ([2, 1], 0, [("0", "0", "0", "2"), ("1", "1", "0", "1")]),
    ],
)
def test_each_rank_is_told_its_place(counts: list[int], index: int, expected: list[tuple[str, ...]]) -> None:
    keys = ("HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE")
    found = shim_gang.rank_positions(counts, index)
    assert [tuple(place[key] for key in keys) for place in found] == expected
    assert {place["HOROVOD_SIZE"] for place in found} == {str(sum(counts))}
    assert {place["HOROVOD_LOCAL_SIZE"] for place in found} == {str(counts[index])}


def test_ranks_meet_at_the_table_of_the_first_pod() -> None:
    done = run("gloo", "1", "127.0.0.1", "lo", "--", sys.executable, "-c", MEETS)
    assert done.stdout.splitlines() == ["404", "an address 0 1"], done.stderr


def test_the_first_bad_end_ends_the_others_and_is_the_exit_code() -> None:
    began = time.monotonic()
    text = 'test "$HOROVOD_RANK" = 1 && exit 5; exec sleep 100'
    done = run("gloo", "2", "127.0.0.1", "lo", "--", "/bin/sh", "-c", text)
    assert done.returncode == 5
    assert time.monotonic() - began < 60


def test_a_plain_program_runs_once_in_each_pod() -> None:
    told = run(
        "plain", "2,2", "first", "eth0", "--", "/bin/sh", "-c", "echo $RANK $WORLD_SIZE", GROUNDCREW_INDEX="1"
    )
    assert (told.stdout, told.returncode) == ("1 2\n", 0)


def test_torchrun_is_told_the_pod_s_number_and_where_the_first_one_is(tmp_path: Path) -> None:
    """A stand-in of the module in its place says how it was called."""
    package = tmp_path / "torch" / "distributed"
    package.mkdir(parents=True)
    for folder in (tmp_path / "torch", package):
        (folder / "__init__.py").touch()
    (package / "run.py").write_text("import sys; print(*sys.argv[1:])")
    words = ("torchrun", "2,2", "127.0.0.1", "eth0", "--", "python", "rank.py")
    told = run(*words, GROUNDCREW_INDEX="1", PYTHONPATH=str(tmp_path), GROUNDCREW_GANG_PORT="29400")
    assert told.stdout.split() == [
        *("--nnodes", "2", "--node-rank", "1", "--nproc-per-node", "2"),
        *("--master-addr", "127.0.0.1", "--master-port", "29400", "--no-python", "python", "rank.py"),
    ]


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


@pytest.mark.parametrize(
    ("interfaces", "own"), [("ens1,ens2", "ens2"), ("ens2", "ens2"), ("ens1", "ens1"), ("ens2,ens3", "ens2")]
)
def test_gloo_takes_the_first_interface_that_this_host_has(tmp_path: Path, interfaces: str, own: str) -> None:
    for name in ("ens2", "ens3"):
        (tmp_path / name).mkdir()
    assert shim_gang.own_interface(interfaces, str(tmp_path)) == own
