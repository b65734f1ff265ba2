"""Decide the next action on an attempt from its row and from the state that the executor observes.

The decision is level-triggered: the same facts give the same action, every action can be repeated, and the next pass
corrects the last one. This module keeps no state.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from cluster.domain.jobs.exits import UNREADABLE_RECORD, Disruption, ExitRecord, meaning_of_status
from cluster.domain.states import AttemptState, DesiredState, JobState
from cluster.domain.storage.disk_reserve import EXIT_DISK_FILLED, INTERRUPTED_DISK_FULL, StopCause

RETRY_START_AFTER = timedelta(seconds=10)
GIVE_UP_STARTING_AFTER = timedelta(seconds=60)
"""A start that takes longer fails: a job on one node has failed, and a gang gives its units back and waits again."""
GIVE_UP_PENDING_AFTER = timedelta(minutes=15)
"""The limit for a start that the executor has accepted, because an image of many gigabytes may be downloading."""
FOREIGN_RECORD = "exit.truth_foreign"
START_DEADLINE = "interrupted.start_deadline"
KILL_AFTER = timedelta(seconds=7)
"""The shim ends all processes within 5 s, and a stop must take at most 10 s."""
LONGEST_CHECKPOINT_GRACE = timedelta(seconds=60)
"""The greatest part of a job's grace time that it gets for a checkpoint when the services stop."""
MAX_LOST_SHIMS = 3
"""The number of attempts that may lose their shim. After that the job itself may be the cause."""


class ObservedState(StrEnum):
    """The state of an attempt as its executor sees it."""

    UNKNOWN = "unknown"
    """The node does not answer, so the state cannot be known. The units stay booked."""
    ABSENT = "absent"
    """There is no `started` marker: no shim has begun, and none will without another start."""
    PENDING = "awaited"
    """The executor has accepted the start and no shim has begun: an image is downloading, or a pod waits for its
    node.
    """
    ALIVE = "alive"
    """The shim that wrote the marker is alive."""
    ENDED = "gone"
    """The marker exists, and the shim that wrote it has ended: the attempt is over."""


class NodeFate(StrEnum):
    """The fate of the node since the attempt was placed there."""

    SAME_BOOT = "same_boot"
    REBOOTED = "rebooted"
    UNREACHABLE = "unreachable"
    LOST = "lost"
    """The node was silent for longer than the grace time."""


@dataclass(frozen=True)
class AttemptOutcome:
    """The end as rows keep it: the job's last state, and the code of the reason with its data."""

    state: JobState
    code: str
    data: dict[str, Any]
    exit_code: int | None = None


@dataclass(frozen=True)
class AttemptFacts:
    """The input of the decision. `number` is the attempt's own fence, `fence` the job's current one."""

    job: int
    number: int
    fence: int
    state: AttemptState
    desired: DesiredState
    seen: ObservedState
    exit_record: ExitRecord | None = None
    node: NodeFate = NodeFate.SAME_BOOT
    since_placed: timedelta = timedelta(0)
    """The duration in steady time, so that setting the clock ends nothing."""
    since_stop_requested: timedelta | None = None
    is_requeued: bool = False
    """Whether `make down` ends the attempt, after which the job waits again."""
    grace: timedelta = timedelta(seconds=30)
    """The grace time of the job."""
    nodes: int = 1
    """The number of nodes on which it has units."""
    lost_before: int = 0
    """The number of earlier attempts of the job whose shim disappeared."""
    cause: StopCause | None = None
    """The reason why the attempt is ended although nobody asked for it."""
    disk_full_cause: StopCause | None = None
    """The reason why the attempt ends if its own record says that the disk was full."""
    has_no_room: bool = False
    """The attempt's start failed because the disk was full."""


@dataclass(frozen=True)
class DoNothing:
    """Nothing is to be done: everything is as it should be, or the state is unknown."""


@dataclass(frozen=True)
class StartAttempt:
    """Ask the executor to start the attempt. If the marker exists already, a second shim refuses by itself."""


@dataclass(frozen=True)
class RecordRunning:
    """The shim is alive: write handle and start into the rows, whichever scheduler started it (adoption)."""

    is_adopted: bool = False


