"""The reconciler compares each live attempt's row with what the executor reports, and takes one action per attempt."""

import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog

from cluster.domain.jobs.attempts import (
    START_DEADLINE,
    AttemptAction,
    AttemptFacts,
    AttemptOutcome,
    KillAttempt,
    NodeFate,
    ObservedState,
    PreventStart,
    RecordEnd,
    RecordInterruption,
    RecordRunning,
    StartAttempt,
    StopAttempt,
    decide,
    outcome_never_started,
)
from cluster.domain.jobs.exits import ExitRecord, parse_usage
from cluster.domain.jobs.resume_points import ResumePoint
from cluster.domain.nodes.node_state import worst_fate
from cluster.domain.storage.disk_reserve import INTERRUPTED_DISK_FULL
from cluster.failpoints import wrap_calls
from cluster.services.context import Cluster
from cluster.services.jobs import attempts, live_attempts
from cluster.services.jobs.live_attempts import LiveAttempt, count_lost_attempts
from cluster.services.leases import HeldLease
from cluster.services.storage import folders, notebook_folders
from worker.executors.contract import (
    DISK_FULL,
    Executor,
    ExecutorUnreachable,
    Handle,
    NotStarted,
    RunStatus,
    StartUnanswered,
)
from worker.executors.rank_usage import with_rank_usage
from worker.inside import shim_files
from worker.scheduling.disk_watch import DiskWatch, LiveRun
from worker.scheduling.starts.attempt_starts import AttemptStarts
from worker.scheduling.starts.resume_points import find_resume_point

log = structlog.get_logger()
GATHER_SECONDS = 0.01
"""A start that has succeeded is recorded with the next one, if that one answers within this time."""
LEFTOVER_TRIES, LEFTOVER_PAUSE_SECONDS = 5, 0.02
"""Killed processes have mostly ended after these tries. Others are tried once in each pass."""


