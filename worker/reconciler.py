"""Makes what runs equal to what should run: one look at rows and executor, one action per attempt."""

import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog

from cluster.crash_points import around
from cluster.domain.attempts import (
    START_DEADLINE,
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
from cluster.domain.disks import SHORT
from cluster.domain.exits import ExitTruth, Outcome, parse_use
from cluster.domain.nodes import gravest
from cluster.domain.resuming import Resume
from cluster.services import attempts, storage
from cluster.services.context import Cluster
from cluster.services.leases import Held
from cluster.services.living import LivingAttempt, count_lost
from worker.disk_watch import DiskWatch, Run
from worker.executors.contract import NO_ROOM, CannotTell, Executor, Handle, NotStarted, Sight, Unanswered
from worker.gang_use import with_told_use
from worker.inside import shim_files
from worker.resuming import find_resume
from worker.starts import Starts
from worker.strays import Strays

log = structlog.get_logger()
CLEARINGS, CLEARING_SECONDS = 5, 0.02
"""What was killed is mostly gone by then; else it is looked after once at each look."""


class Reconciler:
    """Safe to kill anywhere: all that it knows is in the rows and in the attempts' folders.

    In memory is only since when an attempt was known and asked to stop, and why its start failed; forgetting
    that costs seconds, and a reason.
    `steady` is a clock that nobody sets, in seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        executor: Executor,
        runtime: Path,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.executor = around(executor, "executor", besides=frozenset({"look", "list_running", "read_end"}))
        self.steady = steady
        self.starts = Starts(cluster, self.executor, runtime)
        self.known_since: dict[int, float] = {}
        self.asked_to_stop: dict[int, float] = {}
        self.handles: dict[int, Handle] = {}
        """Of the attempts that lived at the last look."""
        self.runs: dict[int, Run] = {}
        """The same ones, as the watch over the disks needs them."""
        self.disks = DiskWatch(cluster, self.executor, steady)
        self.ended = 0
        """How many attempts have ended under our eyes."""
        self.not_started: dict[int, NotStarted] = {}
        self.uncleared: set[int] = set()
        """Attempts of which something still runs, whatever was done about it."""
        self.strays = Strays(cluster, self.executor)

    def reconcile(self, held: Held, renew: Callable[[], object] = lambda: None, requeue: bool = False) -> int:
        """How many attempts live. `renew` is called before each, for starting many takes a while.

        Executors are asked for several starts at once, and what they answered is written afterwards.
        """
        living = attempts.list_living(self.cluster)
        now, ids = self.steady(), [attempt.attempt_id for attempt in living]
        self.known_since = {key: self.known_since.get(key, now) for key in ids}
        self.asked_to_stop = {key: self.asked_to_stop[key] for key in ids if key in self.asked_to_stop}
        self.handles, self.runs = {}, {}
        self.not_started = {key: self.not_started[key] for key in ids if key in self.not_started}
        self.uncleared &= set(ids)
        self.go_through(held, living, renew, requeue)
        return len(living)

    def reconcile_new(self, held: Held, attempt_ids: Collection[int], renew: Callable[[], object]) -> int:
        """How many of these live, which were made a moment ago; nobody else is looked at again."""
        living = attempts.list_living(self.cluster, attempt_ids)
        self.known_since |= {attempt.attempt_id: self.steady() for attempt in living}
        self.go_through(held, living, renew)
        return len(living)

    def go_through(
        self, held: Held, living: list[LivingAttempt], renew: Callable[[], object], requeue: bool = False
    ) -> None:
        to_start = []
        for attempt in living:
            renew()
            if self.reconcile_one(held, attempt, requeue):
                to_start.append(attempt)
        for attempt, start in self.starts.begin(held, to_start, renew):
            renew()
            self.finish_start(held, attempt, start)

    def reconcile_one(self, held: Held, attempt: LivingAttempt, requeue: bool = False) -> bool:
        """Whether it is to be started; everything else is done when this returns."""
        folder = self.folder_of(attempt)
        try:
            sight = self.executor.look(folder)
            truth = self.executor.read_end(folder) if sight.seen is Seen.GONE else None
        except CannotTell as silence:
            log.warning("the executor does not answer", code=silence.code, **silence.data)
            return False
        if sight.seen is Seen.ALIVE and sight.handle is not None:
            self.note_living(attempt, sight.handle)
        if sight.why is not None:
            self.not_started[attempt.attempt_id] = sight.why
        if sight.seen is Seen.UNKNOWN:
            # Who does not answer starts nothing either: the time for that begins once somebody does.
            self.known_since[attempt.attempt_id] = self.steady()
        action = decide(self.facts_of(attempt, sight, truth, requeue))
        with structlog.contextvars.bound_contextvars(job=attempt.job_id, attempt=attempt.number):
            self.act(held, attempt, sight, truth, action)
        return isinstance(action, Start)

    def note_living(self, attempt: LivingAttempt, handle: Handle) -> None:
        age = (self.cluster.clock() - attempt.created_at).total_seconds()
        self.handles[attempt.attempt_id] = handle
        self.runs[attempt.attempt_id] = Run(
            attempt.job_id, self.folder_of(attempt), handle, self.steady() - max(0.0, age)
        )

    def folder_of(self, attempt: LivingAttempt) -> Path:
        settings = self.cluster.settings
        return storage.attempt_folder(settings, attempt.workspace_id, attempt.job_id, attempt.number)

    def facts_of(
        self, attempt: LivingAttempt, sight: Sight, truth: ExitTruth | None, requeue: bool
    ) -> AttemptFacts:
        own = NodeFate.SAME_BOOT if sight.is_of_this_boot else NodeFate.REBOOTED
        is_lost = sight.seen is Seen.GONE and truth is None
        problem = self.not_started.get(attempt.attempt_id)
        return AttemptFacts(
            job=attempt.job_id,
            number=attempt.number,
            fence=attempt.fence,
            state=attempt.state,
            desired=attempt.desired,
            seen=sight.seen,
            truth=truth,
            node=gravest((own, attempt.fate)),
            since_placed=self.since(self.known_since.get(attempt.attempt_id)) or timedelta(0),
            since_stop_requested=self.since(self.asked_to_stop.get(attempt.attempt_id)),
            requeue=requeue,
            grace=timedelta(seconds=attempt.grace_seconds),
            nodes=attempt.nodes,
            lost_before=count_lost(self.cluster, attempt.job_id) if is_lost else 0,
            cause=attempt.cause or self.disks.causes.get(attempt.attempt_id),
            shortage=self.disks.cause_of_end(truth.out_bytes) if truth and truth.disk_full else None,
            has_no_room=problem is not None and problem.code == NO_ROOM,
        )

    def since(self, moment: float | None) -> timedelta | None:
        return None if moment is None else timedelta(seconds=self.steady() - moment)

    def act(
        self,
        held: Held,
        attempt: LivingAttempt,
        sight: Sight,
        truth: ExitTruth | None,
        action: Action,
    ) -> None:
        match action:
            case RecordRunning(adopted=adopted) if sight.handle is not None:
                log.info("found running", adopted=adopted)
                attempts.record_running(self.cluster, held, attempt.attempt_id, sight.handle, adopted)
            case RecordEnd(outcome=outcome):
                if self.clear(attempt, truth):
                    self.record_end(held, attempt, outcome, truth)
            case Interrupt(code=code, data=data):
                if self.clear(attempt, truth):
                    self.interrupt(held, attempt, code, data, truth)
            case Forestall(cause=cause):
                self.forestall(held, attempt, cause)
            case Stop(patiently=patiently) if sight.handle is not None:
                if sight.seen is Seen.ALIVE:  # Who may not have heard it has his time once he is seen again.
                    self.asked_to_stop.setdefault(attempt.attempt_id, self.steady())
                self.executor.stop(sight.handle, patiently)
            case ForceStop() if sight.handle is not None:
                log.warning("did not stop in time: ending its whole tree")
                self.executor.force_stop(sight.handle)
            case _:
                pass

    def finish_start(self, held: Held, attempt: LivingAttempt, start: Future[Handle | None]) -> None:
        with structlog.contextvars.bound_contextvars(job=attempt.job_id, attempt=attempt.number):
            try:
                handle = start.result()
            except NotStarted as problem:
                log.warning("not started, tried again later", code=problem.code, **problem.data)
                self.not_started[attempt.attempt_id] = problem
                if isinstance(problem, Unanswered):
                    self.known_since[attempt.attempt_id] = self.steady()
                return
            if handle is None:
                return  # On its way: a later look finds it running.
            self.note_living(attempt, handle)
            attempts.record_running(self.cluster, held, attempt.attempt_id, handle)
            log.info("started", **handle)

    def record_end(
        self, held: Held, attempt: LivingAttempt, outcome: Outcome, truth: ExitTruth | None
    ) -> None:
        resume = self.find_resume(attempt) if attempt.retries_left else None
        if truth and attempt.nodes > 1:
            truth = with_told_use(self.folder_of(attempt), truth)
        attempts.record_end(self.cluster, held, attempt.attempt_id, outcome, truth, resume)
        self.ended += 1
        log.info("ended", code=outcome.code, exit_code=outcome.exit_code)

    def interrupt(
        self, held: Held, attempt: LivingAttempt, code: str, data: dict[str, Any], truth: ExitTruth | None
    ) -> None:
        """Where the shim could not say what was used, its last measurement counts."""
        data |= {"node": attempt.fate_of} if attempt.fate_of else {}
        used = truth or self.read_use(attempt)
        if attempt.nodes > 1:
            used = with_told_use(self.folder_of(attempt), used)
        resume = self.find_resume(attempt)
        attempts.interrupt_attempt(self.cluster, held, attempt.attempt_id, code, data, used, resume)
        self.ended += 1
        log.info("interrupted", code=code, resume=resume.key if resume else None)

    def find_resume(self, attempt: LivingAttempt) -> Resume | None:
        return find_resume(self.cluster.settings, attempt, attempt.number)

    def read_use(self, attempt: LivingAttempt) -> ExitTruth | None:
        content = shim_files.read_plain(str(self.folder_of(attempt) / "control"), "usage.json")
        return None if content is None else parse_use(content)

    def forestall(self, held: Held, attempt: LivingAttempt, cause: str | None) -> None:
        """Where the shim was faster, the next look sees it alive and stops it."""
        try:
            if not self.executor.forestall(self.folder_of(attempt)):
                return
        except OSError as error:
            # Without the marker a late shim could begin: the units stay booked until the disk takes it.
            log.warning("the start cannot be forestalled", error=str(error))
            return
        problem = self.not_started.get(attempt.attempt_id)
        if cause is not None:
            data: dict[str, Any] = {"attempt": attempt.number}
            if problem and cause == START_DEADLINE:
                data["why"] = {"code": problem.code, "data": dict(problem.data)}
            if cause == SHORT:
                data |= self.disks.cause_of_end(None).data
            self.interrupt(held, attempt, cause, data, None)
        else:
            why = {"cause": problem.code, **problem.data} if problem else {}
            outcome = end_of_forestalled(attempt.desired, why)
            attempts.record_end(self.cluster, held, attempt.attempt_id, outcome)
            self.ended += 1

    def clear(self, attempt: LivingAttempt, truth: ExitTruth | None) -> bool:
        """A shim that was killed could not end its tree: before the units are free, we do.

        False: something of it still runs, or nobody can tell, and the units stay booked until the next look.
        """
        folder, has_ended = self.folder_of(attempt), truth is not None and not truth.taken
        try:
            for _ in range(CLEARINGS):
                if (left := self.executor.clear(folder, has_ended, attempt.given_up)) == 0:
                    self.uncleared.discard(attempt.attempt_id)
                    return True
                if has_ended or attempt.attempt_id in self.uncleared:
                    return False  # A kubelet takes its time, or the kernel: nobody else waits for that here.
                time.sleep(CLEARING_SECONDS)
        except CannotTell as silence:
            log.warning("what is left of it cannot be ended yet", code=silence.code, **silence.data)
            return False
        log.warning("what is left of it does not end: its units stay booked", left=left)
        self.uncleared.add(attempt.attempt_id)
        return False
