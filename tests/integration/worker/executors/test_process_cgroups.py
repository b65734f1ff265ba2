"""A cgroup holds a program as a whole: nothing of it outlives its job, and it takes no more than it may."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.domain.jobs.attempts import ObservedState, outcome_of
from tests.integration.worker.executors.conftest import GID, IS_ROOT, PYTHON, UID, Bench, living_with, until
from tests.integration.worker.executors.executor_stages import ProcessStage
from tests.integration.worker.executors.test_contract_programs import marked
from tests.machine.fork_chains import compile_burst
from worker.executors.contract import StartPlan
from worker.executors.process import ProcessExecutor
from worker.executors.shim_start import DetachedShimStarter
from worker.inside import shim_cgroup, shim_devices

as_root = pytest.mark.skipif(not IS_ROOT, reason="needs root: only root makes groups")
MIB = 1024**2


@pytest.fixture
def bench(process_bench: Bench) -> Bench:
    return process_bench


@pytest.fixture(autouse=True)
def no_group_is_left(bench: Bench) -> Iterator[None]:
    assert isinstance(bench.executor, ProcessExecutor)
    yield
    bench.stage.close()
    prefix = bench.executor.cgroup_prefix + "-"
    until(lambda: folders_of(prefix) == [], 10, "the end of all groups")


def folders_of(prefix: str) -> list[str]:
    groups = list(shim_cgroup.list_cgroups(prefix))
    return [part.path for group in groups for part in group.folders]


@pytest.fixture(scope="module")
def burst(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """The program, put where a job's user may read it."""
    program = compile_burst(tmp_path_factory.mktemp("burst"))
    if program is None:
        pytest.skip("no C compiler: apt-get install gcc")

    def put(ground: Path) -> Path:
        return Path(shutil.copy(program, ground / "burst"))

    return put


def stop_a_burst(bench: Bench, program: Path) -> None:
    mark, plan = marked(bench.plan(str(program)))
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"bursting")
    until(lambda: len(living_with(mark)) > 3)
    bench.executor.stop(handle)
    truth = bench.end_of(plan, 30)
    assert living_with(mark) == []
    assert truth.stopped


def test_a_stopped_burst_of_forks_leaves_no_process(bench: Bench, burst: Callable[[Path], Path]) -> None:
    program = burst(bench.ground)
    stop_a_burst(bench, program)


@pytest.mark.long
def test_twenty_stopped_bursts_leave_no_process(bench: Bench, burst: Callable[[Path], Path]) -> None:
    program = burst(bench.ground)
    for _ in range(20):
        stop_a_burst(bench, program)


class WithoutRoot(DetachedShimStarter):
    """As on a machine of which we are not root: the shim and its program are one user."""

    def start_shim(self, shim: Path, folder: Path) -> dict[str, object]:
        for path in (folder.parent, folder, *folder.rglob("*")):
            os.chown(path, UID, GID)
        become = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups"]
        words = [*become, PYTHON, "-I", "-S", str(shim), str(folder)]
        done = subprocess.run(words, stdout=subprocess.PIPE, start_new_session=True, timeout=20, check=False)
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer


@as_root
def test_without_root_a_stopped_burst_is_scanned_for_until_nothing_is_left(
    bench: Bench, burst: Callable[[Path], Path]
) -> None:
    bench.executor = ProcessExecutor(bench.stage.runtime, bench.ground / "storage", WithoutRoot())
    mark, plan = marked(bench.plan(str(burst(bench.ground)), uid=None, gid=None))
    handle = bench.start(plan)
    assert not (plan.folder / "control" / shim_cgroup.RECORD_FILE).exists()
    bench.wait_for_log(plan, b"bursting")
    until(lambda: len(living_with(mark)) > 3)
    bench.executor.stop(handle)
    # What another user than ourselves has written is believed by nobody, so we read it ourselves.
    until((plan.folder / "control" / "exit.json").exists, 45, "the shim's word")
    assert bench.exit_file(plan)["stopped"]
    assert living_with(mark) == []


def outlive_the_shim(bench: Bench, program: Path) -> tuple[str, StartPlan]:
    mark, plan = marked(bench.plan(str(program)))
    handle = bench.start(plan)
    bench.wait_for_log(plan, b"bursting")
    until(lambda: len(living_with(mark)) > 3)
    os.kill(handle["pid"], signal.SIGKILL)
    until(lambda: bench.executor.read_status(plan.folder).observed is ObservedState.ENDED)
    assert bench.executor.read_exit_record(plan.folder) is None
    return mark, plan


def test_what_a_killed_shim_has_left_is_ended_before_its_attempt_counts_as_cleared(
    bench: Bench, burst: Callable[[Path], Path]
) -> None:
    mark, plan = outlive_the_shim(bench, burst(bench.ground))
    until(lambda: bench.executor.end_leftovers(plan.folder) == 0)
    assert living_with(mark) == []


