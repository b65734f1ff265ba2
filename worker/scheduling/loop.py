"""The scheduler: one loop under a lease that places jobs and starts, watches and ends attempts."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.domain.clock_jumps import ClockJumpDetector
from cluster.domain.jobs.attempts import LONGEST_CHECKPOINT_GRACE
from cluster.event_bus import RedisEventBus, connect_redis
from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.gc_freeze import freeze_startup_objects
from cluster.services.alerts.notifier import notify_people
from cluster.services.alerts.scheduler_stats import record_scheduler_stats
from cluster.services.audit.log_files import append_sealed_entries
from cluster.services.audit.seals import seal_entries
from cluster.services.backups.requests import request_nightly_backup
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import delete_kubernetes_status
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease, release_lease
from cluster.services.nodes.confinement import record_confinement_features
from cluster.services.nodes.executor_outage import record_executor_outage
from cluster.services.nodes.lost_nodes import (
    correct_future_heartbeats,
    list_recovered_nodes,
    mark_silent_nodes_lost,
    return_to_service,
)
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.queue.totals import refresh_queue_totals
from cluster.services.repairs import offline_records
from cluster.settings import Settings
from worker.adapters.host import read_host_name
from worker.adapters.job_runtime import install_runtime
from worker.backups.audit_anchors import log_seal
from worker.composition import open_cluster, open_shim_starter
from worker.executors.contract import Executor
from worker.executors.exit_watch import ExitWatch
from worker.executors.factory import open_executor
from worker.executors.process import ProcessExecutor
from worker.inside.shim_process_tree import read_boot_id, read_process
from worker.scheduling.file_deletions import JobFileDeletions
from worker.scheduling.kubernetes_watch import open_kubernetes_watch
from worker.scheduling.progress_watch import watch_progress
from worker.scheduling.reconciler import Reconciler
from worker.scheduling.start_plan_builder import job_uid_range
from worker.scheduling.sweep_watch import watch_sweeps
from worker.scheduling.wakeup import Wakeup
from worker.scheduling.workspace_folders import WorkspaceFolders

log = structlog.get_logger()

LEASE = "scheduler"
LEASE_DURATION = timedelta(seconds=10)
RENEW_SECONDS = 3.0
IDLE_SECONDS = 1.0
BUSY_SECONDS = 0.25
"""While attempts live they are looked at this often; that a process ended is told at once."""
BACKOFF_SECONDS = 0.05
"""Seconds to wait after a pass that an event caused and that changed nothing, so that a thousand submissions do not
make the loop spin."""
BACKOFF_SHARE = 3.0
"""So many times as long as that look took, where that is longer: in vain it uses a quarter of a core at most."""
EXPIRY_SECONDS = 1.0
ORPHANS_SECONDS = 5.0
PROGRESS_SECONDS = 5.0
"""Running jobs are asked this often how far they are."""
TOTALS_SECONDS = 10.0
"""What waits is counted this often, by the index of shapes alone."""
KUBERNETES_SECONDS = 1.0
"""A new workspace has its place in Kubernetes so soon; its watch pauses for longer between looks at all of it."""
STATS_SECONDS = 15.0
"""How long looks take is written down this often, for whoever watches."""
CONFINEMENT_SECONDS = 900.0
"""What confines jobs is asked for this often: a network manager may have taken a rule away meanwhile."""
SEAL_SECONDS = 60.0
"""The audit is sealed this often, once what is in it has settled."""
INTERRUPT_ALL_SECONDS = LONGEST_CHECKPOINT_GRACE.total_seconds() + 20.0
"""Programs may save a checkpoint before they go; nobody waits for longer than for the slowest of them."""
FIRST_AFTER_PAUSE = ("pulse", "records", "seals", "backup", "telling")
"""Done for the first time once their pause is over."""
FOLDERS_SECONDS = 1.0
"""A new workspace has its folder so soon, also where its bell was not heard."""
TOPICS = frozenset({"queue", "nodes", "workspaces"})


class SchedulerLoop:
    """A second one is harmless: it waits for the lease."""

    def __init__(
        self,
        cluster: Cluster,
        executor: Executor,
        runtime: Path,
        ears: Wakeup,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.wakeup = ears
        self.steady = steady
        self.reconciler = Reconciler(cluster, executor, runtime, steady)
        self.clock_watch = ClockJumpDetector(cluster.clock(), steady())
        self.exit_watch = ExitWatch()
        self.deletions = JobFileDeletions(cluster)
        self.kubernetes = open_kubernetes_watch(cluster, executor)
        self.workspace_folders = WorkspaceFolders(cluster, steady)
        self.is_rung = self.has_acted = False
        self.looked_at = float("-inf")
        self.look_took = self.slowest_look = 0.0
        self.holder = lease_holder_name()
        self.lease: HeldLease | None = None
        self.renewed_at = float("-inf")
        self.begun_at = dict.fromkeys(FIRST_AFTER_PAUSE, time.monotonic())
        self.stopping = threading.Event()

    def run(self) -> None:
        self.wakeup.skip_to_newest()
        while not self.stopping.is_set():
            living, began = 0, time.monotonic()
            try:
                self.reconciler.disk_watch.check(self.reconciler.live_runs)
                if self.renew_lease():
                    living = self.run_pass()
            except LeaseLost:
                log.warning("another scheduler holds the lease")
                self.lease = None
            except DBAPIError as error:
                log.error("the database does not answer; trying again", error=str(error))
                self.lease = None
            if self.looked_at >= began:  # No pass ran while the lease or the database was missing.
                self.look_took = time.monotonic() - self.looked_at
                self.slowest_look = max(self.slowest_look, self.look_took)
            was_in_vain = self.is_rung and not self.has_acted
            ends = self.exit_watch.update(self.reconciler.handles.values())
            if self.exit_watch.has_exit_before_watch:
                self.wakeup.wake()
            self.is_rung = self.wakeup.wait(BUSY_SECONDS if living else IDLE_SECONDS, ends)
            if was_in_vain:
                self.back_off()
        if self.lease:
            release_lease(self.cluster, self.lease)
        self.deletions.close()
        if self.kubernetes:
            self.kubernetes.close()

    def back_off(self) -> None:
        calm = max(BACKOFF_SECONDS, BACKOFF_SHARE * self.look_took)
        self.stopping.wait(min(calm, BUSY_SECONDS) - (time.monotonic() - self.looked_at))

    def stop(self) -> None:
        self.stopping.set()
        self.wakeup.wake()

    def renew_lease(self) -> HeldLease | None:
        """The lease, renewed every few seconds; None while another scheduler has it."""
        if self.lease is None or time.monotonic() - self.renewed_at >= RENEW_SECONDS:
            had = self.lease
            self.lease = acquire_lease(self.cluster, LEASE, self.holder, LEASE_DURATION, is_dead_holder)
            self.renewed_at = time.monotonic()
            if self.lease and not had:
                log.info("scheduling", fence=self.lease.fence)
                if self.kubernetes is None:
                    delete_kubernetes_status(self.cluster, self.lease)
        return self.lease

    def run_pass(self) -> int:
        """One look at everything; how many attempts live. Raises LeaseLost."""
        held = self.lease
        assert held, "tick() needs the lease"
        self.looked_at, ended = time.monotonic(), self.reconciler.ended_count
        self.watch_clocks(held)
        if self.is_due("folders", FOLDERS_SECONDS) or self.is_rung:
            self.workspace_folders.ensure_all()
        self.reconciler.disk_watch.record(held)
        living = self.reconciler.reconcile(held, self.renew_lease)
        self.has_acted = self.reconciler.ended_count > ended
        # Before anything is placed: of a sweep that is to be stopped nothing more starts.
        watch_sweeps(self.cluster, held)
        if placed := place_waiting_jobs(self.cluster, held, self.is_rung, has_freed=self.has_acted):
            self.has_acted, ended = True, self.reconciler.ended_count
            living += self.reconciler.reconcile_placed(held, placed, self.renew_lease)
            if self.reconciler.ended_count > ended:
                self.wakeup.wake()  # Units came free after the queue was looked at.
        self.run_periodic_work(held, living)
        return living

    def run_periodic_work(self, held: HeldLease, living: int) -> None:
        if self.is_due("sweep", EXPIRY_SECONDS):
            self.expire_leases_and_nodes(held)
            self.deletions.advance(held)
        if self.is_due("totals", TOTALS_SECONDS):
            refresh_queue_totals(self.cluster, held)
        if living and self.is_due("progress", PROGRESS_SECONDS):
            watch_progress(self.cluster, held)
        if self.is_due("pulse", STATS_SECONDS):
            record_scheduler_stats(self.cluster, held, self.look_took, self.slowest_look)
            self.slowest_look = 0.0
        if self.is_due("records", SEAL_SECONDS):
            self.import_offline_repairs()
        if self.is_due("seals", SEAL_SECONDS):
            self.seal_access_log()
        if self.is_due("backup", SEAL_SECONDS):
            self.request_backup(held)
        if self.is_due("telling", SEAL_SECONDS):
            notify_people(self.cluster, held)
        if self.is_due("powers", CONFINEMENT_SECONDS):
            self.record_confinement(held)
        if self.is_due("strays", ORPHANS_SECONDS):
            self.end_orphan_runs(held)
        if self.kubernetes and self.is_due("kubernetes", KUBERNETES_SECONDS):
            self.kubernetes.advance(held)

    def is_due(self, what: str, seconds: float) -> bool:
        """Counted from when it was begun: what fails is tried again after its pause, and keeps nothing else waiting."""
        now = time.monotonic()
        if now - self.begun_at.get(what, float("-inf")) < seconds:
            return False
        self.begun_at[what] = now
        return True

    def watch_clocks(self, held: HeldLease) -> None:
        """A clock that was set lets nothing expire: everybody alive has one lease's time to say so again."""
        self.clock_watch = self.clock_watch.observe(self.cluster.clock(), self.steady(), LEASE_DURATION)
        if self.clock_watch.jump:
            log.warning("the clock was set", seconds=self.clock_watch.jump.total_seconds())
            correct_future_heartbeats(self.cluster, held)

    def record_confinement(self, held: HeldLease) -> None:
        executor = self.reconciler.executor
        powers = None
        if isinstance(executor, ProcessExecutor):
            powers = executor.read_confinement(job_uid_range(self.cluster.settings))
        if record_confinement_features(self.cluster, held, read_host_name(), powers):
            log.info("what confines jobs here", powers=powers)

    def expire_leases_and_nodes(self, held: HeldLease) -> None:
        """Expires the leases of operations and marks nodes that were silent for too long as lost."""
        if not self.clock_watch.is_settled:
            return
        requeue_stale_operations(self.cluster)
        for node_id in mark_silent_nodes_lost(self.cluster, held):
            log.warning("a node stayed silent and is given up", node=node_id)
            self.wakeup.wake()

    def seal_access_log(self) -> None:
        """Sealed in the database; a disk that refuses the files of its days holds nothing else up."""
        seal_entries(self.cluster, log_seal)
        try:
            append_sealed_entries(self.cluster)
        except (OSError, FileMissing, FileNotPlain) as error:
            log.warning("the access log's files are not written; trying again", error=str(error))

    def import_offline_repairs(self) -> None:
        """Imports the repairs that the console ran without the database as rows."""
        try:
            for run_id in offline_records.import_offline_records(self.cluster):
                log.info("a repair that the console ran is read in", run=run_id)
        except OSError as error:
            log.warning("the console's records are not read in; trying again", error=str(error))

    def request_backup(self, held: HeldLease) -> None:
        """Not while the clock has just been set: it may be put right again."""
        if self.clock_watch.is_settled and (night := request_nightly_backup(self.cluster, held)) is not None:
            log.info("the nightly backup is asked for", operation=night.id)

    def end_orphan_runs(self, held: HeldLease) -> None:
        """A lost node that speaks again gets new work only once nothing old is left on it."""
        healed = list_recovered_nodes(self.cluster)
        strays, silence = self.reconciler.orphan_runs.end_all(), self.reconciler.orphan_runs.executor_problem
        record_executor_outage(
            self.cluster, held, silence.code if silence else None, silence.data if silence else {}
        )
        if strays == 0 and healed:
            return_to_service(self.cluster, held, healed)
            log.info("lost nodes are back", nodes=healed)
            self.wakeup.wake()


