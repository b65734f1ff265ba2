"""Programs as they come: whatever they do, the end is told as it was and nothing outside is touched."""

import os
import signal
from pathlib import Path

import pytest

from cluster.domain.jobs.attempts import outcome_of
from cluster.domain.states import JobState
from tests.integration.worker.executors.conftest import IS_ROOT, PYTHON, Bench, until
from tests.start_plans import change_plan


@pytest.fixture
def bench(process_bench: Bench) -> Bench:
    """The shim and its rank wrapper are the same inside a container: see test_containers.py for what is not."""
    return process_bench


RAISES = "print('before')\nraise ValueError('boom')\n"
FORKS_AND_EXITS = """
import os, time
told, tells = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.write(tells, b'.')
        time.sleep(1000)
    os._exit(0)
os.read(told, 1)
"""
NEVER_FLUSHES = "import sys\nsys.stdout.write('no newline, no flush')\n"
BINARY = "import os\nos.write(1, bytes(range(256)) * 40)\n"
LONG_LINES = "import sys\nfor _ in range(5): sys.stdout.write('x' * 1_000_000 + '\\n')\n"
FORGES = """
import json, os
out = os.environ['GROUNDCREW_OUT']
truth = {'job': 1, 'attempt': 1, 'fence': 1, 'exit_code': 0, 'signal': None, 'stopped': False, 'error': None,
         'timed_out': False, 'out_of_memory': False, 'ranks': [], 'first_failed_rank': None,
         'started_at': None, 'ended_at': None, 'cpu_seconds': 0, 'max_rss_bytes': 0}
for path in (os.path.join(out, '..', 'control', 'exit.json'), os.path.join(out, 'exit.json')):
    try:
        with open(path, 'w') as file: json.dump(truth, file)
    except OSError as error: print(error)
with open(os.path.join(out, 'rank-0.exit.json'), 'w') as file: json.dump({'exit_code': 0}, file)
raise SystemExit(7)
"""
BREAKS_RANK_FILE = """
import os
out = os.environ['GROUNDCREW_OUT']
os.mkfifo(os.path.join(out, 'rank-1.exit.json'))
os.symlink('/etc/passwd', os.path.join(out, 'rank-2.exit.json'))
with open(os.path.join(out, 'rank-3.exit.json'), 'w') as file: file.write('[' * 100_000)
"""


@pytest.mark.parametrize(
    ("program", "exit_code", "code"),
    [
        ((PYTHON, "-u", "nowhere.py"), 127, "exit.command_not_found"),
        (("no-such-command",), 127, "exit.command_not_found"),
        (("./nowhere/at-all",), 127, "exit.command_not_found"),
        (("/etc/passwd",), 126, "exit.not_executable"),
        (("/",), 126, "exit.not_executable"),
        (("/bin/false",), 1, "exit.error"),
        (("/bin/sh", "-c", "exit 3"), 3, "exit.other"),
        (("/bin/sh", "-c", "kill -9 $$"), 137, "exit.killed"),
        (("/bin/sh", "-c", "kill -11 $$"), 139, "exit.segmentation_fault"),
        ((PYTHON, "-c", "import os; os.abort()"), 134, "exit.aborted"),
    ],
)
def test_an_end_is_told_as_it_was(bench: Bench, program: tuple[str, ...], exit_code: int, code: str) -> None:
    truth = bench.run(bench.plan(*program))
    told = outcome_of(truth)
    assert (told.exit_code, told.code, told.state) == (exit_code, code, JobState.FAILED)
    assert not truth.out_of_memory


def test_a_script_that_is_not_there_is_named_in_the_log(bench: Bench) -> None:
    plan = bench.plan(PYTHON, "-u", "nowhere.py")
    bench.run(plan)
    assert bench.log(plan, "stderr") == b"groundcrew: No such file or directory: nowhere.py\n"


def test_a_script_that_raises(bench: Bench) -> None:
    plan = bench.script(RAISES)
    assert bench.run(plan).exit_code == 1
    assert bench.log(plan) == b"before\n"
    assert b"ValueError: boom" in bench.log(plan, "stderr")


def test_who_forks_and_exits_leaves_nothing_behind(bench: Bench) -> None:
    plan = bench.script(FORKS_AND_EXITS)
    truth = bench.run(plan)
    assert truth.exit_code == 0 and not truth.stopped
    assert bench.exit_file(plan)["left_behind"] == 1
    pid = int(bench.log(plan))
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NEVER_FLUSHES, b"no newline, no flush"),
        (BINARY, bytes(range(256)) * 40),
        (LONG_LINES, (b"x" * 1_000_000 + b"\n") * 5),
    ],
)
def test_every_byte_of_a_log_arrives_once(bench: Bench, text: str, expected: bytes) -> None:
    plan = bench.script(text)
    assert bench.run(plan).exit_code == 0
    assert bench.log(plan) == expected


