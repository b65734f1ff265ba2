"""Keeps one task worker running per queue, each a fork of one parent that has imported everything they need.

The workers share the parent's memory. The parent opens no connection and begins no thread, so that nothing but code and
settings crosses a fork.
"""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.context import ForkProcess

import structlog

from cluster.domain.states import TaskQueue

log = structlog.get_logger()

LOW_PRIORITY_QUEUES = frozenset({TaskQueue.GENERAL, TaskQueue.BACKUPS})
"""Backups, their drills and the unpacking of uploads compute for minutes, so pages have priority over them."""
LOW_PRIORITY = 10
RESTART_SECONDS = 1.0
"""The seconds between two starts of the same worker, so that a worker which ends at once does not keep a processor
busy.
"""
SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})
PR_SET_PDEATHSIG = 1
FORK = get_context("fork")

Work = Callable[[str], object]


class WorkerProcesses:
    """`work` runs in a process per queue until SIGTERM; it opens its own connections."""

    def __init__(self, queues: Sequence[str], work: Work) -> None:
        self.queues = queues
        self.work = work
        self.processes: dict[str, ForkProcess] = {}
        self.started_at: dict[str, float] = {}

    def run(self) -> int:
        """Runs until SIGTERM or SIGINT, which ends all workers. It starts a worker that ends earlier again."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        while self.wait(self.start_missing()) not in (signal.SIGTERM, signal.SIGINT):
            self.forget_ended()
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.join()
        return 0

    def start_missing(self) -> float | None:
        """Starts the workers that do not run. Returns the seconds until the next restart is due; None if all run."""
        now = time.monotonic()
        waits = []
        for queue in self.queues:
            if queue in self.processes:
                continue
            if (wait := self.started_at.get(queue, -RESTART_SECONDS) + RESTART_SECONDS - now) > 0:
                waits.append(wait)
                continue
            # A daemon, so that an error here ends the workers and does not wait for them.
            process = FORK.Process(target=run_worker, args=(queue, self.work, os.getpid()), daemon=True)
            process.start()
            self.processes[queue], self.started_at[queue] = process, now
        return min(waits, default=None)

    def wait(self, seconds: float | None) -> int | None:
        """The number of the signal that arrived; None after so many seconds."""
        arrived = signal.sigwaitinfo(SIGNALS) if seconds is None else signal.sigtimedwait(SIGNALS, seconds)
        return arrived.si_signo if arrived else None

    def forget_ended(self) -> None:
        for queue, process in list(self.processes.items()):
            if process.exitcode is not None:
                log.warning("a task worker ended; starting another", queue=queue, exit_code=process.exitcode)
                process.close()
                del self.processes[queue]


def run_worker(queue: str, work: Work, parent: int) -> None:
    end_with_parent(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    if queue in LOW_PRIORITY_QUEUES:
        os.nice(LOW_PRIORITY)
    structlog.contextvars.bind_contextvars(queue=queue)
    work(queue)


def end_with_parent(parent: int) -> None:
    """The kernel sends this process SIGTERM when its parent ends, however that ends; `parent` is its pid."""
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(1)  # The parent ended before the kernel was asked.


def end_own_group(*_signal: object) -> None:
    """A signal handler that ends this process with all processes of its group."""
    os.killpg(0, signal.SIGKILL)
