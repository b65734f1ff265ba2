"""What holds a program as a whole: nothing of it outlives its job, and it takes no more than it may."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.domain.attempts import Seen
from cluster.domain.exits import outcome
from tests.integration.executors.conftest import GID, IS_ROOT, PYTHON, UID, Bench, living_with, until
from tests.integration.executors.test_programs import marked
from worker.executors.launchers import DetachedLauncher
from worker.executors.process import ProcessExecutor
from worker.inside import shim_devices, shim_group

as_root = pytest.mark.skipif(not IS_ROOT, reason="needs root: only root makes groups")
MIB = 1024**2

BURST = r"""
#include <unistd.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
/* Each one forks the next, which leaves its session, and is gone; at times one stays behind and sleeps. It ends by
 * itself after a while, so that a broken stop does not fill the machine. */
int main(void) {
  time_t until = time(NULL) + 60;
  setvbuf(stdout, NULL, _IONBF, 0);
  printf("bursting\n");
  for (int chain = 0; chain < 4; chain++) {
    if (fork() == 0) {
      for (int step = 0; time(NULL) < until; step++) {
        pid_t next = fork();
        if (next > 0) _exit(0);
        if (next == 0) {
          setsid();
          if (step % 500 == 0 && fork() == 0) { execlp("sleep", "sleep", "60", (char *)0); _exit(1); }
        }
      }
      _exit(0);
    }
  }
  for (;;) { if (time(NULL) >= until) return 0; sleep(1); while (waitpid(-1, NULL, WNOHANG) > 0) ; }
}
"""


@pytest.fixture
def bench(process_bench: Bench) -> Bench:
    return process_bench


@pytest.fixture(autouse=True)
def no_group_is_left(bench: Bench) -> Iterator[None]:
    assert isinstance(bench.executor, ProcessExecutor)
    yield
    bench.stage.close()
    prefix = bench.executor.groups + "-"
    until(lambda: folders_of(prefix) == [], 10, "the end of all groups")


def folders_of(prefix: str) -> list[str]:
    groups = list(shim_group.list_groups(prefix))
    return [part.path for group in groups for part in group.parts]


@pytest.fixture(scope="module")
def burst(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """The program, in a folder that a job's user may read."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: apt-get install gcc")
    folder = tmp_path_factory.mktemp("burst")
    (folder / "burst.c").write_text(BURST)
    subprocess.run([compiler, "-O1", "-o", folder / "burst", folder / "burst.c"], check=True)

    def put(ground: Path) -> Path:
        return Path(shutil.copy(folder / "burst", ground / "burst"))

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


class WithoutRoot(DetachedLauncher):
    """As on a machine of which we are not root: the shim and its program are one user."""

    def launch(self, shim: Path, folder: Path) -> dict[str, object]:
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
    assert not (plan.folder / "control" / shim_group.RECORD).exists()
    bench.wait_for_log(plan, b"bursting")
    until(lambda: len(living_with(mark)) > 3)
    bench.executor.stop(handle)
    assert bench.end_of(plan, 30).stopped
    assert living_with(mark) == []
