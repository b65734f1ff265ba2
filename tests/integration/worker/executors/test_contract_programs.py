"""Real programs find the same in a process as in a container: their user, units, environment, ranks, end."""

import json
import time
from uuid import uuid4

import pytest

from tests.integration.worker.executors.conftest import GID, IS_ROOT, MARK, UID, Bench, living_with, until
from tests.start_plans import change_plan

as_root = pytest.mark.skipif(not IS_ROOT, reason="needs root: only then jobs run as users of their own")

TREE = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(1)
        os._exit(0)
child = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM; while true; do sleep 1; done"])
stopped = subprocess.Popen(["/bin/sleep", "1000"])
os.kill(stopped.pid, signal.SIGSTOP)
daemon()
print("grown")
time.sleep(1000)
"""


def marked(plan):
    """The plan with a mark that all its processes are born with."""
    mark = uuid4().hex
    return mark, change_plan(plan, environment={**plan.program.environment, MARK: mark})


def test_standard_output_and_errors_are_two_files(bench: Bench) -> None:
    plan = bench.plan("/bin/sh", "-c", "echo out; echo err >&2")
    bench.run(plan)
    assert (bench.log(plan), bench.log(plan, "stderr")) == (b"out\n", b"err\n")


def test_arguments_reach_the_program_byte_for_byte(bench: Bench) -> None:
    odd = (
        "$(id)",
        "`id`",
        "; id",
        "two\nlines",
        "--help",
        "{{7*7}}",
        "{% raw %}",
        "!!python/object:x",
        "",
        "*",
    )
    plan = bench.plan("/bin/sh", "-c", 'printf "%s\\0" "$@"', "sh", *odd)
    bench.run(plan)
    assert bench.log(plan).decode().split("\0") == [*odd, ""]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_stopping_ends_the_whole_tree_within_ten_seconds(bench: Bench, how: str) -> None:
    mark, plan = marked(bench.script(TREE))
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"grown")
    assert len(living_with(mark)) >= 5
    began = time.monotonic()
    getattr(bench.executor, how)(handle)
    assert bench.end_of(plan).stopped
    assert time.monotonic() - began < 10
    assert living_with(mark) == []


def test_usage_is_measured(bench: Bench) -> None:
    plan = bench.script(
        "import time\nx = bytearray(50_000_000)\nt = time.time()\nwhile time.time() - t < 30: pass\n"
    )
    bench.start(plan)
    usage = plan.folder / "control" / "usage.json"
    until(lambda: usage.exists() and json.loads(usage.read_text())["cpu_seconds"] > 0.5, what="CPU seconds")
    found = json.loads(usage.read_text())
    assert found["rss_bytes"] > 50_000_000
    assert found["max_rss_bytes"] >= found["rss_bytes"]
    assert found["processes"] == 2


def test_the_environment_is_the_plan_s_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDCREW_SECRET_KEY", "secret")
    plan = bench.plan("/usr/bin/env")
    bench.run(plan)
    names = {line.split(b"=")[0].decode() for line in bench.log(plan).splitlines()}
    assert "GROUNDCREW_SECRET_KEY" not in names
    assert names <= set(plan.program.environment) | {"PYTHONUNBUFFERED", "LC_CTYPE", "_", "PWD", "SHLVL"}


def test_each_attempt_knows_its_own_units_only(bench: Bench) -> None:
    """Side by side."""
    plans = []
    for unit in ("GPU-aaaa", "GPU-bbbb"):
        plan = bench.plan("/bin/sh", "-c", "env | grep VISIBLE_DEVICES")
        told = {**plan.program.environment, "CUDA_VISIBLE_DEVICES": unit}
        plans.append(change_plan(plan, environment=told))
        bench.start(plans[-1])
    for plan in plans:
        assert bench.end_of(plan).exit_code == 0
        assert (
            bench.log(plan).decode()
            == f"CUDA_VISIBLE_DEVICES={plan.program.environment['CUDA_VISIBLE_DEVICES']}\n"
        )


@as_root
def test_the_program_runs_as_its_own_user_without_a_way_back(bench: Bench) -> None:
    plan = bench.script(
        "import os, resource\n"
        "print(os.getresuid(), os.getresgid(), os.getgroups())\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE))\n"
        "print(oct(os.umask(0)))\n"
        "print([line for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])\n"
        "print(sorted(os.listdir('/proc/self/fd')), os.readlink('/proc/self/fd/0'))\n"
        "print(os.path.basename(os.getcwd()))\n"
    )
    truth = bench.run(plan)
    assert truth.exit_code == 0, bench.log(plan, "stderr")
    lines = bench.log(plan).decode().splitlines()
    assert lines[0] == f"({UID}, {UID}, {UID}) ({GID}, {GID}, {GID}) [{GID}]"
    assert lines[1] == "(0, 0)"
    assert lines[2] == "0o27"
    assert "1" in lines[3]
    assert lines[4] == "['0', '1', '2', '3'] /dev/null"  # 3 is the listing itself.
    assert lines[5] == "work"


@as_root
def test_one_user_cannot_read_another_s_results(bench: Bench) -> None:
    first = bench.plan("/bin/sh", "-c", "echo mine > $GROUNDCREW_OUT/result")
    bench.run(first)
    assert (first.out / "result").read_text() == "mine\n"
    second = bench.plan("/bin/cat", str(first.out / "result"), uid=UID + 1, gid=GID + 1)
    assert bench.run(second).exit_code == 1


def test_several_ranks_write_files_of_their_own(bench: Bench) -> None:
    both = "\n".join(
        f"HOROVOD_RANK={rank} /usr/bin/python3 {bench.runtime}/shim_rank.py -- /bin/sh -c "
        f"'echo rank {rank}; sleep {0.2 * rank}; exit {rank * 3}' &"
        for rank in (0, 1, 2)
    )
    argv = ("/bin/sh", "-c", f"{both}\nwait\nexit 1")
    plan = bench.plan(argv=argv, ranks=3)
    truth = bench.run(plan)
    assert [(rank.rank, rank.exit_code) for rank in truth.ranks] == [(0, 0), (1, 3), (2, 6)]
    assert (truth.first_failed_rank, truth.exit_code) == (1, 3)
    assert bench.log(plan, rank=2) == b"rank 2\n"
