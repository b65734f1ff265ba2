"""Makes what runs equal to what should run: one look at rows and executor, one action per attempt."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import structlog

from cluster.crash_points import around
from cluster.domain.attempts import (
    Action,
    AttemptFacts,
    ForceStop,
    Forestall,
    Interrupt,
    NodeFate,
    RecordEnd,
    RecordRunning,
    Seen,
    Start,
    Stop,
    decide,
    end_of_forestalled,
)
from cluster.domain.exits import ExitTruth
from cluster.services import attempts, storage
from cluster.services.attempts import LivingAttempt
from cluster.services.context import Cluster
from cluster.services.leases import Held
from worker.executors.contract import CannotTell, Executor, NotStarted, Sight
from worker.start_plans import read_start_plan

log = structlog.get_logger()


class Reconciler:
    """Safe to kill anywhere: all that it knows is in the rows and in the attempts' folders.

    In memory is only since when somebody has been asked to stop; forgetting that costs seconds.
    """

    def __init__(self, cluster: Cluster, executor: Executor, runtime: Path) -> None:
        self.cluster = cluster
        self.executor = around(executor, "executor")
        self.runtime = runtime
        self.asked_to_stop: dict[int, float] = {}

    def reconcile(self, held: Held, renew: Callable[[], object] = lambda: None, requeue: bool = False) -> int:
        """How many attempts live. `renew` is called before each, for starting many takes a while."""
        living = attempts.list_living(self.cluster)
        self.asked_to_stop = {
            attempt.attempt_id: self.asked_to_stop[attempt.attempt_id]
            for attempt in living
            if attempt.attempt_id in self.asked_to_stop
        }
        for attempt in living:
            renew()
            self.reconcile_one(held, attempt, requeue)
        return len(living)

    def reconcile_one(self, held: Held, attempt: LivingAttempt, requeue: bool = False) -> None:
        folder = self.folder_of(attempt)
        try:
            sight = self.executor.look(folder)
            truth = self.executor.read_end(folder) if sight.seen is Seen.GONE else None
        except CannotTell as silence:
            log.warning("the executor does not answer", code=silence.code, **silence.data)
            return
        action = decide(self.facts_of(attempt, sight, truth, requeue))
        with structlog.contextvars.bound_contextvars(job=attempt.job_id, attempt=attempt.number):
            self.act(held, attempt, sight, truth, action, requeue)

    def folder_of(self, attempt: LivingAttempt) -> Path:
        settings = self.cluster.settings
        return storage.attempt_folder(settings, attempt.workspace_id, attempt.job_id, attempt.number)

    def facts_of(
        self, attempt: LivingAttempt, sight: Sight, truth: ExitTruth | None, requeue: bool
    ) -> AttemptFacts:
        asked = self.asked_to_stop.get(attempt.attempt_id)
        return AttemptFacts(
            job=attempt.job_id,
            number=attempt.number,
            fence=attempt.fence,
            state=attempt.state,
            desired=attempt.desired,
            seen=sight.seen,
            truth=truth,
            node=NodeFate.SAME_BOOT if sight.is_of_this_boot else NodeFate.REBOOTED,
            since_placed=self.cluster.clock() - attempt.created_at,
            since_stop_requested=None if asked is None else timedelta(seconds=time.monotonic() - asked),
            requeue=requeue,
        )

    def act(
        self,
        held: Held,
        attempt: LivingAttempt,
        sight: Sight,
        truth: ExitTruth | None,
        action: Action,
        requeue: bool,
    ) -> None:
        match action:
            case Start():
                self.start(held, attempt)
            case RecordRunning(adopted=adopted) if sight.handle is not None:
                log.info("found running", adopted=adopted)
                attempts.record_running(self.cluster, held, attempt.attempt_id, sight.handle, adopted)
            case RecordEnd(outcome=outcome):
                self.clear(attempt, truth)
                attempts.record_end(self.cluster, held, attempt.attempt_id, outcome, truth)
                log.info("ended", code=outcome.code, exit_code=outcome.exit_code)
            case Interrupt(code=code, data=data):
                self.clear(attempt, truth)
                attempts.interrupt_attempt(self.cluster, held, attempt.attempt_id, code, data)
                log.info("interrupted", code=code)
            case Forestall():
                self.forestall(held, attempt, requeue)
            case Stop() if sight.handle is not None:
                self.asked_to_stop.setdefault(attempt.attempt_id, time.monotonic())
                self.executor.stop(sight.handle)
            case ForceStop() if sight.handle is not None:
                log.warning("did not stop in time: ending its whole tree")
                self.executor.force_stop(sight.handle)
            case _:
                pass

    def start(self, held: Held, attempt: LivingAttempt) -> None:
        plan = read_start_plan(self.cluster, self.runtime, attempt.attempt_id)
        storage.ensure_workspace_folder(self.cluster.settings, attempt.workspace_id)
        attempts.record_starting(self.cluster, held, attempt.attempt_id)
        try:
            handle = self.executor.start(plan)
        except NotStarted as problem:
            log.warning("not started, tried again later", code=problem.code, **problem.data)
            return
        attempts.record_running(self.cluster, held, attempt.attempt_id, handle)
        log.info("started", **handle)

    def forestall(self, held: Held, attempt: LivingAttempt, requeue: bool) -> None:
        """Where the shim was faster, the next look sees it alive and stops it."""
        if not self.executor.forestall(self.folder_of(attempt)):
            return
        if requeue:
            attempts.interrupt_attempt(
                self.cluster, held, attempt.attempt_id, "interrupted.services_stopped", {}
            )
        else:
            outcome = end_of_forestalled(attempt.desired)
            attempts.record_end(self.cluster, held, attempt.attempt_id, outcome)

    def clear(self, attempt: LivingAttempt, truth: ExitTruth | None) -> None:
        """A shim that was killed could not end its tree: before the units are free, we do."""
        if truth is None:
            for _ in range(50):
                if self.executor.clear(self.folder_of(attempt)) == 0:
                    return
                time.sleep(0.02)

    def end_strays(self) -> None:
        """Runs that no living attempt stands for: a database that was put back, a fence that was passed."""
        known = {(attempt.job_id, attempt.number) for attempt in attempts.list_living(self.cluster)}
        try:
            for run in self.executor.list_running():
                if (run.job, run.attempt) not in known:
                    log.warning("a stray run is ended", job=run.job, attempt=run.attempt)
                    self.executor.force_stop(run.handle)
            self.executor.forget_all_but(known)
        except CannotTell as silence:
            log.warning("the executor does not answer", code=silence.code, **silence.data)
