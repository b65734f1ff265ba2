"""What every executor promises: started once, found again, stopped whole, and the truth about the end."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from cluster.domain.attempts import Seen
from tests.integration.executors.conftest import GID, IS_ROOT, PYTHON, UID, Bench, until
from worker.executors.contract import NotStarted

as_root = pytest.mark.skipif(not IS_ROOT, reason="needs root: only then jobs run as users of their own")


def alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def pids_in(bench: Bench, plan) -> list[int]:
    return [int(word) for word in bench.log(plan).split()]


def test_a_program_that_succeeds(bench: Bench) -> None:
    plan = bench.plan(PYTHON, "-c", "import sys; print('out'); print('err', file=sys.stderr)")
    truth = bench.run(plan)
    assert (truth.exit_code, truth.signal, truth.error) == (0, None, None), bench.shim_log(plan)
    assert truth.is_of(plan.job, 1, 1)
    assert not (truth.stopped or truth.timed_out or truth.out_of_memory)
    assert [(rank.rank, rank.exit_code) for rank in truth.ranks] == [(0, 0)]
    assert truth.first_failed_rank is None
    assert truth.started_at and truth.ended_at and truth.started_at <= truth.ended_at
    assert bench.log(plan) == b"out\n"
    assert bench.log(plan, "stderr") == b"err\n"


def test_starting_is_quick(bench: Bench) -> None:
    began = time.monotonic()
    bench.start(bench.plan("/bin/true"))
    assert time.monotonic() - began < 1.0


def test_a_second_start_finds_the_first(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "30")
    first = bench.start(plan)
    assert bench.start(plan) == first
    assert [run.handle for run in bench.executor.list_running()] == [first]


def test_a_start_after_the_end_starts_nothing(bench: Bench) -> None:
    plan = bench.plan("/bin/sh", "-c", "echo once")
    bench.run(plan)
    bench.start(plan)
    time.sleep(0.3)
    assert bench.executor.list_running() == []
    assert bench.log(plan) == b"once\n"


def test_a_forestalled_start_never_begins(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "30")
    assert bench.executor.forestall(plan.folder)
    assert bench.executor.forestall(plan.folder)
    with pytest.raises(NotStarted):
        bench.executor.start(plan)
    assert bench.executor.look(plan.folder).seen is Seen.ABSENT


def test_what_runs_cannot_be_forestalled(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "30")
    bench.start(plan)
    assert not bench.executor.forestall(plan.folder)


def test_it_looks_absent_alive_and_gone(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "30")
    assert bench.executor.look(plan.folder).seen is Seen.ABSENT
    handle = bench.start(plan)
    sight = bench.executor.look(plan.folder)
    assert (sight.seen, sight.handle, sight.is_of_this_boot) == (Seen.ALIVE, handle, True)
    bench.executor.stop(handle)
    truth = bench.end_of(plan)
    assert truth.stopped


def test_a_run_of_another_boot_is_gone(bench: Bench) -> None:
    plan = bench.plan("/bin/true")
    bench.run(plan)
    started = plan.folder / "control" / "started"
    content = json.loads(started.read_text())
    content["boot_id"] = "another"
    started.write_text(json.dumps(content))
    sight = bench.executor.look(plan.folder)
    assert (sight.seen, sight.is_of_this_boot) == (Seen.GONE, False)


def test_running_ones_are_listed_with_their_names(bench: Bench) -> None:
    plans = [bench.plan("/bin/sleep", "30") for _ in range(3)]
    for plan in plans:
        bench.start(plan)
    found = {(run.job, run.attempt, run.folder) for run in bench.executor.list_running()}
    assert found == {(plan.job, 1, plan.folder) for plan in plans}


def test_usage_is_measured(bench: Bench) -> None:
    plan = bench.script(
        "import time\nx = bytearray(50_000_000)\nt = time.time()\nwhile time.time() - t < 30: pass\n"
    )
    bench.start(plan)
    usage = plan.folder / "control" / "usage.json"

    def measured() -> bool:
        return usage.exists() and json.loads(usage.read_text())["cpu_seconds"] > 0.5

    until(measured, what="CPU seconds")
    found = json.loads(usage.read_text())
    assert found["rss_bytes"] > 50_000_000
    assert found["max_rss_bytes"] >= found["rss_bytes"]
    assert found["processes"] == 2
    assert alive(found["pid"])


def test_the_time_limit_ends_it(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "60", time_limit_seconds=1)
    truth = bench.run(plan)
    assert truth.timed_out and not truth.stopped


TREE = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            print(os.getpid())
            while True: time.sleep(1)
        os._exit(0)
print(os.getpid())
child = subprocess.Popen(["/bin/sh", "-c", "trap '' TERM; echo $$; while true; do sleep 1; done"])
stopped = subprocess.Popen(["/bin/sleep", "1000"])
print(stopped.pid)
os.kill(stopped.pid, signal.SIGSTOP)
daemon()
time.sleep(1000)
"""


