"""The scheduler: one loop under a lease that gives units, starts, watches and ends attempts."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.bell import RedisBell, connect
from cluster.domain.attempts import LONGEST_GOODBYE
from cluster.domain.clocks import ClockWatch
from cluster.files.beneath import FileMissing, FileNotPlain
from cluster.garbage import settle
from cluster.services import repair_records
from cluster.services.access_files import write_days
from cluster.services.audit_seals import seal_entries
from cluster.services.backups import request_nightly
from cluster.services.context import Cluster
from cluster.services.dispatch import place_waiting
from cluster.services.dropped_operations import sweep_operations
from cluster.services.executor_silence import note_silence
from cluster.services.kubernetes import forget_standing
from cluster.services.leases import Held, LeaseLost, hold_lease, release_lease
from cluster.services.pulse import tell_pulse
from cluster.services.queue_totals import refresh_totals
from cluster.services.silence import forgive_set_clock, give_up_silent, list_healed, welcome_back
from cluster.services.telling import tell_people
from cluster.settings import Settings
from worker.adapters.runtime import install_runtime
from worker.audit_anchors import tell_seal
from worker.ears import Ears
from worker.executors.chosen import open_executor
from worker.executors.contract import Executor
from worker.executors.ends import Ends
from worker.inside.shim_tree import read_boot_id, read_process
from worker.kubernetes_watch import watch_kubernetes
from worker.progress_watch import watch_progress
from worker.reconciler import Reconciler
from worker.sweep_watch import watch_sweeps
from worker.wiring import open_cluster, open_launcher
from worker.workspace_folders import WorkspaceFolders

log = structlog.get_logger()

LEASE = "scheduler"
LEASE_LASTS = timedelta(seconds=10)
RENEW_SECONDS = 3.0
IDLE_SECONDS = 1.0
BUSY_SECONDS = 0.25
"""While attempts live they are looked at this often; that a process ended is told at once."""
CALM_SECONDS = 0.05
"""After a look that somebody asked for in vain: who submits a thousand jobs does not make it spin."""
CALM_SHARE = 3.0
"""So many times as long as that look took, where that is longer: in vain it uses a quarter of a core at most."""
SWEEP_SECONDS = 1.0
STRAYS_SECONDS = 5.0
PROGRESS_SECONDS = 5.0
"""Running jobs are asked this often how far they are."""
TOTALS_SECONDS = 10.0
"""What waits is counted this often, by the index of shapes alone."""
KUBERNETES_SECONDS = 1.0
"""A new workspace has its place in Kubernetes so soon; its watch pauses for longer between looks at all of it."""
PULSE_SECONDS = 15.0
"""How long looks take is written down this often, for whoever watches."""
SEAL_SECONDS = 60.0
"""The audit is sealed this often, once what is in it has settled."""
PATIENCE = LONGEST_GOODBYE.total_seconds() + 20.0
"""Programs may save a checkpoint before they go; nobody waits for longer than for the slowest of them."""
NOT_AT_ONCE = ("pulse", "records", "seals", "backup", "telling")
"""Done for the first time once their pause is over."""
FOLDERS_SECONDS = 1.0
"""A new workspace has its folder so soon, also where its bell was not heard."""
TOPICS = frozenset({"queue", "nodes", "workspaces"})


class Scheduler:
    """A second one is harmless: it waits for the lease."""

    def __init__(
        self,
        cluster: Cluster,
        executor: Executor,
        runtime: Path,
        ears: Ears,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.ears = ears
        self.steady = steady
        self.reconciler = Reconciler(cluster, executor, runtime, steady)
        self.clocks = ClockWatch(cluster.clock(), steady())
        self.ends = Ends()
        self.kubernetes = watch_kubernetes(cluster, executor)
        self.folders = WorkspaceFolders(cluster, steady)
        self.is_rung = self.has_acted = False
        self.looked_at = float("-inf")
        self.look_took = self.slowest_look = 0.0
        self.holder = name_of_this_process()
        self.held: Held | None = None
        self.renewed_at = float("-inf")
        self.begun_at = dict.fromkeys(NOT_AT_ONCE, time.monotonic())
        self.stopping = threading.Event()

    def loop(self) -> None:
        self.ears.listen_from_now()
        while not self.stopping.is_set():
            living, began = 0, time.monotonic()
            try:
                if self.renew():
                    living = self.tick()
            except LeaseLost:
                log.warning("another scheduler holds the lease")
                self.held = None
            except DBAPIError as error:
                log.error("the database does not answer; trying again", error=str(error))
                self.held = None
            if self.looked_at >= began:  # Who waits for the lease or the database has not looked.
                self.look_took = time.monotonic() - self.looked_at
                self.slowest_look = max(self.slowest_look, self.look_took)
            was_in_vain = self.is_rung and not self.has_acted
            ends = self.ends.follow(self.reconciler.handles.values())
            if self.ends.has_missed:
                self.ears.wake()
            self.is_rung = self.ears.wait(BUSY_SECONDS if living else IDLE_SECONDS, ends)
            if was_in_vain:
                self.stay_calm()
        if self.held:
            release_lease(self.cluster, self.held)
        if self.kubernetes:
            self.kubernetes.close()

    def stay_calm(self) -> None:
        calm = max(CALM_SECONDS, CALM_SHARE * self.look_took)
        self.stopping.wait(min(calm, BUSY_SECONDS) - (time.monotonic() - self.looked_at))

    def stop(self) -> None:
        self.stopping.set()
        self.ears.wake()

    def renew(self) -> Held | None:
        """The lease, renewed every few seconds; None while another scheduler has it."""
        if self.held is None or time.monotonic() - self.renewed_at >= RENEW_SECONDS:
            had = self.held
            self.held = hold_lease(self.cluster, LEASE, self.holder, LEASE_LASTS, is_dead_process)
            self.renewed_at = time.monotonic()
            if self.held and not had:
                log.info("scheduling", fence=self.held.fence)
                if self.kubernetes is None:
                    forget_standing(self.cluster, self.held)
        return self.held

    def tick(self) -> int:
        """One look at everything; how many attempts live. Raises LeaseLost."""
        held = self.held
        assert held, "tick() needs the lease"
        self.looked_at, ended = time.monotonic(), self.reconciler.ended
        self.watch_clocks(held)
        if self.is_due("folders", FOLDERS_SECONDS) or self.is_rung:
            self.folders.keep()
        living = self.reconciler.reconcile(held, self.renew)
        self.has_acted = self.reconciler.ended > ended
        # Before anything is placed: of a sweep that is to be stopped nothing more starts.
        watch_sweeps(self.cluster, held)
        if placed := place_waiting(self.cluster, held, self.is_rung, has_freed=self.has_acted):
            self.has_acted, ended = True, self.reconciler.ended
            living += self.reconciler.reconcile_new(held, placed, self.renew)
            if self.reconciler.ended > ended:
                self.ears.wake()  # Units came free after the queue was looked at.
        self.do_what_is_due(held, living)
        return living

    def do_what_is_due(self, held: Held, living: int) -> None:
        if self.is_due("sweep", SWEEP_SECONDS):
            self.expire(held)
        if self.is_due("totals", TOTALS_SECONDS):
            refresh_totals(self.cluster, held)
        if living and self.is_due("progress", PROGRESS_SECONDS):
            watch_progress(self.cluster, held)
        if self.is_due("pulse", PULSE_SECONDS):
            tell_pulse(self.cluster, held, self.look_took, self.slowest_look)
            self.slowest_look = 0.0
        if self.is_due("records", SEAL_SECONDS):
            self.read_console_records()
        if self.is_due("seals", SEAL_SECONDS):
            self.keep_access_log()
        if self.is_due("backup", SEAL_SECONDS):
            self.ask_for_backup(held)
        if self.is_due("telling", SEAL_SECONDS):
            tell_people(self.cluster, held)
        if self.is_due("strays", STRAYS_SECONDS):
            self.end_strays(held)
        if self.kubernetes and self.is_due("kubernetes", KUBERNETES_SECONDS):
            self.kubernetes.take_turn(held)

    def is_due(self, what: str, seconds: float) -> bool:
        """Counted from when it was begun: what fails is tried again after its pause, and keeps nothing else waiting."""
        now = time.monotonic()
        if now - self.begun_at.get(what, float("-inf")) < seconds:
            return False
        self.begun_at[what] = now
        return True

    def watch_clocks(self, held: Held) -> None:
        """A clock that was set lets nothing expire: everybody alive has one lease's time to say so again."""
        self.clocks = self.clocks.look(self.cluster.clock(), self.steady(), LEASE_LASTS)
        if self.clocks.jump:
            log.warning("the clock was set", seconds=self.clocks.jump.total_seconds())
            forgive_set_clock(self.cluster, held)

    def expire(self, held: Held) -> None:
        """What has been silent for too long: leases of operations, nodes."""
        if not self.clocks.is_settled:
            return
        sweep_operations(self.cluster)
        for node_id in give_up_silent(self.cluster, held):
            log.warning("a node stayed silent and is given up", node=node_id)
            self.ears.wake()

    def keep_access_log(self) -> None:
        """Sealed in the database; a disk that refuses the files of its days holds nothing else up."""
        seal_entries(self.cluster, tell_seal)
        try:
            write_days(self.cluster)
        except (OSError, FileMissing, FileNotPlain) as error:
            log.warning("the access log's files are not written; trying again", error=str(error))

    def read_console_records(self) -> None:
        """What the console did while the database was away becomes rows."""
        try:
            for run_id in repair_records.read_in(self.cluster):
                log.info("a repair that the console ran is read in", run=run_id)
        except OSError as error:
            log.warning("the console's records are not read in; trying again", error=str(error))

    def ask_for_backup(self, held: Held) -> None:
        """Not while the clock has just been set: it may be put right again."""
        if self.clocks.is_settled and (night := request_nightly(self.cluster, held)) is not None:
            log.info("the nightly backup is asked for", operation=night.id)

    def end_strays(self, held: Held) -> None:
        """A lost node that speaks again gets new work only once nothing old is left on it."""
        healed = list_healed(self.cluster)
        strays, silence = self.reconciler.strays.end(), self.reconciler.strays.silence
        note_silence(self.cluster, held, silence.code if silence else None, silence.data if silence else {})
        if strays == 0 and healed:
            welcome_back(self.cluster, held, healed)
            log.info("lost nodes are back", nodes=healed)
            self.ears.wake()


