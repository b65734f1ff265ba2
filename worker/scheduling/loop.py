"""The scheduler: one loop under a lease that places jobs and starts, watches and ends attempts."""

import os
import select
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

import redis
import structlog
from sqlalchemy.exc import DBAPIError

from cluster.domain.jobs.attempts import LONGEST_CHECKPOINT_GRACE
from cluster.event_bus import BusEvent, follow_events, read_newest_event_id
from cluster.services.alerts.scheduler_stats import record_scheduler_stats
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import delete_kubernetes_status
from cluster.services.leases import HeldLease, LeaseLost, release_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.queue.open_work import has_open_work
from worker.executors.contract import Executor
from worker.executors.exit_watch import ExitWatch
from worker.scheduling.cadence import BUSY_SECONDS, IDLE_SECONDS, PERIODS, Cadence, PeriodicWork
from worker.scheduling.clock_watch import ClockWatch
from worker.scheduling.file_deletions import JobFileDeletions
from worker.scheduling.kubernetes_watch import open_kubernetes_watch
from worker.scheduling.node_watch import NodeWatch
from worker.scheduling.notebooks.notebook_watch import NotebookWatch
from worker.scheduling.periodic_work import periodic_work
from worker.scheduling.queue_reporter import QueueReporter
from worker.scheduling.reconciler import Reconciler
from worker.scheduling.scheduler_lease import acquire_scheduler_lease, lease_holder_name
from worker.scheduling.usage import watch_sweeps
from worker.scheduling.workspace_folders import WorkspaceFolders

log = structlog.get_logger()

INTERRUPT_ALL_SECONDS = LONGEST_CHECKPOINT_GRACE.total_seconds() + 20.0
"""Programs may save a checkpoint before they go; nobody waits for longer than for the slowest of them."""


class Wakeup:
    """The scheduler waits here until an event arrives from Redis or a run ends; without Redis it polls once a second.

    A thread follows the event bus from where it was before the first pass, so that no event is missed between two
    waits.
    """

    def __init__(self, connection: redis.Redis, topics: frozenset[str], ignored_origin: str = "") -> None:
        """`ignored_origin` is that of our own event bus: this process' own events do not wake it."""
        self.connection = connection
        self.topics = topics
        self.ignored_origin = ignored_origin
        self.start_id: str | None = None
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.listener: threading.Thread | None = None

    def wait(self, seconds: float, ends: Collection[int] = ()) -> bool:
        """Waits until an event of one of the topics arrives or one of the descriptors is readable, at most `seconds`.

        False if neither happened.
        """
        self._ensure_listener()
        poll = select.poll()
        for descriptor in (self.event, *ends):
            poll.register(descriptor, select.POLLIN)
        readable = {descriptor for descriptor, _event in poll.poll(seconds * 1000)}
        if self.event in readable:
            os.eventfd_read(self.event)
        return bool(readable)

    def wake(self) -> None:
        """Ends the wait as an event does; a signal handler may call it."""
        os.eventfd_write(self.event, 1)

    def skip_to_newest(self) -> None:
        """Called before the first pass reads the rows, which contain the changes of all earlier events."""
        try:
            self.start_id = read_newest_event_id(self.connection)
        except redis.RedisError:
            self.start_id = None

    def _ensure_listener(self) -> None:
        if self.listener is None:
            self.listener = threading.Thread(target=self._listen, name="wakeup", daemon=True)
            self.listener.start()

    def _listen(self) -> None:
        for batch in follow_events(self.connection, self.start_id):
            if batch.has_gap or any(self._is_for_us(event) for event in batch.events):
                self.wake()

    def _is_for_us(self, event: BusEvent) -> bool:
        return event.topic in self.topics and (not self.ignored_origin or event.origin != self.ignored_origin)