@dataclass(frozen=True)
class RecordEnd:
    outcome: AttemptOutcome


@dataclass(frozen=True)
class RecordInterruption:
    """The attempt ended through no fault of the job: the job waits again."""

    code: str
    data: dict[str, Any]


@dataclass(frozen=True)
class PreventStart:
    """Write the `started` marker in the shim's place, so that no late shim can begin; then read the state again.

    `cause` is why the job waits again. None: the attempt has ended.
    """

    cause: str | None = None


@dataclass(frozen=True)
class StopAttempt:
    """Ask the shim to end all processes. The request is repeated until they are gone.

    `with_grace`: the program gets its grace time first, to save a checkpoint.
    """

    with_grace: bool = False


@dataclass(frozen=True)
class KillAttempt:
    """End all processes at once."""


AttemptAction = (
    DoNothing
    | StartAttempt
    | RecordRunning
    | RecordEnd
    | RecordInterruption
    | PreventStart
    | StopAttempt
    | KillAttempt
)


def is_stale(row_fence: int, fence: int) -> bool:
    """Whether a holder of `fence` has been overtaken: it must stop without changing anything."""
    return fence < row_fence


def decide(facts: AttemptFacts) -> AttemptAction:
    """The action to take now. The table is in tests/unit/cluster/domain/jobs/test_attempts.py."""
    if is_stale(facts.fence, facts.number) or facts.state is AttemptState.ENDED:
        return KillAttempt() if facts.seen is ObservedState.ALIVE else DoNothing()
    if facts.seen is ObservedState.UNKNOWN:
        return _decide_unknown(facts)
    if facts.seen is ObservedState.ABSENT:
        return _decide_absent(facts)
    if facts.seen is ObservedState.PENDING:
        return _decide_awaited(facts)
    if facts.seen is ObservedState.ENDED:
        return _decide_gone(facts)
    return _decide_alive(facts)


def _decide_unknown(facts: AttemptFacts) -> AttemptAction:
    """A silent node keeps its attempts until it is lost; then they are fenced before another attempt begins.

    A stop is requested all the same, because the run may receive it although the node does not answer.
    """
    if cause := _CAUSE_OF_FATE.get(facts.node):
        return RecordInterruption(cause, {"attempt": facts.number})
    return StopAttempt() if facts.desired is DesiredState.STOP else DoNothing()


def _decide_absent(facts: AttemptFacts) -> AttemptAction:
    if facts.node is NodeFate.REBOOTED and facts.state is not AttemptState.PLACED:
        # A scheduler that was suspended may be about to start it on the rebooted node.
        return PreventStart("interrupted.node_rebooted")
    if facts.node is NodeFate.LOST:
        return PreventStart("interrupted.node_lost")
    if facts.state is AttemptState.RUNNING:
        return RecordEnd(outcome_without_record(facts.desired))  # Somebody has removed its folder.
    if facts.desired is DesiredState.STOP:
        return PreventStart()
    if facts.is_requeued:
        return PreventStart("interrupted.services_stopped")
    if facts.has_no_room:
        return PreventStart(INTERRUPTED_DISK_FULL)
    if facts.state is AttemptState.PLACED:
        return StartAttempt()
    if facts.since_placed >= GIVE_UP_STARTING_AFTER:
        return PreventStart(START_DEADLINE if facts.nodes > 1 else None)
    return StartAttempt() if facts.since_placed >= RETRY_START_AFTER else DoNothing()


def _decide_awaited(facts: AttemptFacts) -> AttemptAction:
    """The attempt has its units and starts by itself. To take it back, the scheduler makes its start impossible.

    An attempt that had begun before is not a late start: its marker only cannot be read at the moment.
    """
    if facts.node is NodeFate.LOST:
        return PreventStart("interrupted.node_lost")
    if facts.desired is DesiredState.STOP:
        return PreventStart()
    if facts.is_requeued:
        return PreventStart("interrupted.services_stopped")
    if facts.since_placed >= GIVE_UP_PENDING_AFTER and facts.state is not AttemptState.RUNNING:
        return PreventStart(START_DEADLINE if facts.nodes > 1 else None)
    return DoNothing()