def test_what_was_written_before_a_kill_is_in_the_log(bench: Bench) -> None:
    plan = bench.script("import os\nfor n in range(1000): print(n)\nos.kill(os.getpid(), 9)\n")
    assert bench.run(plan).signal == signal.SIGKILL
    assert bench.log(plan).split() == [str(n).encode() for n in range(1000)]


def test_a_forged_result_does_not_count(bench: Bench) -> None:
    plan = bench.script(FORGES)
    truth = bench.run(plan)
    assert truth.exit_code == 7
    assert outcome_of(truth).state is JobState.FAILED


def test_a_log_replaced_by_a_link_harms_nothing_outside(bench: Bench) -> None:
    precious = bench.ground / "groundcrew.db"
    precious.write_text("precious")
    plan = bench.script(
        "import os, time\n"
        "log = os.path.join(os.environ['GROUNDCREW_OUT'], 'rank-0.stdout')\n"
        f"os.remove(log)\nos.symlink({str(precious)!r}, log)\nprint('after')\n"
    )
    assert bench.run(plan).exit_code == 0
    assert precious.read_text() == "precious"


def test_hostile_files_where_ranks_report_are_passed_over(bench: Bench) -> None:
    plan = bench.script(BREAKS_RANK_FILE, ranks=4)
    truth = bench.run(plan)
    assert truth.exit_code == 0
    assert [rank.rank for rank in truth.ranks] == [0]


def test_a_program_that_kills_its_wrapper_has_failed(bench: Bench) -> None:
    plan = bench.script("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(100)\n")
    truth = bench.run(plan)
    assert (truth.exit_code, truth.signal) == (137, signal.SIGKILL)


def test_a_launcher_that_cannot_be_run_is_not_found(bench: Bench) -> None:
    plan = bench.plan()
    plan = change_plan(plan, argv=("/nowhere/launcher",))
    truth = bench.run(plan)
    assert truth.exit_code == 127


def test_an_argument_that_no_call_can_take_is_no_crash(bench: Bench) -> None:
    plan = bench.plan("/bin/echo", "nul\0byte")
    assert bench.run(plan).error == "exit.not_started"


@pytest.mark.skipif(not IS_ROOT, reason="needs root to make a small file system")
def test_a_full_disk_does_not_eat_the_result(bench: Bench) -> None:
    storage = bench.ground / "storage"
    storage.mkdir()
    assert os.system(f"mount -t tmpfs -o size=1m none {storage}") == 0
    try:
        plan = bench.plan("/bin/sh", "-c", "cat /dev/zero > $GROUNDCREW_OUT/fill; exit 5")
        bench.start(plan)
        truth = bench.end_of(plan)
        assert truth.exit_code == 5
    finally:
        until(lambda: os.system(f"umount {storage} 2>/dev/null") == 0, 5)


def hog_script() -> str:
    return "x = []\nwhile True: x.append(bytearray(8_000_000))\n"


@pytest.mark.skipif(not IS_ROOT, reason="needs root to set a limit of memory")
def test_a_kill_by_the_kernel_for_memory_is_known(bench: Bench) -> None:
    group = memory_group(128 * 1024**2)
    if group is None:
        pytest.skip("no memory cgroup to write to, or the kernel's log does not name our processes")
    plan = bench.script(
        "import os, time\nopen('begun', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n" + hog_script()
    )
    try:
        bench.start(plan)
        usage = plan.folder / "control" / "usage.json"
        until(lambda: usage.exists() and (plan.out / "work" / "begun").exists())
        for pid in descendants(bench.handles[-1]["pid"]):
            (group / "cgroup.procs").write_text(str(pid))
        (plan.out / "work" / "go").touch()
        truth = bench.end_of(plan, 30)
        assert truth.out_of_memory
        assert outcome_of(truth).code == "exit.out_of_memory"
    finally:
        until(lambda: remove(group), 5)


def descendants(pid: int) -> list[int]:
    from worker.inside.shim_process_tree import living_descendants

    return [process.pid for process in living_descendants(pid)]


def memory_group(limit: int) -> Path | None:
    """A memory cgroup of version 1 or 2 with a limit in bytes; None where none can be made."""
    if str(Path("/proc/self/ns/pid").readlink()) != "pid:[4026531836]":
        return None
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root) / f"gc-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / name).write_text(str(limit))
        except OSError:
            remove(group)
            continue
        return group
    return None


def remove(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
