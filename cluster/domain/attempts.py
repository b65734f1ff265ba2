"""What to do with an attempt: from what its row says and what the executor sees, one action (design §4).

Level-triggered: the same facts give the same action, every action is safe to repeat, and the next look
corrects the last one. Nothing here remembers anything.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from cluster.domain.disks import FILLED, SHORT, Cause
from cluster.domain.exits import ExitTruth, Outcome, Taken, never_started, of_attempt, outcome, without_truth
from cluster.domain.states import AttemptState, Desired, JobState

START_AGAIN_AFTER = timedelta(seconds=10)
GIVE_UP_STARTING_AFTER = timedelta(seconds=60)
"""A job on one node then counts as failed; a gang gives its units back and waits again."""
GIVE_UP_AWAITING_AFTER = timedelta(minutes=15)
"""For what the executor has taken up: an image of many gigabytes may be on its way."""
START_DEADLINE = "interrupted.start_deadline"
FORCE_STOP_AFTER = timedelta(seconds=7)
"""The shim ends the tree politely in 5 s; a stop is promised within 10 s."""
LONGEST_GOODBYE = timedelta(seconds=60)
"""What a job may take of its grace time to save a checkpoint when the services stop."""
MOST_LOST = 3
"""As often a job is tried whose shim disappears: then the job itself may be what makes it disappear."""


class Seen(StrEnum):
    """What the executor sees of an attempt."""

    UNKNOWN = "unknown"
    """It cannot tell: the node does not answer. The units stay booked."""
    ABSENT = "absent"
    """No `started` marker: no shim has begun, or ever will without being asked again."""
    AWAITED = "awaited"
    """The executor has taken it up, and no shim has begun: an image is brought, a place is waited for."""
    ALIVE = "alive"
    """The shim that wrote the marker lives."""
    GONE = "gone"
    """The marker is there and its shim is not: it is over."""


class NodeFate(StrEnum):
    """What became of the node since the attempt was placed."""

    SAME_BOOT = "same_boot"
    REBOOTED = "rebooted"
    UNREACHABLE = "unreachable"
    LOST = "lost"
    """Silent for longer than the grace time."""


@dataclass(frozen=True)
class AttemptFacts:
    """All that the decision looks at. `number` is the attempt's own fence, `fence` the job's now."""

    job: int
    number: int
    fence: int
    state: AttemptState
    desired: Desired
    seen: Seen
    truth: ExitTruth | None = None
    node: NodeFate = NodeFate.SAME_BOOT
    since_placed: timedelta = timedelta(0)
    """In steady time: a clock that is set ends nothing."""
    since_stop_requested: timedelta | None = None
    requeue: bool = False
    """`make down`: end it and let the job wait again."""
    grace: timedelta = timedelta(seconds=30)
    """The job's own time to end politely."""
    nodes: int = 1
    """How many nodes its units are on."""
    lost_before: int = 0
    """Earlier attempts of the job whose shim had disappeared."""
    cause: Cause | None = None
    """Why it is ended although nobody asked for it."""
    shortage: Cause | None = None
    """Why it ends where its own record says that the disk was full."""
    has_no_room: bool = False
    """Whether its start failed because the disk was full."""


@dataclass(frozen=True)
class Nothing:
    """All is as it should be, or nobody can know."""


@dataclass(frozen=True)
class Start:
    """Ask the executor; where the marker already stands, the second shim refuses by itself."""


@dataclass(frozen=True)
class RecordRunning:
    """Its shim lives: write handle and start into the rows, whoever started it (adoption)."""

    adopted: bool = False


@dataclass(frozen=True)
class RecordEnd:
    outcome: Outcome


@dataclass(frozen=True)
class Interrupt:
    """It ended for no fault of the job: the job waits again."""

    code: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Forestall:
    """Write the `started` marker in the shim's place, so that no late shim can begin; then look again.

    `cause` is why the job waits again; None: it has ended by that.
    """

    cause: str | None = None


@dataclass(frozen=True)
class Stop:
    """Ask the shim to end its tree; repeated until it is gone.

    `patiently`: the program has its grace time, to save a checkpoint.
    """

    patiently: bool = False


@dataclass(frozen=True)
class ForceStop:
    """End the whole tree at once."""


Action = Nothing | Start | RecordRunning | RecordEnd | Interrupt | Forestall | Stop | ForceStop


def is_stale(row_fence: int, fence: int) -> bool:
    """Whether a holder of `fence` has been overtaken: it must stop without changing anything."""
    return fence < row_fence


def decide(facts: AttemptFacts) -> Action:
    """The one thing to do now; see the table in tests/unit/domain/test_attempts.py."""
    if is_stale(facts.fence, facts.number) or facts.state is AttemptState.ENDED:
        return ForceStop() if facts.seen is Seen.ALIVE else Nothing()
    if facts.seen is Seen.UNKNOWN:
        return _decide_unknown(facts)
    if facts.seen is Seen.ABSENT:
        return _decide_absent(facts)
    if facts.seen is Seen.AWAITED:
        return _decide_awaited(facts)
    if facts.seen is Seen.GONE:
        return _decide_gone(facts)
    return _decide_alive(facts)


def _decide_unknown(facts: AttemptFacts) -> Action:
    """A silent node keeps its attempts until it is given up; then they are fenced before another begins.

    A stop is told all the same: who hears it ends, also where nobody can be asked whether he has.
    """
    if cause := _CAUSE_OF_FATE.get(facts.node):
        return Interrupt(cause, {"attempt": facts.number})
    return Stop() if facts.desired is Desired.STOP else Nothing()


