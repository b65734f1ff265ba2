"""The reconciler's decision, as a table: row state, wish, what the executor sees, fate of the node."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cluster.domain.jobs import attempts
from cluster.domain.jobs.attempts import (
    AttemptFacts,
    AttemptOutcome,
    DoNothing,
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
from cluster.domain.jobs.exits import Disruption, ExitRecord
from cluster.domain.states import AttemptState, DesiredState, JobState
from cluster.domain.storage.disk_reserve import EXIT_DISK_FILLED, INTERRUPTED_DISK_FULL, StopCause

SECONDS = timedelta(seconds=1)
GOOD = ExitRecord(job=7, attempt=2, fence=2, exit_code=0)
BAD = replace(GOOD, exit_code=1)
STOPPED = replace(GOOD, exit_code=143, signal=15, stopped=True)

TABLE = """
placed   run  absent  same_boot    start
placed   run  absent  rebooted     start
placed   run  alive   same_boot    running
placed   run  gone    same_boot    interrupt:shim_lost
placed   run  unknown unreachable  nothing
placed   run  unknown lost         interrupt:node_lost
placed   run  unknown rebooted     interrupt:node_rebooted
placed   run  absent  unreachable  start
running  run  alive   lost         nothing
running  run  gone    lost         interrupt:node_lost
placed   stop absent  same_boot    forestall
placed   stop alive   same_boot    stop
starting run  absent  same_boot    nothing
starting run  absent  rebooted     forestall:node_rebooted
starting run  alive   same_boot    running
starting run  gone    same_boot    interrupt:shim_lost
starting run  gone    rebooted     interrupt:node_rebooted
starting run  unknown unreachable  nothing
starting stop absent  same_boot    forestall
starting stop alive   same_boot    stop
starting stop gone    same_boot    end:stopped:exit.stopped
running  run  absent  same_boot    end:failed:exit.lost
running  run  absent  rebooted     forestall:node_rebooted
running  run  alive   same_boot    nothing
running  run  gone    same_boot    interrupt:shim_lost
running  run  gone    rebooted     interrupt:node_rebooted
running  run  unknown unreachable  nothing
running  run  unknown same_boot    nothing
running  run  unknown lost         interrupt:node_lost
running  stop absent  same_boot    end:stopped:exit.stopped
running  stop alive   same_boot    stop
running  stop gone    same_boot    end:stopped:exit.stopped
running  stop unknown unreachable  stop
running  stop unknown lost         interrupt:node_lost
placed   run  awaited same_boot    nothing
starting run  awaited same_boot    nothing
starting run  awaited rebooted     nothing
starting run  awaited unreachable  nothing
starting run  awaited lost         forestall:node_lost
starting stop awaited same_boot    forestall
ended    run  awaited same_boot    nothing
ended    run  absent  same_boot    nothing
ended    run  alive   same_boot    force
ended    stop gone    same_boot    nothing
ended    run  unknown lost         nothing
"""


def facts(state: str = "running", desired: str = "run", seen: str = "alive", **more: object) -> AttemptFacts:
    return AttemptFacts(
        job=7,
        number=2,
        fence=2,
        state=AttemptState(state),
        desired=DesiredState(desired),
        seen=ObservedState(seen),
        **more,  # type: ignore[arg-type]
    )


def told(action: attempts.AttemptAction) -> str:
    """The action as the table writes it."""
    if isinstance(action, RecordEnd):
        return f"end:{action.outcome.state}:{action.outcome.code}"
    if isinstance(action, RecordInterruption):
        return action.code.replace("interrupted.", "interrupt:")
    if isinstance(action, PreventStart) and action.cause:
        return action.cause.replace("interrupted.", "forestall:")
    names = {
        StartAttempt: "start",
        RecordRunning: "running",
        PreventStart: "forestall",
        StopAttempt: "stop",
        KillAttempt: "force",
    }
    return names.get(type(action), "nothing")


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_without_an_exit_file(line: str) -> None:
    state, desired, seen, node, expected = line.split()
    assert told(decide(facts(state, desired, seen, node=NodeFate(node)))) == expected


@pytest.mark.parametrize("state", ["placed", "starting", "running"])
@pytest.mark.parametrize("node", [NodeFate.SAME_BOOT, NodeFate.REBOOTED])
@pytest.mark.parametrize(
    ("desired", "truth", "expected"),
    [
        ("run", GOOD, "end:finished:exit.finished"),
        ("run", BAD, "end:failed:exit.error"),
        ("run", STOPPED, "interrupt:services_stopped"),
        ("stop", STOPPED, "end:stopped:exit.stopped"),
        ("stop", GOOD, "end:finished:exit.finished"),
        ("run", replace(GOOD, fence=1), "end:failed:exit.truth_foreign"),
        ("run", replace(GOOD, job=8), "end:failed:exit.truth_foreign"),
        ("run", ExitRecord(error="exit.truth_unreadable"), "end:failed:exit.truth_unreadable"),
        ("stop", ExitRecord(error="exit.truth_unreadable"), "end:stopped:exit.truth_unreadable"),
    ],
)
def test_the_exit_file_of_a_shim_that_is_gone(
    state: str, node: NodeFate, desired: str, truth: ExitRecord, expected: str
) -> None:
    assert told(decide(facts(state, desired, "gone", node=node, exit_record=truth))) == expected


def test_a_job_whose_shim_disappears_each_time_is_given_up() -> None:
    often_interrupted = replace(facts(seen="gone"), number=9, fence=9, lost_before=1)
    assert told(decide(often_interrupted)) == "interrupt:shim_lost"
    third = replace(often_interrupted, lost_before=2)
    assert told(decide(third)) == "end:failed:exit.lost"


@pytest.mark.parametrize(
    ("desired", "expected"), [("run", "kubernetes.evicted"), ("stop", "end:stopped:exit.stopped")]
)
def test_what_others_have_taken_away_is_tried_again_unless_it_was_to_stop(
    desired: str, expected: str
) -> None:
    """Whatever its file says: it was written while the ground went."""
    taken = replace(BAD, disruption=Disruption("kubernetes.evicted", {"node": "gpu01"}))
    action = decide(facts("running", desired, "gone", exit_record=taken))
    assert told(action) == expected
    if isinstance(action, RecordInterruption):
        assert action.data == {"attempt": 2, "node": "gpu01"}


@pytest.mark.parametrize(
    ("minutes", "nodes", "expected"),
    [(14, 1, "nothing"), (15, 1, "forestall"), (15, 2, "forestall:start_deadline")],
)
def test_what_is_on_its_way_is_awaited_for_a_quarter_of_an_hour(
    minutes: int, nodes: int, expected: str
) -> None:
    awaited = facts("starting", seen="awaited", since_placed=timedelta(minutes=minutes), nodes=nodes)
    assert told(decide(awaited)) == expected


def test_what_had_begun_is_not_given_up_for_a_marker_that_cannot_be_read() -> None:
    awaited = facts("running", seen="awaited", since_placed=timedelta(hours=9))
    assert told(decide(awaited)) == "nothing"
    assert told(decide(replace(awaited, desired=DesiredState.STOP))) == "forestall"


def test_an_exit_file_does_not_count_while_the_shim_lives() -> None:
    assert decide(facts(exit_record=GOOD)) == DoNothing()


@pytest.mark.parametrize("seen", list(ObservedState))
def test_a_stale_attempt_changes_no_row_and_may_not_live(seen: ObservedState) -> None:
    stale = replace(facts(), fence=3, seen=seen, exit_record=GOOD, node=NodeFate.LOST)
    assert decide(stale) == (KillAttempt() if seen is ObservedState.ALIVE else DoNothing())


@pytest.mark.parametrize(
    ("since", "expected"),
    [(0, DoNothing()), (9, DoNothing()), (10, StartAttempt()), (59, StartAttempt()), (60, PreventStart())],
)
def test_a_start_that_nobody_answers_is_repeated_then_given_up(since: int, expected: object) -> None:
    assert decide(facts("starting", seen="absent", since_placed=since * SECONDS)) == expected


@pytest.mark.parametrize(
    ("since", "expected"), [(None, StopAttempt()), (0, StopAttempt()), (6, StopAttempt()), (7, KillAttempt())]
)
def test_a_stop_becomes_a_forced_one_before_ten_seconds(since: int | None, expected: object) -> None:
    waited = None if since is None else since * SECONDS
    assert decide(facts(desired="stop", since_stop_requested=waited)) == expected


@pytest.mark.parametrize(
    ("seen", "truth", "expected"),
    [
        ("absent", None, "forestall:services_stopped"),
        ("alive", None, "stop"),
        ("gone", STOPPED, "interrupt:services_stopped"),
        ("gone", GOOD, "end:finished:exit.finished"),
        ("gone", None, "interrupt:services_stopped"),
    ],
)
def test_make_down_lets_the_job_wait_again(seen: str, truth: ExitRecord | None, expected: str) -> None:
    assert told(decide(facts("starting", seen=seen, exit_record=truth, is_requeued=True))) == expected


def test_a_living_attempt_that_was_only_placed_is_adopted() -> None:
    assert decide(facts("placed")) == RecordRunning(is_adopted=True)
    assert decide(facts("starting")) == RecordRunning(is_adopted=False)


@pytest.mark.parametrize(("row", "own", "is_stale"), [(2, 2, False), (3, 2, True), (2, 3, False)])
def test_stale_is_who_has_been_overtaken(row: int, own: int, is_stale: bool) -> None:
    assert attempts.is_stale(row, own) is is_stale


def test_a_prevented_start_ends_as_was_desired() -> None:
    assert outcome_never_started(DesiredState.STOP).state is JobState.STOPPED
    assert outcome_never_started(DesiredState.RUN).code == "exit.not_started"


@pytest.mark.parametrize(
    ("outcome", "desired", "used", "expected"),
    [
        (AttemptOutcome(JobState.FAILED, "exit.error", {}, 1), "run", 0, True),
        (AttemptOutcome(JobState.FAILED, "exit.error", {}, 1), "run", 1, True),
        (AttemptOutcome(JobState.FAILED, "exit.error", {}, 1), "run", 2, False),
        (AttemptOutcome(JobState.FAILED, "exit.error", {}, 1), "stop", 0, False),
        (AttemptOutcome(JobState.FAILED, "exit.timed_out", {}), "run", 0, False),
        (AttemptOutcome(JobState.FAILED, EXIT_DISK_FILLED, {}), "run", 0, False),
        (AttemptOutcome(JobState.STOPPED, "exit.stopped", {}), "run", 0, False),
        (AttemptOutcome(JobState.FINISHED, "exit.finished", {}, 0), "run", 0, False),
    ],
)
def test_a_failed_attempt_is_followed_by_another_until_the_tries_are_used_up(
    outcome: AttemptOutcome, desired: str, used: int, expected: bool
) -> None:
    assert attempts.is_retried(outcome, DesiredState(desired), retries=2, used=used) is expected


def test_a_gang_that_does_not_start_in_time_waits_again() -> None:
    gang = replace(facts("starting", seen="absent", since_placed=60 * SECONDS), nodes=2)
    assert decide(gang) == PreventStart("interrupted.start_deadline")
    assert decide(replace(gang, since_placed=59 * SECONDS)) == StartAttempt()
    assert decide(replace(gang, nodes=1)) == PreventStart()


def test_what_never_began_on_a_lost_node_cannot_begin_late() -> None:
    for state in ("placed", "starting", "running"):
        found = facts(state, seen="absent", node=NodeFate.LOST)
        assert decide(found) == PreventStart("interrupted.node_lost")


@pytest.mark.parametrize(
    ("grace", "waited", "expected"),
    [
        (1, 0, StopAttempt(True)),
        (1, 8, KillAttempt()),
        (30, 36, StopAttempt(True)),
        (600, 66, StopAttempt(True)),
        (600, 67, KillAttempt()),
    ],
)
def test_services_that_stop_wait_for_a_checkpoint_but_not_for_ever(
    grace: int, waited: int, expected: object
) -> None:
    leaving = facts(is_requeued=True, grace=grace * SECONDS, since_stop_requested=waited * SECONDS)
    assert decide(leaving) == expected


WITHOUT_ROOM = replace(BAD, disk_full=True)
FILLER = StopCause(EXIT_DISK_FILLED, {"mount": "/data", "bytes": 5 << 30})
BYSTANDER = StopCause(INTERRUPTED_DISK_FULL, {"mount": "/data"})


@pytest.mark.parametrize(
    ("desired", "truth", "cause", "shortage", "expected"),
    [
        ("run", WITHOUT_ROOM, None, BYSTANDER, "interrupt:disk_full"),
        ("run", replace(WITHOUT_ROOM, error="exit.not_started"), None, BYSTANDER, "interrupt:disk_full"),
        ("run", WITHOUT_ROOM, None, FILLER, "end:failed:exit.disk_filled"),
        ("run", replace(GOOD, disk_full=True), None, BYSTANDER, "end:finished:exit.finished"),
        ("run", replace(WITHOUT_ROOM, timed_out=True), None, BYSTANDER, "end:failed:exit.timed_out"),
        ("run", replace(STOPPED, disk_full=True), None, BYSTANDER, "interrupt:services_stopped"),
        ("stop", replace(STOPPED, disk_full=True), None, BYSTANDER, "end:stopped:exit.stopped"),
        ("run", STOPPED, FILLER, None, "end:failed:exit.disk_filled"),
        ("run", STOPPED, BYSTANDER, None, "interrupt:disk_full"),
        ("run", GOOD, FILLER, None, "end:finished:exit.finished"),
        ("stop", STOPPED, FILLER, None, "end:stopped:exit.stopped"),
        ("run", None, FILLER, None, "end:failed:exit.disk_filled"),
        ("run", None, BYSTANDER, None, "interrupt:disk_full"),
        ("stop", None, FILLER, None, "end:stopped:exit.stopped"),
    ],
)
def test_who_filled_the_disk_fails_and_who_could_not_write_is_tried_again(
    desired: str, truth: ExitRecord | None, cause: StopCause | None, shortage: StopCause | None, expected: str
) -> None:
    ended = facts("running", desired, "gone", exit_record=truth, cause=cause, disk_full_cause=shortage)
    assert told(decide(ended)) == expected


def test_what_fills_the_disk_is_ended_like_a_stop() -> None:
    writing = facts(cause=FILLER)
    assert decide(writing) == StopAttempt()
    assert decide(replace(writing, since_stop_requested=7 * SECONDS)) == KillAttempt()


def test_a_start_for_which_the_disk_had_no_room_waits_again_at_once() -> None:
    refused = facts("starting", seen="absent", has_no_room=True)
    assert told(decide(refused)) == "forestall:disk_full"
    assert told(decide(replace(refused, desired=DesiredState.STOP))) == "forestall"
