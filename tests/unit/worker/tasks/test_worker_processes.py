"""Each queue has a fork of one parent: one that ends is followed by another, and none outlives the parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from worker.bootstrap.paths import CLONE
from worker.tasks.worker_processes import LOW_PRIORITY, LOW_PRIORITY_QUEUES

QUEUES = ("general", "images")
PROGRAM = """
import os, signal, sys
from cluster.logging import configure_logging
from worker.tasks.worker_processes import WorkerProcesses

def work(queue):
    sys.stdout.write(f"{queue} {os.getpid()} {os.getppid()} {os.nice(0)}\\n")
    sys.stdout.flush()
    signal.pause()

configure_logging()
sys.exit(WorkerProcesses(sys.argv[1:], work).run())
"""
Parent = subprocess.Popen[str]


@pytest.fixture
def parent() -> Iterator[Parent]:
    """Its workers hold its stdout, which comes to its end with the last of them."""
    command = [sys.executable, "-c", PROGRAM, *QUEUES]
    with subprocess.Popen(command, cwd=CLONE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def read_workers(parent: Parent) -> dict[str, tuple[int, int, int]]:
    """Pid, parent and niceness by queue, of as many as there are queues."""
    assert parent.stdout
    lines = [parent.stdout.readline().split() for _ in QUEUES]
    return {queue: (int(pid), int(of), int(nice)) for queue, pid, of, nice in lines}


def test_each_queue_has_a_fork_and_those_that_compute_for_minutes_step_back(parent: Parent) -> None:
    workers, own = read_workers(parent), os.nice(0)
    assert {of for _pid, of, _nice in workers.values()} == {parent.pid}
    assert [workers[queue][2] - own for queue in QUEUES] == [LOW_PRIORITY, 0]
    assert LOW_PRIORITY_QUEUES & {*QUEUES} == {"general"}


def test_a_killed_worker_is_followed_by_another(parent: Parent) -> None:
    killed, *_ = read_workers(parent)["images"]
    os.kill(killed, signal.SIGKILL)
    assert parent.stdout
    queue, pid, *_ = parent.stdout.readline().split()
    assert (queue, int(pid) != killed) == ("images", True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_the_parent(parent: Parent, number: signal.Signals) -> None:
    read_workers(parent)
    parent.send_signal(number)
    assert parent.stdout
    assert parent.stdout.read() == ""
    assert parent.wait() == (-number if number is signal.SIGKILL else 0)