@as_root
def test_a_group_is_found_without_its_attempts_folder(bench: Bench, burst: Callable[[Path], Path]) -> None:
    mark, plan = outlive_the_shim(bench, burst(bench.ground))
    shutil.rmtree(plan.folder)
    until(lambda: bench.executor.end_leftovers(plan.folder) == 0)
    assert living_with(mark) == []


@as_root
def test_what_a_killed_shim_has_left_of_an_unknown_attempt_is_swept(
    bench: Bench, burst: Callable[[Path], Path]
) -> None:
    mark, plan = outlive_the_shim(bench, burst(bench.ground))
    assert isinstance(bench.executor, ProcessExecutor)
    bench.executor.remove_ended_except({(plan.job, plan.attempt)})
    assert folders_of(bench.executor.cgroup_prefix) != []
    bench.executor.remove_ended_except(())
    assert living_with(mark) == []
    assert folders_of(bench.executor.cgroup_prefix) == []


@as_root
def test_two_installations_never_touch_each_others_groups(bench: Bench) -> None:
    """The same job's number and attempt in both. Two units of one name cannot be, so no units here."""
    other = ProcessStage(bench.ground / "other", bench.stage.runtime)
    other.ground.mkdir(mode=0o711)
    bench.executor = ProcessExecutor(bench.stage.runtime, bench.ground / "storage")
    other.executor = ProcessExecutor(bench.stage.runtime, other.ground / "storage")
    plans = [bench.plan("/bin/sleep", "1000", job=7), other.plan_for("/bin/sleep", "1000", job=7)]
    try:
        handles = [bench.executor.start(plans[0]), other.executor.start(plans[1])]
        until(lambda: all((plan.out / "rank-0.stdout").exists() for plan in plans))
        bench.executor.remove_ended_except(())
        bench.executor.kill(handles[0])
        until(lambda: bench.executor.read_status(plans[0].folder).observed is ObservedState.ENDED)
        bench.executor.end_leftovers(plans[0].folder)
        bench.executor.remove_ended_except(())
        assert other.executor.read_status(plans[1].folder).observed is ObservedState.ALIVE
        assert shim_cgroup.read_cgroup_record(str(plans[1].folder / "control")).pids()  # type: ignore[union-attr]
    finally:
        other.close()


def test_a_daemon_that_the_launcher_leaves_ends_with_it(bench: Bench) -> None:
    mark, plan = marked(bench.plan("/bin/sh", "-c", "setsid sh -c 'setsid sleep 500 & setsid sleep 500 &' &"))
    truth = bench.run(plan)
    assert (truth.exit_code, truth.left_behind) == (0, 2)
    assert living_with(mark) == []


HOG = "x = []\nfor _ in range(100): x.append(b'x' * 4_000_000)\n"
"""Not for ever: where nothing limits it, it ends well."""


@as_root
def test_who_uses_more_memory_than_the_job_may_ends_alone_and_the_reason_names_the_limit(
    bench: Bench,
) -> None:
    neighbour = bench.plan("/bin/sleep", "1000", memory_bytes=64 * MIB)
    bench.start(neighbour)
    plan = bench.script(HOG, memory_bytes=64 * MIB)
    told = outcome_of(bench.run(plan))
    assert (told.code, told.data.get("memory_limit_bytes")) == ("exit.out_of_memory", 64 * MIB)
    assert bench.executor.read_status(neighbour.folder).observed is ObservedState.ALIVE


@as_root
def test_a_worker_that_the_kernel_took_is_the_reason_of_its_programs_end(bench: Bench) -> None:
    plan = bench.script(
        f"import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-c', {HOG!r}]) != 0)\n",
        memory_bytes=64 * MIB,
    )
    truth = bench.run(plan)
    assert (truth.exit_code, outcome_of(truth).code) == (1, "exit.out_of_memory")


BOMB = """
import os, time
until = time.time() + 60
while time.time() < until:
    try:
        os.fork()
    except OSError:
        time.sleep(0.05)
    if len(os.listdir('/proc')) > 2000: os._exit(1)
"""
"""It ends by itself after a while, and where it is not kept small."""


@as_root
def test_a_fork_bomb_is_kept_small_and_ends_alone_with_its_reason(bench: Bench) -> None:
    neighbour = bench.plan("/bin/sleep", "1000")
    bench.start(neighbour)
    mark, plan = marked(bench.script(BOMB, most_processes=40))
    bench.start(plan)
    most = 0

    def has_ended() -> bool:
        nonlocal most
        most = max(most, len(living_with(mark)))
        return bench.executor.read_status(plan.folder).observed is ObservedState.ENDED

    until(has_ended, 45)
    told = outcome_of(bench.end_of(plan))
    assert (told.code, told.data["process_limit"]) == ("exit.process_limit", 40)
    assert 10 < most <= 40
    assert living_with(mark) == []
    assert bench.executor.read_status(neighbour.folder).observed is ObservedState.ALIVE


