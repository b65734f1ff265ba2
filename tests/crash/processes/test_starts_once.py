"""One attempt starts once, however often and by whomever it is asked for: the O_EXCL of `started`."""

from contextlib import suppress
from pathlib import Path

from tests.integration.worker.executors.conftest import GID, IS_ROOT, PYTHON, UID, until
from tests.simultaneous_calls import at_once
from worker.executors.contract import ProgramPlan, StartPlan
from worker.executors.process import ProcessExecutor
from worker.inside import shim_process_tree

MEETING = """    open(os.path.join(control, "arrived-%d" % os.getpid()), "w").close()
    deadline = time.time() + 30
    while sum(name.startswith("arrived-") for name in os.listdir(control)) < 2 and time.time() < deadline:
        time.sleep(0.01)
"""
WRITES_OVER = """

def create_json_once(path, value):
    write_json_atomically(path, value)
    return True
"""
ALONE = {
    "shim_cgroup.py": """

def make_cgroup(control, plan):
    return None
""",
    "shim_program.py": """

make_it = make_out

def make_out(plan):
    try:
        make_it(plan)
    except FileExistsError:
        pass
""",
}
"""What else would keep a second program from beginning: the group of one name, and `out`, which is made once."""
TELLS = "import os\nopen('begun', 'a').write(str(os.getpid()) + chr(10))\n"


def make_them_meet(runtime: Path) -> None:
    """Both shims are on their way before one of them can create `started`."""
    shim = runtime / "shim.py"
    before = "    handle: Dict[str, Any] = {\n"
    text = shim.read_text()
    assert text.count(before) == 1
    shim.write_text(text.replace(before, MEETING + before))
    for name, more in ALONE.items():
        with (runtime / name).open("a") as module:
            module.write(more)


def begun_when_asked_twice(runtime: Path, ground: Path) -> int:
    """How many programs began although all but one should have been refused."""
    make_them_meet(runtime)
    folder = ground / "storage" / "workspaces" / "1" / "jobs" / "1" / "1"
    folder.mkdir(parents=True)
    executor = ProcessExecutor(runtime, ground / "storage")
    environment = {"PATH": "/usr/bin:/bin", "GROUNDCREW_OUT": str(folder / "out")}
    uid, gid = (UID, GID) if IS_ROOT else (None, None)
    plan = StartPlan(1, 1, folder, ProgramPlan((PYTHON, "-c", TELLS), environment, uid=uid, gid=gid))
    at_once(*[lambda: executor.start(plan)] * 2)
    until(lambda: not are_at_work_in(folder), what="both have ended")
    return len((folder / "out" / "begun").read_text().splitlines())


def are_at_work_in(folder: Path) -> list[int]:
    """Shims and programs by their command line; whom `started` names no more, the executor does not list."""
    found = []
    for pid in shim_process_tree.list_pids():
        with suppress(OSError):
            if str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def test_the_second_of_two_starts_is_refused(runtime: Path, ground: Path) -> None:
    assert begun_when_asked_twice(runtime, ground) == 1


def test_a_forgotten_o_excl_is_found(runtime: Path, ground: Path) -> None:
    with (runtime / "shim_files.py").open("a") as module:
        module.write(WRITES_OVER)
    assert begun_when_asked_twice(runtime, ground) == 2