def _decide_alive(facts: AttemptFacts) -> AttemptAction:
    waited = facts.since_stop_requested or timedelta(0)
    if facts.desired is DesiredState.STOP:
        return KillAttempt() if waited >= KILL_AFTER else StopAttempt()
    if facts.cause is not None:
        return KillAttempt() if waited >= KILL_AFTER else StopAttempt()
    if facts.is_requeued:
        goodbye = min(facts.grace, LONGEST_CHECKPOINT_GRACE) + KILL_AFTER
        return KillAttempt() if waited >= goodbye else StopAttempt(with_grace=True)
    if facts.state is not AttemptState.RUNNING:
        return RecordRunning(is_adopted=facts.state is AttemptState.PLACED)
    return DoNothing()


def _decide_gone(facts: AttemptFacts) -> AttemptAction:
    """`exit.json` counts only because the shim is gone."""
    if facts.exit_record is not None:
        if facts.exit_record.disruption is not None:
            return _decide_taken(facts, facts.exit_record.disruption)
        truth = record_of_attempt(facts.exit_record, facts.job, facts.number, facts.number)
        ended = outcome_of(truth, facts.desired)
        if action := _decide_without_room(facts, truth, ended):
            return action
        if truth.stopped and facts.desired is DesiredState.RUN:
            by_engine = truth.executor_exit_code is not None and not facts.is_requeued
            code = "interrupted.engine_stopped" if by_engine else "interrupted.services_stopped"
            return RecordInterruption(code, {"attempt": facts.number})
        return RecordEnd(ended)
    if facts.cause is not None and facts.desired is DesiredState.RUN:
        return _end_for(facts.cause, facts)
    cause = _CAUSE_OF_FATE.get(facts.node)
    if cause:
        return RecordInterruption(cause, {"attempt": facts.number})
    if facts.is_requeued:
        return RecordInterruption("interrupted.services_stopped", {"attempt": facts.number})
    if facts.desired is DesiredState.RUN and facts.lost_before < MAX_LOST_SHIMS - 1:
        return RecordInterruption("interrupted.shim_lost", {"attempt": facts.number})
    return RecordEnd(outcome_without_record(facts.desired))


def _decide_without_room(
    facts: AttemptFacts, truth: ExitRecord, ended: AttemptOutcome
) -> AttemptAction | None:
    """Returns None if the full disk is not the cause of the end, if the attempt succeeded, or if it was stopped."""
    if facts.desired is DesiredState.STOP or ended.state is JobState.FINISHED:
        return None
    if facts.cause is not None:
        return _end_for(facts.cause, facts, ended.exit_code)
    if not truth.disk_full or truth.stopped or truth.timed_out or truth.out_of_memory:
        return None
    return _end_for(facts.disk_full_cause or StopCause(INTERRUPTED_DISK_FULL), facts, ended.exit_code)


def _end_for(cause: StopCause, facts: AttemptFacts, exit_code: int | None = None) -> AttemptAction:
    if cause.code.startswith("interrupted."):
        return RecordInterruption(cause.code, {"attempt": facts.number, **cause.data})
    return RecordEnd(AttemptOutcome(JobState.FAILED, cause.code, dict(cause.data), exit_code))


def _decide_taken(facts: AttemptFacts, taken: Disruption) -> AttemptAction:
    """Decides after a disruption (eviction, deletion, lost member): the job gets a new
    attempt if it is still wanted.
    """
    if facts.desired is DesiredState.STOP:
        return RecordEnd(outcome_without_record(facts.desired))
    return RecordInterruption(taken.code, {"attempt": facts.number} | taken.data)


_CAUSE_OF_FATE = {
    NodeFate.LOST: "interrupted.node_lost",
    NodeFate.REBOOTED: "interrupted.node_rebooted",
}


def is_retried(outcome: AttemptOutcome, desired: DesiredState, retries: int, used: int) -> bool:
    """Whether another attempt follows a failed one. None follows a stop, a time limit or a
    disk that the job filled.
    """
    has_failed = outcome.state is JobState.FAILED and outcome.code not in ("exit.timed_out", EXIT_DISK_FILLED)
    return has_failed and desired is DesiredState.RUN and used < retries