def interrupt_all(cluster: Cluster, executor: Executor, runtime: Path, patience: float = PATIENCE) -> int:
    """Stops every attempt and lets its job wait again; how many still live after `patience` seconds.

    For `make down`, when no scheduler runs any more: takes the lease from a dead one. Raises LeaseLost.
    """
    reconciler = Reconciler(cluster, executor, runtime)
    deadline = time.monotonic() + patience
    while True:
        held = hold_lease(cluster, LEASE, name_of_this_process(), LEASE_LASTS, is_dead_process)
        living = reconciler.reconcile(held, requeue=True) if held else 1
        if held and living == 0:
            release_lease(cluster, held)
        if living == 0 or time.monotonic() > deadline:
            return living
        time.sleep(BUSY_SECONDS)


def name_of_this_process() -> str:
    process = read_process(os.getpid())
    return f"{read_boot_id()}:{os.getpid()}:{process.start_ticks if process else 0}"


def is_dead_process(holder: str) -> bool:
    """Only said of a process of this machine and this boot: elsewhere the lease's time decides."""
    boot_id, _, rest = holder.partition(":")
    pid, _, ticks = rest.partition(":")
    if boot_id != read_boot_id() or not pid.isdigit():
        return False
    process = read_process(int(pid))
    return process is None or process.is_gone() or str(process.start_ticks) != ticks


def run(settings: Settings) -> None:
    """Until SIGTERM; runs go on without it."""
    cluster = open_cluster(settings)
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    executor = open_executor(cluster, runtime, open_launcher(settings))
    bell = RedisBell(connect(settings.redis_url))
    ears = Ears(connect(settings.redis_url), TOPICS, bell.origin)
    scheduler = Scheduler(replace(cluster, bell=bell), executor, runtime, ears)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: scheduler.stop())
    settle()
    scheduler.loop()


def main(arguments: list[str]) -> int:
    run(Settings.from_environment())
    return 0