class Reconciler:
    """The reconciler can be killed at any moment: its state is in the rows and in the attempts' folders. In memory are
    only the times since which attempts were known and asked to stop, and the reasons of failed starts. Forgetting them
    costs seconds, and a reason. `steady` is a clock that nobody sets, in seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        executor: Executor,
        runtime: Path,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.executor = wrap_calls(
            executor, "executor", besides=frozenset({"read_status", "list_running", "read_exit_record"})
        )
        self.steady = steady
        self.starts = AttemptStarts(cluster, self.executor, runtime)
        self.placed_at: dict[int, float] = {}
        self.stop_asked_at: dict[int, float] = {}
        self.handles: dict[int, Handle] = {}
        """The handles of the attempts that were live in the last pass."""
        self.earlier_runs: dict[int, LiveRun] = {}
        """The live runs of the pass before. The facts about a run do not change while its handle stays the same."""
        self.live_runs: dict[int, LiveRun] = {}
        """The live runs by attempt id, in the form that the watch over the disks needs."""
        self.disk_watch = DiskWatch(cluster, self.executor, steady)
        self.ended_count = 0
        """The number of attempts that have ended since this scheduler began."""
        self.found_ends: list[tuple[LiveAttempt, attempts.AttemptEnd]] = []
        """The ends that this pass has found; they are recorded together."""
        self.start_problems: dict[int, NotStarted] = {}
        self.with_leftovers: set[int] = set()
        """The attempts of which processes still run although they were ended."""

    def reconcile(
        self, held: HeldLease, renew: Callable[[], object] = lambda: None, requeue: bool = False
    ) -> int:
        """Reconciles all live attempts and returns their number. It calls `renew` before each, because starting many
        takes a while.

        Executors are asked for several starts at once, and their answers are written afterwards.
        """
        living = live_attempts.list_live_attempts(self.cluster)
        now, ids = self.steady(), [attempt.attempt_id for attempt in living]
        self.placed_at = {key: self.placed_at.get(key, now) for key in ids}
        self.stop_asked_at = {key: self.stop_asked_at[key] for key in ids if key in self.stop_asked_at}
        self.earlier_runs, self.handles, self.live_runs = self.live_runs, {}, {}
        self.start_problems = {key: self.start_problems[key] for key in ids if key in self.start_problems}
        self.with_leftovers &= set(ids)
        self.reconcile_each(held, living, renew, requeue)
        return len(living)

    def reconcile_placed(
        self, held: HeldLease, attempt_ids: Collection[int], renew: Callable[[], object]
    ) -> int:
        """Reconciles these attempts, which were made a moment ago, and no others. Returns how many of them are live."""
        living = live_attempts.list_live_attempts(self.cluster, attempt_ids)
        self.placed_at |= {attempt.attempt_id: self.steady() for attempt in living}
        self.reconcile_each(held, living, renew)
        return len(living)

    def reconcile_each(
        self, held: HeldLease, living: list[LiveAttempt], renew: Callable[[], object], requeue: bool = False
    ) -> None:
        to_start, self.found_ends = [], []
        for attempt in living:
            renew()
            if self.reconcile_one(held, attempt, requeue):
                to_start.append(attempt)
        self.record_found_ends(held)
        started: list[tuple[LiveAttempt, Handle]] = []
        for attempt, start in self.starts.start_all(held, to_start, renew):
            renew()
            if started and not wait((start,), GATHER_SECONDS).done:
                self.record_started(held, started)
                started = []
            if (handle := self.finish_start(attempt, start)) is not None:
                started.append((attempt, handle))
        self.record_started(held, started)

    def reconcile_one(self, held: HeldLease, attempt: LiveAttempt, requeue: bool = False) -> bool:
        """Returns whether the attempt has to be started. All other actions are done when this returns."""
        folder = self.attempt_folder(attempt)
        try:
            sight = self.executor.read_status(folder)
            truth = self.executor.read_exit_record(folder) if sight.observed is ObservedState.ENDED else None
        except ExecutorUnreachable as silence:
            log.warning("the executor does not answer", code=silence.code, **silence.data)
            return False
        if sight.observed is ObservedState.ALIVE and sight.handle is not None:
            self.remember_live_run(attempt, sight.handle)
        if sight.start_problem is not None:
            self.start_problems[attempt.attempt_id] = sight.start_problem
        if sight.observed is ObservedState.UNKNOWN:
            # An executor that does not answer cannot start anything, so the start deadline begins when it answers.
            self.placed_at[attempt.attempt_id] = self.steady()
        action = decide(self.attempt_facts(attempt, sight, truth, requeue))
        with log_context(attempt):
            self.act(held, attempt, sight, truth, action)
        return isinstance(action, StartAttempt)

    def remember_live_run(self, attempt: LiveAttempt, handle: Handle) -> None:
        self.handles[attempt.attempt_id] = handle
        run = self.earlier_runs.get(attempt.attempt_id)
        if run is None or run.handle != handle:
            age = (self.cluster.clock() - attempt.created_at).total_seconds()
            out, since = self.attempt_folder(attempt) / "out", self.steady() - max(0.0, age)
            run = LiveRun(attempt.job_id, out, handle, since, self.kept_folders(attempt))
        self.live_runs[attempt.attempt_id] = run

    def kept_folders(self, attempt: LiveAttempt) -> list[Path]:
        return notebook_folders.list_kept_folders(
            self.cluster.settings,
            attempt.kind,
            (attempt.workspace_id, attempt.training_id, attempt.user_id),
        )

    def attempt_folder(self, attempt: LiveAttempt) -> Path:
        settings = self.cluster.settings
        return folders.attempt_folder(settings, attempt.workspace_id, attempt.job_id, attempt.number)

    def attempt_facts(
        self, attempt: LiveAttempt, sight: RunStatus, truth: ExitRecord | None, requeue: bool
    ) -> AttemptFacts:
        own = NodeFate.SAME_BOOT if sight.is_of_this_boot else NodeFate.REBOOTED
        is_lost = sight.observed is ObservedState.ENDED and truth is None
        problem = self.start_problems.get(attempt.attempt_id)
        return AttemptFacts(
            job=attempt.job_id,
            number=attempt.number,
            fence=attempt.fence,
            state=attempt.state,
            desired=attempt.desired,
            seen=sight.observed,
            exit_record=truth,
            node=worst_fate((own, attempt.node_fate)),
            since_placed=self.elapsed_since(self.placed_at.get(attempt.attempt_id)) or timedelta(0),
            since_stop_requested=self.elapsed_since(self.stop_asked_at.get(attempt.attempt_id)),
            is_requeued=requeue,
            grace=timedelta(seconds=attempt.grace_seconds),
            nodes=attempt.nodes,
            lost_before=count_lost_attempts(self.cluster, attempt.job_id) if is_lost else 0,
            cause=attempt.cause or self.disk_watch.causes.get(attempt.attempt_id),
            disk_full_cause=self.disk_watch.disk_full_cause(truth.out_bytes)
            if truth and truth.disk_full
            else None,
            has_no_room=problem is not None and problem.code == DISK_FULL,
        )

    def elapsed_since(self, moment: float | None) -> timedelta | None:
        return None if moment is None else timedelta(seconds=self.steady() - moment)

    def act(
        self,
        held: HeldLease,
        attempt: LiveAttempt,
        sight: RunStatus,
        truth: ExitRecord | None,
        action: AttemptAction,
    ) -> None:
        match action:
            case RecordRunning(is_adopted=adopted) if sight.handle is not None:
                log.info("found running", adopted=adopted)
                attempts.record_running(self.cluster, held, {attempt.attempt_id: sight.handle}, adopted)
            case RecordEnd(outcome=outcome):
                if self.end_leftovers(attempt, truth):
                    self.found_ends.append((attempt, self.attempt_end(attempt, outcome, truth)))
            case RecordInterruption(code=code, data=data):
                if self.end_leftovers(attempt, truth):
                    self.interrupt(held, attempt, code, data, truth)
            case PreventStart(cause=cause):
                self.prevent_start(held, attempt, cause)
            case StopAttempt(with_grace=patiently) if sight.handle is not None:
                if (
                    sight.observed is ObservedState.ALIVE
                ):  # The kill timer starts only while the shim is seen alive.
                    self.stop_asked_at.setdefault(attempt.attempt_id, self.steady())
                self.executor.stop(sight.handle, patiently)
            case KillAttempt() if sight.handle is not None:
                log.warning("did not stop in time: ending its whole tree")
                self.executor.kill(sight.handle)
            case _:
                pass

    def finish_start(self, attempt: LiveAttempt, start: Future[Handle | None]) -> Handle | None:
        """Returns None if the attempt did not start, or if its start is not finished: a later pass finds it running."""
        try:
            return start.result()
        except NotStarted as problem:
            with log_context(attempt):
                log.warning("not started, tried again later", code=problem.code, **problem.data)
            self.start_problems[attempt.attempt_id] = problem
            if isinstance(problem, StartUnanswered):
                self.placed_at[attempt.attempt_id] = self.steady()
            return None

    def record_started(self, held: HeldLease, started: list[tuple[LiveAttempt, Handle]]) -> None:
        if not started:
            return
        for attempt, handle in started:
            self.remember_live_run(attempt, handle)
        handles = {attempt.attempt_id: handle for attempt, handle in started}
        attempts.record_running(self.cluster, held, handles)
        for attempt, handle in started:
            with log_context(attempt):
                log.info("started", **handle)

    def attempt_end(
        self, attempt: LiveAttempt, outcome: AttemptOutcome, truth: ExitRecord | None
    ) -> attempts.AttemptEnd:
        resume = self.find_resume_point(attempt) if attempt.retries_left else None
        if truth and attempt.nodes > 1:
            truth = with_rank_usage(self.attempt_folder(attempt), truth)
        return attempts.AttemptEnd(attempt.attempt_id, outcome, truth, resume)

    def record_found_ends(self, held: HeldLease) -> None:
        if not self.found_ends:
            return
        attempts.record_end(self.cluster, held, *(end for _, end in self.found_ends))
        self.ended_count += len(self.found_ends)
        for attempt, end in self.found_ends:
            with log_context(attempt):
                log.info("ended", code=end.outcome.code, exit_code=end.outcome.exit_code)

    def interrupt(
        self, held: HeldLease, attempt: LiveAttempt, code: str, data: dict[str, Any], truth: ExitRecord | None
    ) -> None:
        """Records the interruption. If the shim could not report what was used, its last measurement counts."""
        data |= {"node": attempt.fate_node} if attempt.fate_node else {}
        used = truth or self.read_usage(attempt)
        if attempt.nodes > 1:
            used = with_rank_usage(self.attempt_folder(attempt), used)
        resume = self.find_resume_point(attempt)
        attempts.record_interruption(self.cluster, held, attempt.attempt_id, code, data, used, resume)
        self.ended_count += 1
        log.info("interrupted", code=code, resume=resume.key if resume else None)

    def find_resume_point(self, attempt: LiveAttempt) -> ResumePoint | None:
        return find_resume_point(self.cluster.settings, attempt, attempt.number)

    def read_usage(self, attempt: LiveAttempt) -> ExitRecord | None:
        content = shim_files.read_untrusted_file(str(self.attempt_folder(attempt) / "control"), "usage.json")
        return None if content is None else parse_usage(content)

    def prevent_start(self, held: HeldLease, attempt: LiveAttempt, cause: str | None) -> None:
        """Tells the shim not to start. If the shim was faster, the next pass sees it alive and stops it."""
        try:
            if not self.executor.prevent_start(self.attempt_folder(attempt)):
                return
        except OSError as error:
            # Without the marker a late shim could begin: the units stay booked until the disk takes it.
            log.warning("the start cannot be prevented", error=str(error))
            return
        problem = self.start_problems.get(attempt.attempt_id)
        if cause is not None:
            data: dict[str, Any] = {"attempt": attempt.number}
            if problem and cause == START_DEADLINE:
                data["why"] = {"code": problem.code, "data": dict(problem.data)}
            if cause == INTERRUPTED_DISK_FULL:
                data |= self.disk_watch.disk_full_cause(None).data
            self.interrupt(held, attempt, cause, data, None)
        else:
            why = {"cause": problem.code, **problem.data} if problem else {}
            outcome = outcome_never_started(attempt.desired, why)
            self.found_ends.append((attempt, attempts.AttemptEnd(attempt.attempt_id, outcome)))

    def end_leftovers(self, attempt: LiveAttempt, truth: ExitRecord | None) -> bool:
        """Ends the processes that a killed shim could not end, before its units become free. Returns False if some of
        them still run, or if that is unknown: the units then stay booked until the next pass.
        """
        folder, has_ended = self.attempt_folder(attempt), truth is not None and not truth.disruption
        try:
            for _ in range(LEFTOVER_TRIES):
                if (left := self.executor.end_leftovers(folder, has_ended, attempt.lost_nodes)) == 0:
                    self.with_leftovers.discard(attempt.attempt_id)
                    return True
                if has_ended or attempt.attempt_id in self.with_leftovers:
                    return (
                        False  # A kubelet or the kernel may take long. Other attempts must not wait for it.
                    )
                time.sleep(LEFTOVER_PAUSE_SECONDS)
        except ExecutorUnreachable as silence:
            log.warning("the remaining processes cannot be ended yet", code=silence.code, **silence.data)
            return False
        log.warning("the remaining processes do not end: the units stay booked", left=left)
        self.with_leftovers.add(attempt.attempt_id)
        return False


def log_context(attempt: LiveAttempt) -> AbstractContextManager[None]:
    """Adds the job and its attempt to every log line within the block."""
    return structlog.contextvars.bound_contextvars(job=attempt.job_id, attempt=attempt.number)