def _decide_absent(facts: AttemptFacts) -> Action:
    if facts.node is NodeFate.REBOOTED and facts.state is not AttemptState.PLACED:
        # A scheduler that stood still meanwhile may be about to start it, on the node as it is now.
        return Forestall("interrupted.node_rebooted")
    if facts.node is NodeFate.LOST:
        return Forestall("interrupted.node_lost")
    if facts.state is AttemptState.RUNNING:
        return RecordEnd(without_truth(facts.desired))  # Somebody removed its folder.
    if facts.desired is Desired.STOP:
        return Forestall()
    if facts.requeue:
        return Forestall("interrupted.services_stopped")
    if facts.has_no_room:
        return Forestall(SHORT)
    if facts.state is AttemptState.PLACED:
        return Start()
    if facts.since_placed >= GIVE_UP_STARTING_AFTER:
        return Forestall(START_DEADLINE if facts.nodes > 1 else None)
    return Start() if facts.since_placed >= START_AGAIN_AFTER else Nothing()


def _decide_awaited(facts: AttemptFacts) -> Action:
    """It has its units and comes by itself; to take it back is to make its start impossible.

    One that had begun already is none that comes late: its marker cannot be read just now.
    """
    if facts.node is NodeFate.LOST:
        return Forestall("interrupted.node_lost")
    if facts.desired is Desired.STOP:
        return Forestall()
    if facts.requeue:
        return Forestall("interrupted.services_stopped")
    if facts.since_placed >= GIVE_UP_AWAITING_AFTER and facts.state is not AttemptState.RUNNING:
        return Forestall(START_DEADLINE if facts.nodes > 1 else None)
    return Nothing()


def _decide_alive(facts: AttemptFacts) -> Action:
    waited = facts.since_stop_requested or timedelta(0)
    if facts.desired is Desired.STOP:
        return ForceStop() if waited >= FORCE_STOP_AFTER else Stop()
    if facts.cause is not None:
        return ForceStop() if waited >= FORCE_STOP_AFTER else Stop()
    if facts.requeue:
        goodbye = min(facts.grace, LONGEST_GOODBYE) + FORCE_STOP_AFTER
        return ForceStop() if waited >= goodbye else Stop(patiently=True)
    if facts.state is not AttemptState.RUNNING:
        return RecordRunning(adopted=facts.state is AttemptState.PLACED)
    return Nothing()


def _decide_gone(facts: AttemptFacts) -> Action:
    """`exit.json` counts only now that the shim is gone."""
    if facts.truth is not None:
        if facts.truth.taken is not None:
            return _decide_taken(facts, facts.truth.taken)
        truth = of_attempt(facts.truth, facts.job, facts.number, facts.number)
        ended = outcome(truth, facts.desired)
        if action := _decide_without_room(facts, truth, ended):
            return action
        if truth.stopped and facts.desired is Desired.RUN:
            by_engine = truth.executor_exit_code is not None and not facts.requeue
            code = "interrupted.engine_stopped" if by_engine else "interrupted.services_stopped"
            return Interrupt(code, {"attempt": facts.number})
        return RecordEnd(ended)
    if facts.cause is not None and facts.desired is Desired.RUN:
        return _end_for(facts.cause, facts)
    cause = _CAUSE_OF_FATE.get(facts.node)
    if cause:
        return Interrupt(cause, {"attempt": facts.number})
    if facts.requeue:
        return Interrupt("interrupted.services_stopped", {"attempt": facts.number})
    if facts.desired is Desired.RUN and facts.lost_before < MOST_LOST - 1:
        return Interrupt("interrupted.shim_lost", {"attempt": facts.number})
    return RecordEnd(without_truth(facts.desired))


def _decide_without_room(facts: AttemptFacts, truth: ExitTruth, ended: Outcome) -> Action | None:
    """None where the disk has nothing to do with its end, or where it ended well or was stopped all the same."""
    if facts.desired is Desired.STOP or ended.state is JobState.FINISHED:
        return None
    if facts.cause is not None:
        return _end_for(facts.cause, facts, ended.exit_code)
    if not truth.disk_full or truth.stopped or truth.timed_out or truth.out_of_memory:
        return None
    return _end_for(facts.shortage or Cause(SHORT), facts, ended.exit_code)


def _end_for(cause: Cause, facts: AttemptFacts, exit_code: int | None = None) -> Action:
    if cause.code.startswith("interrupted."):
        return Interrupt(cause.code, {"attempt": facts.number, **cause.data})
    return RecordEnd(Outcome(JobState.FAILED, cause.code, dict(cause.data), exit_code))


def _decide_taken(facts: AttemptFacts, taken: Taken) -> Action:
    """An eviction, a deletion by hand, a member that is no more: the whole is tried again, where it is still wanted."""
    if facts.desired is Desired.STOP:
        return RecordEnd(without_truth(facts.desired))
    return Interrupt(taken.code, {"attempt": facts.number} | taken.data)


_CAUSE_OF_FATE = {
    NodeFate.LOST: "interrupted.node_lost",
    NodeFate.REBOOTED: "interrupted.node_rebooted",
}


def is_tried_again(outcome: Outcome, desired: Desired, retries: int, used: int) -> bool:
    """Whether a failed attempt is followed by another. A stop wins; none follows a time limit or a filled disk."""
    has_failed = outcome.state is JobState.FAILED and outcome.code not in ("exit.timed_out", FILLED)
    return has_failed and desired is Desired.RUN and used < retries


def end_of_forestalled(desired: Desired, why: dict[str, Any] | None = None) -> Outcome:
    """What to record once the marker was written in the shim's place."""
    return never_started(desired, why)
