"""One attempt starts once, however often and by whomever it is asked for: the O_EXCL of `started`."""

from pathlib import Path

from cluster.domain.attempts import Seen
from tests.integration.executors.conftest import PYTHON, until
from tests.races import at_once
from worker.executors.contract import StartPlan
from worker.executors.process import ProcessExecutor

SLOWLY = "    time.sleep(0.5)\n"
WRITES_OVER = """

def create_once(path, value):
    write_whole(path, value)
    return True
"""
TELLS = "import os\nopen('begun', 'a').write(str(os.getpid()) + chr(10))\n"


def slow_shim(runtime: Path) -> None:
    """Both are on their way before one of them has created `started`."""
    shim = runtime / "shim.py"
    shim.write_text(
        shim.read_text().replace(
            "    handle = {\n", f"    {SLOWLY.strip().replace(chr(10), '; ')}\n    handle = {{\n", 1
        )
    )


def begun_when_asked_twice(runtime: Path, ground: Path) -> int:
    """How many programs began although all but one should have been refused."""
    slow_shim(runtime)
    folder = ground / "storage" / "workspaces" / "1" / "jobs" / "1" / "1"
    folder.mkdir(parents=True)
    executor = ProcessExecutor(runtime, ground / "storage")
    environment = {"PATH": "/usr/bin:/bin", "GROUNDCREW_OUT": str(folder / "out")}
    plan = StartPlan(1, 1, folder, (PYTHON, "-c", TELLS), environment)
    at_once(*[lambda: executor.start(plan)] * 2)
    until(lambda: executor.look(folder).seen is Seen.GONE, what="both have ended")
    begun = folder / "out" / "begun"
    until(begun.exists)
    until(lambda: executor.list_running() == [])
    return len(begun.read_text().splitlines())


def test_the_second_of_two_starts_is_refused(runtime: Path, ground: Path) -> None:
    assert begun_when_asked_twice(runtime, ground) == 1


def test_a_forgotten_o_excl_is_found(runtime: Path, ground: Path) -> None:
    with (runtime / "shim_files.py").open("a") as module:
        module.write(WRITES_OVER)
    assert begun_when_asked_twice(runtime, ground) == 2