def interrupt_all(
    cluster: Cluster, executor: Executor, runtime: Path, patience: float = INTERRUPT_ALL_SECONDS
) -> int:
    """Stops every attempt and lets its job wait again; how many still live after `patience` seconds.

    For `make down`, when no scheduler runs any more: takes the lease from a dead one. Raises LeaseLost.
    """
    reconciler = Reconciler(cluster, executor, runtime)
    deadline = time.monotonic() + patience
    while True:
        held = acquire_lease(cluster, LEASE, lease_holder_name(), LEASE_DURATION, is_dead_holder)
        living = reconciler.reconcile(held, requeue=True) if held else 1
        if held and living == 0:
            release_lease(cluster, held)
        if living == 0 or time.monotonic() > deadline:
            return living
        time.sleep(BUSY_SECONDS)


def lease_holder_name() -> str:
    process = read_process(os.getpid())
    return f"{read_boot_id()}:{os.getpid()}:{process.start_ticks if process else 0}"


def is_dead_holder(holder: str) -> bool:
    """Only said of a process of this machine and this boot: elsewhere the lease's time decides."""
    boot_id, _, rest = holder.partition(":")
    pid, _, ticks = rest.partition(":")
    if boot_id != read_boot_id() or not pid.isdigit():
        return False
    process = read_process(int(pid))
    return process is None or process.is_gone() or str(process.start_ticks) != ticks


def run_scheduler(settings: Settings) -> None:
    """Until SIGTERM; runs go on without it."""
    cluster = open_cluster(settings)
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    executor = open_executor(cluster, runtime, open_shim_starter(settings))
    bell = RedisEventBus(connect_redis(settings.redis_url))
    ears = Wakeup(connect_redis(settings.redis_url), TOPICS, bell.origin)
    scheduler = SchedulerLoop(replace(cluster, events=bell), executor, runtime, ears)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: scheduler.stop())
    freeze_startup_objects()
    with suppress(sqlite3.Error):  # A database that is away is met at its first use.
        cluster.store.hold_open()
    scheduler.run()


def main(arguments: list[str]) -> int:
    run_scheduler(Settings.from_environment())
    return 0