@pytest.mark.parametrize("how", ["stop", "force_stop"])
def test_stopping_ends_the_whole_tree_within_ten_seconds(bench: Bench, how: str) -> None:
    plan = bench.script(TREE)
    handle = bench.start(plan)
    until(lambda: (plan.out / "rank-0.stdout").exists() and len(pids_in(bench, plan)) == 4)
    pids = pids_in(bench, plan)
    assert all(alive(pid) for pid in pids)
    began = time.monotonic()
    getattr(bench.executor, how)(handle)
    truth = bench.end_of(plan)
    assert time.monotonic() - began < 10
    assert truth.stopped
    assert not any(alive(pid) for pid in pids)


def test_a_stop_lets_the_program_say_goodbye(bench: Bench) -> None:
    plan = bench.script(
        "import signal, sys, time\n"
        "def bye(*_):\n    print('saved')\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, bye)\nprint('ready')\ntime.sleep(60)\n"
    )
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"ready")
    bench.executor.stop(handle)
    bench.executor.stop(handle)
    truth = bench.end_of(plan)
    assert truth.stopped
    assert b"saved" in bench.log(plan)


def test_a_killed_shim_leaves_nothing_behind(bench: Bench) -> None:
    plan = bench.script(TREE)
    handle = bench.start(plan)
    until(lambda: (plan.out / "rank-0.stdout").exists() and len(pids_in(bench, plan)) == 4)
    os.kill(handle["pid"], signal.SIGKILL)
    until(lambda: bench.executor.look(plan.folder).seen is Seen.GONE)
    assert bench.executor.read_end(plan.folder) is None
    until(lambda: bench.executor.clear(plan.folder) == 0)
    assert not any(alive(pid) for pid in pids_in(bench, plan))


def test_a_shim_that_does_not_answer_is_ended_with_its_tree(bench: Bench) -> None:
    plan = bench.script(TREE)
    handle = bench.start(plan)
    until(lambda: (plan.out / "rank-0.stdout").exists() and len(pids_in(bench, plan)) == 4)
    bench.executor.stop(handle)
    os.kill(handle["pid"], signal.SIGSTOP)
    bench.executor.force_stop(handle)
    until(lambda: bench.executor.look(plan.folder).seen is Seen.GONE)
    assert not any(alive(pid) for pid in pids_in(bench, plan))


def test_the_environment_is_the_plan_s_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDCREW_SECRET_KEY", "secret")
    plan = bench.plan("/usr/bin/env")
    bench.run(plan)
    names = {line.split(b"=")[0].decode() for line in bench.log(plan).splitlines()}
    assert "GROUNDCREW_SECRET_KEY" not in names
    assert names <= set(plan.environment) | {"PYTHONUNBUFFERED", "LC_CTYPE", "_", "PWD", "SHLVL"}


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
def test_the_control_folder_is_closed_to_the_program(bench: Bench) -> None:
    plan = bench.script(
        "import os\n"
        "control = os.path.join(os.environ['GROUNDCREW_OUT'], '..', 'control')\n"
        "for path in ('exit.json', 'started', 'plan.json'):\n"
        "    try:\n        open(os.path.join(control, path), 'w')\n        print('wrote', path)\n"
        "    except PermissionError:\n        print('refused', path)\n"
        "try:\n    os.rename(control, control + '2')\n    print('renamed')\n"
        "except OSError:\n    print('refused rename')\n"
    )
    bench.run(plan)
    assert b"wrote" not in bench.log(plan) and b"renamed" not in bench.log(plan)
    assert bench.log(plan).count(b"refused") == 4


@as_root
def test_one_user_cannot_read_another_s_results(bench: Bench) -> None:
    first = bench.plan("/bin/sh", "-c", "echo mine > $GROUNDCREW_OUT/result")
    bench.run(first)
    second = bench.plan("/bin/cat", str(first.out / "result"), uid=UID + 1, gid=GID + 1)
    assert bench.run(second).exit_code == 1


def test_several_ranks_write_files_of_their_own(bench: Bench) -> None:
    both = "\n".join(
        f"HOROVOD_RANK={rank} /usr/bin/python3 {bench.runtime}/rank.py -- /bin/sh -c "
        f"'echo rank {rank}; sleep {0.2 * rank}; exit {rank * 3}' &"
        for rank in (0, 1, 2)
    )
    plan = bench.plan()
    argv = ("/bin/sh", "-c", f"{both}\nwait\nexit 1")
    truth = bench.run(type(plan)(**{**vars(plan), "argv": argv, "ranks": 3}))
    assert [(rank.rank, rank.exit_code) for rank in truth.ranks] == [(0, 0), (1, 3), (2, 6)]
    assert (truth.first_failed_rank, truth.exit_code) == (1, 3)
    assert bench.log(plan, rank=2) == b"rank 2\n"


def test_a_full_log_gives_its_middle_back(tmp_path: Path) -> None:
    from worker.inside import rank

    path = tmp_path / "rank-0.stdout"
    log = rank.open_log(str(path))
    os.write(log, b"head\n" + b"x" * 4_000_000 + b"\ntail\n")
    size = path.stat().st_size
    assert rank.give_back_middle(log, limit=1_000_000, head=65_536, tail=262_144)
    assert path.stat().st_blocks * 512 < 1_000_000
    content = path.read_bytes()
    assert content.startswith(b"head\n") and content[size - 6 : size] == b"\ntail\n"
    assert not rank.give_back_middle(log, limit=1_000_000)
    os.close(log)