def outcome_of(truth: ExitRecord, desired: DesiredState = DesiredState.RUN) -> AttemptOutcome:
    """The outcome by the shim's record, of the first failed rank if there are ranks.

    The launcher's own exit code says only that some rank failed (with Horovod it is always 1), so it counts last.
    """
    exit_code, signal, rank = _first_cause(truth)
    shown = exit_code if signal is None else 128 + signal
    # A job that was ended has no rank that failed: all of them end because they were told to.
    names_rank = rank is not None and not (truth.stopped or truth.timed_out)
    data: dict[str, Any] = {"rank": rank, "ranks": len(truth.ranks)} if names_rank else {}
    if shown is not None:
        data["exit_code"] = shown
    if truth.not_finite:
        data["not_finite"] = truth.not_finite
    if truth.error:
        return AttemptOutcome(_bad_end(desired), truth.error, data, shown)
    if truth.executor_exit_code is not None and _contradicts(truth):
        both = data | {"exit_code": truth.exit_code, "executor_exit_code": truth.executor_exit_code}
        return AttemptOutcome(_bad_end(desired), "exit.executor_disagrees", both, truth.executor_exit_code)
    if truth.stopped:
        return AttemptOutcome(JobState.STOPPED, "exit.stopped", data, shown)
    if truth.timed_out:
        return AttemptOutcome(JobState.FAILED, "exit.timed_out", data, shown)
    if truth.out_of_memory:
        most = {"max_rss_bytes": truth.max_rss_bytes} if truth.max_rss_bytes else {}
        if truth.memory_limit_bytes:
            most["memory_limit_bytes"] = truth.memory_limit_bytes
        return AttemptOutcome(JobState.FAILED, "exit.out_of_memory", data | most, shown)
    code, more = meaning_of_status(exit_code, signal)
    state = JobState.FINISHED if code == "exit.finished" else JobState.FAILED
    if truth.process_limit and state is JobState.FAILED:
        return AttemptOutcome(
            state, "exit.process_limit", data | {"process_limit": truth.process_limit}, shown
        )
    return AttemptOutcome(state, code, data | more, shown)


def outcome_without_record(desired: DesiredState) -> AttemptOutcome:
    """The outcome if the shim is gone without `exit.json`: it was killed, or its disk was full."""
    if desired is DesiredState.STOP:
        return AttemptOutcome(JobState.STOPPED, "exit.stopped", {})
    return AttemptOutcome(JobState.FAILED, "exit.lost", {})


def outcome_never_started(desired: DesiredState, why: dict[str, Any] | None = None) -> AttemptOutcome:
    """The outcome if no shim began although the executor was asked. `why` has the code and
    data of its last refusal.
    """
    if desired is DesiredState.STOP:
        return AttemptOutcome(JobState.STOPPED, "exit.stopped_before_start", {})
    return AttemptOutcome(JobState.FAILED, "exit.not_started", dict(why or {}))


def record_of_attempt(truth: ExitRecord, job: int, attempt: int, fence: int) -> ExitRecord:
    """The record itself, or an error record if the file belongs to another attempt."""
    if truth.error == UNREADABLE_RECORD or truth.is_of(job, attempt, fence):
        return truth
    return replace(ExitRecord(), job=job, attempt=attempt, fence=fence, error=FOREIGN_RECORD)


def _first_cause(truth: ExitRecord) -> tuple[int | None, int | None, int | None]:
    """Exit code, signal and rank of the first failed rank; those of the launcher if no rank
    is known to have failed.
    """
    bad = {rank.rank: rank for rank in truth.ranks if rank.has_failed}
    if not bad:
        return truth.exit_code, truth.signal, None
    first = truth.first_failed_rank
    cause = bad[first] if first is not None and first in bad else bad[min(bad)]
    return cause.exit_code, cause.signal, cause.rank if len(truth.ranks) > 1 else None


def _contradicts(truth: ExitRecord) -> bool:
    """Whether the executor's exit code differs from that of the record. A record without exit code contradicts
    nothing.
    """
    return truth.exit_code is not None and truth.executor_exit_code != truth.exit_code


def _bad_end(desired: DesiredState) -> JobState:
    return JobState.STOPPED if desired is DesiredState.STOP else JobState.FAILED
