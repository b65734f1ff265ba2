"""Root joins what its own files and the kernel describe, and no pid, group or namespace that somebody has put there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.domain.jobs.attempts import ObservedState
from cluster.store.users import User
from tests.integration.worker.ssh_door.conftest import RunningProgram, SshLab, until
from worker.ssh_door.layout import PROGRAMS

FIND = """
import sys
folder, programs, runtime = sys.argv[1:4]
sys.argv = ["session.py", runtime, "3"]
sys.path.insert(0, programs)
import session
try:
    target = session.find_target(folder)
    print("found" if target.is_running() else "dead")
except session.Refusal as refusal:
    print(refusal)
except (OSError, ValueError) as error:
    print(type(error).__name__)
"""
CHECK = """
import os, sys
programs, runtime, pid = sys.argv[1:4]
sys.argv = ["session.py", runtime, "3"]
sys.path.insert(0, programs)
import session
try:
    session.check_namespace(os.open("/proc/%s/ns/mnt" % pid, os.O_RDONLY), {"sandbox": {"hidden": []}})
    print("entered")
except session.Refusal as refusal:
    print(refusal)
"""
UNTIL_TOLD = (
    "import os, time\nprint('ready', flush=True)\nwhile not os.path.exists('end'):\n    time.sleep(0.01)\n"
)
Change = Callable[[SshLab, RunningProgram, RunningProgram], object]


@pytest.fixture(scope="module")
def minji(lab: SshLab) -> User:
    return lab.person("minji")


@pytest.fixture(scope="module")
def other(lab: SshLab, minji: User) -> RunningProgram:
    return lab.run(minji)


def find_target(lab: SshLab, program: RunningProgram) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", FIND, str(program.plan.folder), str(PROGRAMS), str(lab.runtime)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


def control(program: RunningProgram) -> Path:
    return program.plan.folder / "control"


def write_pid(program: RunningProgram, pid: int) -> None:
    usage = json.loads((control(program) / "usage.json").read_text())
    unfinished = control(program) / "x.tmp"
    unfinished.write_text(json.dumps(usage | {"pid": pid}))
    unfinished.rename(control(program) / "usage.json")


def launcher(program: RunningProgram) -> int:
    return int(json.loads((control(program) / "usage.json").read_text())["pid"])


def stop_shim(program: RunningProgram) -> None:
    """So that it does not write over what the test has written."""
    os.kill(program.handle["pid"], 19)


def give_away(program: RunningProgram, name: str) -> None:
    os.chown(control(program) / name, 100_001, 100_001)


CHANGES: dict[str, tuple[Change, str]] = {
    "nothing": (lambda lab, program, other: None, "found"),
    "the pid of init": (lambda lab, program, other: write_pid(program, 1), "ssh.not_ready"),
    "our own pid": (lambda lab, program, other: write_pid(program, os.getpid()), "ssh.not_ready"),
    "the shim's pid": (
        lambda lab, program, other: write_pid(program, program.handle["pid"]),
        "ssh.not_ready",
    ),
    "the pid of another job": (
        lambda lab, program, other: write_pid(program, launcher(other)),
        "ssh.not_ready",
    ),
    "the group of another job": (
        lambda lab, program, other: (control(program) / "group.json").write_text(
            (control(other) / "group.json").read_text()
        ),
        "ssh.no_group",
    ),
    "a plan of the job's user": (lambda lab, program, other: give_away(program, "plan.json"), "UnsafeFile"),
    "a pid of the job's user": (lambda lab, program, other: give_away(program, "usage.json"), "UnsafeFile"),
    "a start of the job's user": (lambda lab, program, other: give_away(program, "started"), "UnsafeFile"),
    "a control folder of the job's user": (
        lambda lab, program, other: os.chown(control(program), 100_001, 100_001),
        "UnsafeFile",
    ),
    "a link": (
        lambda lab, program, other: (
            (control(program) / "started").unlink(),
            (control(program) / "started").symlink_to(control(other) / "started"),
        ),
        "UnsafeFile",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_files_that_root_has_not_written_so_are_not_followed(
    lab: SshLab, minji: User, other: RunningProgram, name: str
) -> None:
    change, expected = CHANGES[name]
    program = lab.run(minji)
    stop_shim(program)
    try:
        change(lab, program, other)
        assert find_target(lab, program) == expected
    finally:
        os.chown(control(program), 0, 0)
        os.kill(program.handle["pid"], 18)


def test_an_attempt_whose_shim_is_gone_is_not_entered(lab: SshLab, minji: User) -> None:
    program = lab.run(minji)
    os.kill(program.handle["pid"], 9)
    until(lambda: lab.executor.read_status(program.plan.folder).observed is ObservedState.ENDED)
    assert find_target(lab, program) == "ssh.has_ended"
    lab.executor.end_leftovers(program.plan.folder)


def test_a_namespace_that_a_program_has_made_is_not_entered(lab: SshLab, other: RunningProgram) -> None:
    """Its root folder may have any files: only those of root's own user namespace count."""
    made = subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sleep", "1000"],
        user=100_001,
        group=100_001,
        extra_groups=[],
    )
    try:
        own = Path("/proc/self/ns/user").readlink()
        until(lambda: Path(f"/proc/{made.pid}/ns/user").readlink() != own)
        until(lambda: Path(f"/proc/{made.pid}/comm").read_text().strip() == "sleep")
        told = {}
        for name, pid in (("made", made.pid), ("own", os.getpid()), ("job", launcher(other))):
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", CHECK, str(PROGRAMS), str(lab.runtime), str(pid)],
                capture_output=True,
                text=True,
                check=True,
            )
            told[name] = done.stdout.strip()
        assert told == {"made": "ssh.no_sandbox", "own": "ssh.no_sandbox", "job": "entered"}
    finally:
        made.kill()
        made.wait()


@pytest.mark.parametrize("rounds", [2, pytest.param(15, marks=pytest.mark.long)])
def test_nobody_is_inside_once_the_end_is_recorded(lab: SshLab, minji: User, rounds: int) -> None:
    """Sessions begin while the program ends; whatever came in is gone before the exit record stands."""
    for _ in range(rounds):
        program = lab.run(minji, UNTIL_TOLD)
        sessions = [lab.begin("minji", program.login, "sleep 1000") for _ in range(3)]
        (program.out / "work" / "end").touch()
        record = control(program) / "exit.json"
        until(record.exists, what="the exit record")
        assert [each.name for each in Path("/proc").glob("[1-9]*") if is_in_job(each, program)] == []
        for session in sessions:
            assert session.wait(30) != 0
            session.communicate()


def is_in_job(process: Path, program: RunningProgram) -> bool:
    name = json.loads((control(program) / "group.json").read_text())["name"]
    try:
        return name in (process / "cgroup").read_text()
    except OSError:
        return False
