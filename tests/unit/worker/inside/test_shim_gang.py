"""A pod starts its ranks of a gang: places, the table by which they meet, and the first bad end."""

import os
import subprocess
import sys
import time
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