class SchedulerLoop:
    """A second scheduler does no harm, because it waits for the lease. `steady` is a clock that nobody sets, in
    seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        executor: Executor,
        runtime: Path,
        wakeup: Wakeup,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.wakeup = wakeup
        self.steady = steady
        self.cadence = Cadence.at_start(steady())
        self.reconciler = Reconciler(cluster, executor, runtime, steady)
        self.clocks = ClockWatch(cluster, steady)
        self.exit_watch = ExitWatch()
        self.deletions = JobFileDeletions(cluster)
        self.kubernetes = open_kubernetes_watch(cluster, executor)
        self.notebooks = NotebookWatch(cluster, self.reconciler.executor, wakeup.wake, steady)
        self.workspace_folders = WorkspaceFolders(cluster, steady)
        self.queue_reporter = QueueReporter(cluster, steady)
        nodes = NodeWatch(cluster, self.reconciler.executor, wakeup.wake)
        self.periodic_work = {
            **periodic_work(cluster, self.clocks, nodes),
            PeriodicWork.WHOLE_QUEUE: self.place_whole_queue,
            PeriodicWork.FILE_DELETIONS: self.deletions.advance,
            PeriodicWork.SCHEDULER_STATS: self.record_stats,
            PeriodicWork.NOTEBOOKS: self.notebooks.advance,
        }
        if self.kubernetes:
            self.periodic_work[PeriodicWork.KUBERNETES] = self.kubernetes.advance
        self.holder = lease_holder_name()
        self.lease: HeldLease | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        self.wakeup.skip_to_newest()
        while not self.stopping.is_set():
            self.wait_for_next_pass(self.try_pass())
        if self.lease:
            release_lease(self.cluster, self.lease)
        self.deletions.close()
        self.notebooks.close()
        if self.kubernetes:
            self.kubernetes.close()

    def try_pass(self) -> int:
        """The number of live attempts; 0 while the lease or the database is missing."""
        try:
            self.reconciler.disk_watch.check(self.reconciler.live_runs)
            if self.renew_lease():
                return self.run_pass()
        except LeaseLost:
            log.warning("another scheduler holds the lease")
            self.lease = None
        except DBAPIError as error:
            log.error("the database does not answer; trying again", error=str(error))
            self.lease = None
        return 0

    def wait_for_next_pass(self, living: int) -> None:
        """Waits for an event, the end of a process or the time; after a pass that changed nothing at least for its
        back-off.
        """
        not_before = self.cadence.next_pass_not_before
        ends = self.exit_watch.update(self.reconciler.handles.values())
        if self.exit_watch.has_exit_before_watch:
            self.wakeup.wake()
        is_woken = self.wakeup.wait(self.cadence.wait_seconds(living > 0), ends)
        self.cadence = self.cadence.end_wait(is_woken)
        if (back_off := not_before - self.steady()) > 0:
            self.stopping.wait(back_off)

    def stop(self) -> None:
        self.stopping.set()
        self.wakeup.wake()

    def renew_lease(self) -> HeldLease | None:
        """The lease, renewed every few seconds; None while another scheduler has it."""
        if self.lease is None or self.cadence.is_due(PeriodicWork.LEASE_RENEWAL, self.steady()):
            had = self.lease
            self.lease = acquire_scheduler_lease(self.cluster, self.holder, had)
            self.cadence = self.cadence.begin_work(PeriodicWork.LEASE_RENEWAL, self.steady())
            if self.lease and not had:
                log.info("scheduling", fence=self.lease.fence)
                self.queue_reporter.begin_lease()
                if self.kubernetes is None:
                    delete_kubernetes_status(self.cluster, self.lease)
        return self.lease

    def run_pass(self) -> int:
        """Reconciles, places and starts once, and does the periodic work that is due. Returns the number of live
        attempts.

        Without open work it only does the periodic work. Raises LeaseLost.
        """
        held = self.lease
        assert held, "a pass needs the lease"
        self.cadence = self.cadence.begin_pass(self.steady())
        try:
            self.clocks.check(held)
            if self.begin_if_due(PeriodicWork.WORKSPACE_FOLDERS) or self.cadence.is_woken:
                self.workspace_folders.ensure_all()
            self.reconciler.disk_watch.record(held)
            is_idle = not self.has_work()
            living = 0 if is_idle else self.reconcile_and_place(held)
            pass_seconds = self.steady() - self.cadence.pass_began
            self.queue_reporter.advance(held, self.cadence.has_changed, pass_seconds)
            self.run_periodic_work(held, living, is_idle)
        finally:
            self.cadence = self.cadence.end_pass(self.steady())
        return living

    def has_work(self) -> bool:
        """Whether there is work: after an event, with a live run or open work in the rows, or if it is time for a whole
        pass.
        """
        return (
            self.cadence.is_woken
            or bool(self.reconciler.handles)
            or self.kubernetes is not None
            or self.cadence.is_due(PeriodicWork.WHOLE_PASS, self.steady())
            or has_open_work(self.cluster)
        )

    def reconcile_and_place(self, held: HeldLease) -> int:
        self.cadence = self.cadence.begin_work(PeriodicWork.WHOLE_PASS, self.steady())
        ended = self.reconciler.ended_count
        living = self.reconciler.reconcile(held, self.renew_lease)
        if has_freed := self.reconciler.ended_count > ended:
            self.cadence = self.cadence.note_change()
        # This comes before placing, so that no further job of a sweep that is to be stopped starts.
        watch_sweeps(self.cluster, held)
        is_urgent = self.cadence.is_woken or has_freed
        if is_urgent:
            self.queue_reporter.note_event()
        else:
            self.cadence = self.cadence.begin_work(PeriodicWork.WHOLE_QUEUE, self.steady())
        if placed := place_waiting_jobs(
            self.cluster, held, self.cadence.is_woken, has_freed, self.queue_reporter.note
        ):
            self.cadence, ended = self.cadence.note_change(), self.reconciler.ended_count
            living += self.reconciler.reconcile_placed(held, placed, self.renew_lease)
            if self.reconciler.ended_count > ended:
                self.wakeup.wake()  # Units became free after the queue was read.
        return living

    def place_whole_queue(self, held: HeldLease) -> None:
        """Places jobs of the whole queue, and writes why the others wait. Passes that events cause read only the jobs
        that can start.
        """
        if place_waiting_jobs(self.cluster, held, note=self.queue_reporter.note):
            self.wakeup.wake()

    def run_periodic_work(self, held: HeldLease, living: int, is_idle: bool) -> None:
        """Does the work that is due. Without open work it does only the work whose period is longer than the wait
        between two passes.
        """
        if self.notebooks.has_first_answer:
            self.cadence = self.cadence.make_due(PeriodicWork.NOTEBOOKS)
        for work, run in self.periodic_work.items():
            if work is PeriodicWork.PROGRESS and not living:
                continue
            if is_idle and PERIODS[work] <= IDLE_SECONDS:
                continue
            if self.begin_if_due(work):
                run(held)

    def begin_if_due(self, work: PeriodicWork) -> bool:
        now = self.steady()
        if not self.cadence.is_due(work, now):
            return False
        self.cadence = self.cadence.begin_work(work, now)
        return True

    def record_stats(self, held: HeldLease) -> None:
        record_scheduler_stats(
            self.cluster, held, self.cadence.pass_seconds, self.cadence.slowest_pass_seconds
        )
        self.cadence = self.cadence.forget_slowest_pass()


def interrupt_all(
    cluster: Cluster, executor: Executor, runtime: Path, patience: float = INTERRUPT_ALL_SECONDS
) -> int:
    """Stops every attempt and lets its job wait again. Returns how many attempts are still live after `patience`
    seconds.

    For `make down`, when no scheduler runs any more: takes the lease from a dead one. Raises LeaseLost.
    """
    reconciler = Reconciler(cluster, executor, runtime)
    deadline = time.monotonic() + patience
    while True:
        held = acquire_scheduler_lease(cluster, lease_holder_name())
        living = reconciler.reconcile(held, requeue=True) if held else 1
        if held and living == 0:
            release_lease(cluster, held)
        if living == 0 or time.monotonic() > deadline:
            return living
        time.sleep(BUSY_SECONDS)
