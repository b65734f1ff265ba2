"""Containers have walls, limits that the kernel keeps, and an engine that may fail by itself."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from cluster.domain.jobs.attempts import AttemptFacts, ObservedState, RecordInterruption, decide, outcome_of
from cluster.domain.states import AttemptState, DesiredState, JobState
from tests.containers.engine import command_line
from tests.integration.worker.executors.conftest import UID, Bench, until
from tests.start_plans import change_plan
from worker.adapters.docker_engine import DockerEngine
from worker.executors.contract import NotStarted
from worker.executors.docker import DockerExecutor
from worker.executors.docker_request import RUNTIME_INSIDE

LOOK_AROUND = """
import os, socket
def tried(what, do):
    try:
        do()
        print(what, "done")
    except OSError as error:
        print(what, "refused", error.errno)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("capabilities", {status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")})
print("devices", [name for name in os.listdir("/dev") if "nvidia" in name or "kvm" in name or "vda" in name])
print("interfaces", os.listdir("/sys/class/net"))
print("processes", len([name for name in os.listdir("/proc") if name.isdigit()]))
print("pids", open("/sys/fs/cgroup/pids/pids.max").read().strip() if os.path.exists("/sys/fs/cgroup/pids")
      else open("/sys/fs/cgroup/pids.max").read().strip())
print("asked", [word for word in open("/proc/1/environ").read().split("\\0") if word.startswith("NVIDIA")])
tried("system", lambda: open("/usr/bin/here", "w"))
tried("runtime", lambda: open("/groundcrew/runtime/shim.py", "a"))
tried("tmp", lambda: open("/tmp/here", "w"))
tried("shm", lambda: open("/dev/shm/here", "w"))
tried("out", lambda: open(os.environ["GROUNDCREW_OUT"] + "/here", "w"))
tried("root", lambda: os.setuid(0))
tried("network", lambda: socket.create_connection(("192.0.2.1", 80), 1))
"""


@pytest.fixture
def bench(docker_bench: Bench) -> Bench:
    return docker_bench


def executor_of(bench: Bench) -> DockerExecutor:
    assert isinstance(bench.executor, DockerExecutor)
    return bench.executor


def docker(*words: str) -> str:
    return subprocess.run(
        [command_line(), *words], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_the_program_is_between_walls(bench: Bench) -> None:
    plan = bench.script(LOOK_AROUND, most_processes=77)
    assert bench.run(plan).exit_code == 0, bench.log(plan, "stderr")
    assert bench.log(plan).decode().splitlines() == [
        "capabilities {'0000000000000000'}",
        "devices []",
        "interfaces ['lo']",
        "processes 4",  # The engine's init, the shim, the rank wrapper, itself.
        "pids 77",
        "asked ['NVIDIA_VISIBLE_DEVICES=void']",
        "system refused 30",
        "runtime refused 13",
        "tmp done",
        "shm done",
        "out done",
        "root refused 1",
        "network refused 101",
    ]


def test_too_much_memory_is_named_with_its_limit(bench: Bench) -> None:
    limit = 96 * 1024**2
    plan = bench.script("x = []\nwhile True: x.append(bytearray(8_000_000))\n", memory_bytes=limit)
    truth = bench.run(plan)
    told = outcome_of(truth)
    assert (told.code, told.exit_code) == ("exit.out_of_memory", 137)
    assert told.data["memory_limit_bytes"] == limit


def test_a_kill_that_nobody_asked_for_is_no_lack_of_memory(bench: Bench) -> None:
    plan = bench.plan("/bin/sh", "-c", "kill -9 $$", memory_bytes=96 * 1024**2)
    assert outcome_of(bench.run(plan)).code == "exit.killed"


def test_an_image_that_is_not_there_is_named(bench: Bench) -> None:
    with pytest.raises(NotStarted) as missing:
        bench.start(bench.plan("/bin/true", image="gc-no-such-image:1"))
    assert (missing.value.code, missing.value.data) == ("start.no_image", {"image": "gc-no-such-image:1"})


def test_a_container_that_ends_before_its_shim_began_says_why(bench: Bench) -> None:
    plan = bench.plan("/bin/true")
    mounts = tuple(
        replace(mount, source=bench.ground) if mount.target == RUNTIME_INSIDE else mount
        for mount in plan.container.mounts
    )
    with pytest.raises(NotStarted) as failed:
        bench.start(change_plan(plan, mounts=mounts))
    assert "No such file or directory" in failed.value.data["reason"]
    assert bench.executor.read_status(plan.folder).observed is ObservedState.ABSENT
    assert bench.executor.prevent_start(plan.folder)


HOSTILE = """
FROM {image}
USER root
WORKDIR /root
ENV NVIDIA_VISIBLE_DEVICES=all LD_PRELOAD=/tmp/evil.so PYTHONPATH=/tmp/evil GROUNDCREW_OUT=/tmp
VOLUME /usr/local
STOPSIGNAL SIGUSR2
HEALTHCHECK --interval=1s CMD touch /tmp/healthy
ENTRYPOINT ["/bin/sh", "-c", "echo taken over"]
CMD ["--and-more"]
"""


@pytest.fixture
def hostile_image(bench: Bench) -> Iterator[str]:
    name = "gc-test-hostile:latest"
    recipe = HOSTILE.format(image=bench.stage.image)
    build = [command_line(), "build", "--quiet", "--tag", name, "-"]
    environment = {**os.environ, "DOCKER_BUILDKIT": "0"}
    subprocess.run(build, input=recipe, check=True, capture_output=True, text=True, env=environment)
    yield name
    executor_of(bench).remove_ended_except(())
    docker("rmi", "--force", name)


def test_an_image_decides_nothing_but_its_files(bench: Bench, hostile_image: str) -> None:
    plan = bench.script(
        "import os\n"
        "print(os.getuid(), os.path.basename(os.getcwd()), 'LD_PRELOAD' in os.environ)\n"
        "first = open('/proc/1/environ').read().split(chr(0))\n"
        "print([word for word in first if word.startswith(('NVIDIA', 'LD_PRELOAD'))])\n",
        image=hostile_image,
    )
    truth = bench.run(plan)
    assert truth.exit_code == 0, bench.log(plan, "stderr")
    assert bench.log(plan).decode().splitlines() == [
        f"{UID} work False",
        "['NVIDIA_VISIBLE_DEVICES=void', 'LD_PRELOAD=']",
    ]
    found = executor_of(bench).engine.inspect(executor_of(bench).container_name(plan.folder))
    assert found is not None and "Health" not in found["State"]
    assert found["Config"]["StopSignal"] == "SIGTERM"


def test_nobody_is_root_in_a_container(bench: Bench) -> None:
    with pytest.raises(NotStarted, match="number_outside"):
        bench.start(bench.plan("/bin/true", uid=0, gid=0))


def test_a_contradicting_exit_code_is_shown_beside_the_record(bench: Bench) -> None:
    plan = bench.script(
        "import os, signal, time\n"
        "def shim():\n"
        "    return next(p for p in os.listdir('/proc') if p.isdigit()\n"
        "        and b'attached' in open('/proc/%s/cmdline' % p, 'rb').read() and p != '1')\n"
        "control = os.environ['GROUNDCREW_OUT'] + '/../control/exit.json'\n"
        "truth = dict(job=1, attempt=1, fence=1, exit_code=0, signal=None, ranks=[], stopped=False,\n"
        "    timed_out=False, out_of_memory=False, first_failed_rank=None, started_at=None, ended_at=None)\n"
        "open(control, 'w').write(__import__('json').dumps(truth))\n"
        "os.kill(int(shim()), signal.SIGKILL)\n"
    )
    bench.start(plan)
    until(lambda: bench.executor.read_status(plan.folder).observed is ObservedState.ENDED)
    bench.executor.remove_ended_except([(plan.job, 1)])  # Its end is not recorded yet.
    told = outcome_of(bench.end_of(plan))
    assert (told.state, told.code) == (JobState.FAILED, "exit.executor_disagrees")
    assert (told.data["exit_code"], told.data["executor_exit_code"]) == (0, 137)


def test_two_installations_share_an_engine_and_see_only_their_own(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "60")
    bench.start(plan)
    engine = DockerEngine("/var/run/docker.sock")
    other = DockerExecutor(engine, bench.ground / "another-storage")
    assert other.list_running() == []
    other.remove_ended_except(())
    assert bench.executor.read_status(plan.folder).observed is ObservedState.ALIVE
    engine.close()


def test_a_container_stopped_by_hand_lets_the_job_wait_again(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "600")
    handle = bench.start(plan)
    docker("stop", handle["container"])
    facts = AttemptFacts(
        job=plan.job,
        number=1,
        fence=1,
        state=AttemptState.RUNNING,
        desired=DesiredState.RUN,
        seen=bench.executor.read_status(plan.folder).observed,
        exit_record=bench.executor.read_exit_record(plan.folder),
    )
    assert decide(facts) == RecordInterruption("interrupted.engine_stopped", {"attempt": 1})


def test_a_container_that_was_never_started_is_started_or_forgotten(bench: Bench) -> None:
    """A scheduler died between making it and starting it."""
    executor, plan, other = executor_of(bench), bench.plan("/bin/true"), bench.plan("/bin/true")
    start, executor.engine.start = executor.engine.start, lambda container: None  # type: ignore[method-assign]
    for each in (plan, other):
        with pytest.raises(NotStarted):
            executor.start(each)
        assert executor.read_status(each.folder).observed is ObservedState.ABSENT
    executor.engine.start = start  # type: ignore[method-assign]
    assert bench.run(plan).exit_code == 0
    assert executor.prevent_start(other.folder)
    executor.remove_ended_except([(plan.job, 1)])
    assert executor.engine.inspect(executor.container_name(other.folder)) is None


def test_a_paused_container_still_lives_and_can_be_ended(bench: Bench) -> None:
    plan = bench.plan("/bin/sleep", "600")
    handle = bench.start(plan)
    docker("pause", handle["container"])
    assert bench.executor.read_status(plan.folder).observed is ObservedState.ALIVE
    bench.executor.kill(handle)
    until(lambda: bench.executor.read_status(plan.folder).observed is ObservedState.ENDED)


def test_an_own_network_reaches_outside_and_goes_with_the_attempt(bench: Bench) -> None:
    engine = DockerEngine("/var/run/docker.sock")
    executor = DockerExecutor(engine, bench.ground / "storage", network="own")
    plan = bench.plan("/usr/bin/python3", "-c", "import os; print(sorted(os.listdir('/sys/class/net')))")
    executor.start(plan)
    bench.end_of(plan)
    assert b"eth0" in bench.log(plan)
    name = executor.container_name(plan.folder)
    assert docker("network", "ls", "--quiet", "--filter", f"name={name}").strip()
    executor.remove_ended_except(())
    assert not docker("network", "ls", "--quiet", "--filter", f"name={name}").strip()
    engine.close()


def test_the_job_s_own_number_owns_what_it_writes(bench: Bench) -> None:
    plan = bench.plan("/bin/sh", "-c", "echo mine > $GROUNDCREW_OUT/result")
    bench.run(plan)
    assert (plan.out / "result").stat().st_uid == UID
    assert (plan.folder / "control").stat().st_mode & 0o777 == 0o700