@as_root
def test_who_is_refused_a_process_once_and_lives_with_it_ends_well(bench: Bench) -> None:
    plan = bench.script(
        "import subprocess, time\nfound = []\n"
        "try:\n    for _ in range(30): found.append(subprocess.Popen(['sleep', '9']))\n"
        "except BlockingIOError: print('refused')\n"
        "for one in found: one.kill()\n",
        most_processes=20,
    )
    truth = bench.run(plan)
    assert bench.log(plan) == b"refused\n"
    assert (truth.process_limit, outcome_of(truth).code) == (20, "exit.finished")


class WithStandInGpus(DetachedShimStarter):
    """The shim sees a /dev with two more files, which are two screens of this machine in truth."""

    def start_shim(self, shim: Path, folder: Path) -> dict[str, object]:
        dev = folder.parent / "dev"
        dev.mkdir()
        script = (
            f"mount -t tmpfs -o mode=755 none {dev} && cd /dev && cp -a null zero full random urandom tty {dev} && "
            f"mknod -m 666 {dev}/nvidia0 c 7 0 && mknod -m 666 {dev}/nvidia1 c 7 1 && "
            f"mkdir {dev}/shm && mount --bind /dev/shm {dev}/shm && mount --rbind {dev} /dev && "
            f"exec {PYTHON} -I -S {shim} {folder}"
        )
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
        done = subprocess.run(words, stdout=subprocess.PIPE, start_new_session=True, timeout=20, check=False)
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer


OPENS = """
for name in ('null', 'nvidia0', 'nvidia1'):
    try:
        open('/dev/' + name, 'rb').close()
        print(name, 'opened')
    except OSError as error:
        print(name, error.strerror)
"""


@as_root
@pytest.mark.parametrize(
    ("gpus", "opened"), [((), set()), (("GPU-a",), {"nvidia1"}), (("GPU-a", "GPU-b"), {"nvidia0", "nvidia1"})]
)
def test_another_jobs_device_is_refused_and_the_own_one_is_not(
    bench: Bench, gpus: tuple[str, ...], opened: set[str]
) -> None:
    assert isinstance(bench.executor, ProcessExecutor)
    bench.executor = ProcessExecutor(bench.stage.runtime, bench.ground / "storage", WithStandInGpus())
    plan = bench.script(OPENS, gpus=gpus, gpu_minors={"GPU-a": 1, "GPU-b": 0})
    bench.run(plan)
    told = dict(line.split(" ", 1) for line in bench.log(plan).decode().splitlines())
    assert told.pop("null") == "opened"
    assert told == {
        name: "opened" if name in opened else "Operation not permitted" for name in ("nvidia0", "nvidia1")
    }


@as_root
def test_a_job_whose_device_nobody_knows_does_not_run_on_the_cpu(bench: Bench) -> None:
    bench.executor = ProcessExecutor(bench.stage.runtime, bench.ground / "storage", WithStandInGpus())
    assert bench.run(bench.script(OPENS, gpus=("GPU-unknown",))).error == "exit.not_started"


@as_root
@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_hold_limit_freeze_and_end(
    version: int, tmp_path: Path, bench: Bench, burst: Callable[[Path], Path]
) -> None:
    """On a machine that has both, each alone."""
    trees = [tree for tree in shim_cgroup.read_hierarchies() if tree.version == version]
    name = f"groundcrew-{os.urandom(6).hex()}-1-1"
    group = shim_cgroup.plan_cgroup(name, trees)
    if group is None or any(not tree.can_write() for tree in trees):
        pytest.skip(f"this machine has no hierarchy of version {version} to write to")
    shim_cgroup.delegate_controllers(trees, group)
    group.make()
    program = burst(bench.ground)
    try:
        devices = group.folder_for("devices")
        assert devices is not None
        shim_devices.restrict_devices(devices, shim_devices.STANDARD)
        child = os.fork()
        if child == 0:
            group.enter()
            os.setresuid(UID, UID, UID)
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 1)
            os.execv(program, [str(program)])
        until(lambda: len(group.pids()) > 3)
        assert all(shim_cgroup.is_in_group(pid, name) for pid in (child,))
        until(lambda: group.end() == set())
        os.waitpid(child, 0)
        assert group.end() == set() and group.remove()
    finally:
        until(lambda: group.end() == set() and group.remove())
    assert not any(Path(part.path).exists() for part in group.folders)
