"""Every executor keeps the contract: an attempt starts once, is found again, is stopped whole, and its end is
recorded truly."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster.domain.jobs.attempts import ObservedState, outcome_of, record_of_attempt
from cluster.domain.states import JobState
from tests.integration.worker.executors.executor_stages import Stage, end_of, until
from tests.integration.worker.executors.program_actions import Act
from worker.executors.contract import ExecutorUnreachable, NotStarted, StartPlan

LONG = Act(says="ready\n", seconds=600)


def log_of(plan: StartPlan, rank: int = 0) -> bytes:
    path = plan.out / f"rank-{rank}.stdout"
    return path.read_bytes() if path.exists() else b""


def start(stage: Stage, plan: StartPlan):
    """Started, and its program has begun to speak."""
    handle = stage.executor.start(plan)
    until(stage, lambda: b"ready" in log_of(plan), what="the program's first words")
    return handle or stage.executor.read_status(plan.folder).handle


def test_a_program_that_succeeds(stage: Stage) -> None:
    plan = stage.plan(Act(says="hello\n"))
    stage.executor.start(plan)
    truth = end_of(stage, plan)
    assert (truth.exit_code, truth.signal, truth.error) == (0, None, None)
    assert truth.is_of(plan.job, 1, 1)
    assert not (truth.stopped or truth.timed_out or truth.out_of_memory)
    assert [(rank.rank, rank.exit_code) for rank in truth.ranks] == [(0, 0)]
    assert truth.started_at and truth.ended_at and truth.started_at <= truth.ended_at
    assert outcome_of(truth).state is JobState.FINISHED


@pytest.mark.parametrize("exit_code", [1, 3, 127, 137])
def test_an_end_is_told_as_it_was(stage: Stage, exit_code: int) -> None:
    plan = stage.plan(Act(exit_code=exit_code))
    stage.executor.start(plan)
    truth = end_of(stage, plan)
    told = outcome_of(truth)
    assert (truth.exit_code, told.exit_code, told.state) == (exit_code, exit_code, JobState.FAILED)


def test_a_second_start_finds_the_first(stage: Stage) -> None:
    plan = stage.plan(LONG)
    first = start(stage, plan)
    assert stage.executor.start(plan) == first
    assert stage.open_again().start(plan) == first
    assert [run.handle for run in stage.executor.list_running()] == [first]
    assert log_of(plan) == b"ready\n"


def test_starts_at_the_same_moment_are_one(stage: Stage) -> None:
    """Two schedulers, one of them stale: whoever loses gets the winner's handle, or asks again later."""
    plan = stage.plan(LONG)
    executors = [stage.open_again() for _ in range(4)]
    with ThreadPoolExecutor(len(executors)) as pool:
        begun = [pool.submit(executor.start, plan) for executor in executors]
    troubles = [each.exception() for each in begun if each.exception()]
    assert all(isinstance(trouble, NotStarted) for trouble in troubles), troubles
    handle = start(stage, plan)
    assert all(each.result() in (handle, None) for each in begun if not each.exception())
    assert [run.handle for run in stage.executor.list_running()] == [handle]
    assert log_of(plan) == b"ready\n"


def test_a_marker_that_still_has_its_temporary_name_is_a_marker(stage: Stage) -> None:
    """As the moment after its link leaves it, and a death in that moment for ever."""
    plan = stage.plan(LONG)
    handle = start(stage, plan)
    marker = plan.folder / "control" / "started"
    marker.with_name("started.0123456789abcdef.tmp").hardlink_to(marker)
    sight = stage.executor.read_status(plan.folder)
    assert (sight.observed, sight.handle) == (ObservedState.ALIVE, handle)
    assert not stage.executor.prevent_start(plan.folder), "its program runs"


def test_a_start_after_the_end_starts_nothing(stage: Stage) -> None:
    plan = stage.plan(Act(says="once\n"))
    stage.executor.start(plan)
    end_of(stage, plan)
    for executor in (stage.executor, stage.open_again()):
        executor.start(plan)
        assert executor.list_running() == []
    stage.executor.remove_ended_except(())
    stage.executor.start(plan)
    assert end_of(stage, plan).exit_code == 0
    assert log_of(plan) == b"once\n"


def test_a_new_scheduler_adopts_what_runs(stage: Stage) -> None:
    plan = stage.plan(LONG)
    handle = start(stage, plan)
    heir = stage.open_again()
    assert heir.read_status(plan.folder).observed is ObservedState.ALIVE
    assert heir.read_status(plan.folder).handle == handle
    assert [(run.job, run.attempt, run.folder) for run in heir.list_running()] == [(plan.job, 1, plan.folder)]
    heir.stop(heir.list_running()[0].handle)
    assert end_of(stage, plan).stopped


def test_a_forestalled_start_never_begins(stage: Stage) -> None:
    """A stale fence: the scheduler has given the attempt up, and somebody is still about to start it."""
    plan = stage.plan(LONG)
    assert stage.executor.prevent_start(plan.folder)
    assert stage.executor.prevent_start(plan.folder)
    for executor in (stage.executor, stage.open_again()):
        with pytest.raises(NotStarted):
            executor.start(plan)
    assert stage.executor.read_status(plan.folder).observed is ObservedState.ABSENT
    assert stage.executor.list_running() == []
    assert log_of(plan) == b""


def test_what_runs_cannot_be_forestalled(stage: Stage) -> None:
    plan = stage.plan(LONG)
    start(stage, plan)
    assert not stage.executor.prevent_start(plan.folder)
    assert stage.executor.read_status(plan.folder).observed is ObservedState.ALIVE


def test_the_result_of_an_older_attempt_is_not_the_newer_one_s(stage: Stage) -> None:
    plan = stage.plan(Act())
    stage.executor.start(plan)
    late = end_of(stage, plan)
    assert record_of_attempt(late, plan.job, 2, 2).error == "exit.truth_foreign"


def test_it_looks_absent_alive_and_gone(stage: Stage) -> None:
    plan = stage.plan(LONG)
    assert stage.executor.read_status(plan.folder).observed is ObservedState.ABSENT
    handle = start(stage, plan)
    sight = stage.executor.read_status(plan.folder)
    assert (sight.observed, sight.handle, sight.is_of_this_boot) == (ObservedState.ALIVE, handle, True)
    stage.executor.stop(handle)
    end_of(stage, plan)
    assert stage.executor.list_running() == []


def test_running_ones_are_listed_with_their_names(stage: Stage) -> None:
    plans = [stage.plan(LONG) for _ in range(3)]
    for plan in plans:
        start(stage, plan)
    found = {(run.job, run.attempt, run.folder) for run in stage.executor.list_running()}
    assert found == {(plan.job, 1, plan.folder) for plan in plans}


def test_one_that_is_stopped_leaves_the_others_alone(stage: Stage) -> None:
    stopped, other = stage.plan(LONG), stage.plan(LONG)
    handle = start(stage, stopped)
    start(stage, other)
    stage.executor.kill(handle)
    end_of(stage, stopped)
    assert stage.executor.read_status(other.folder).observed is ObservedState.ALIVE
    assert [run.job for run in stage.executor.list_running()] == [other.job]


def test_the_time_limit_ends_it(stage: Stage) -> None:
    plan = stage.plan(LONG, time_limit_seconds=1)
    stage.executor.start(plan)
    truth = end_of(stage, plan)
    assert truth.timed_out and not truth.stopped


def test_a_stop_lets_the_program_say_goodbye(stage: Stage) -> None:
    plan = stage.plan(Act(says="ready\n", seconds=600, last_words="saved\n"))
    handle = start(stage, plan)
    stage.executor.stop(handle)
    stage.executor.stop(handle)
    assert end_of(stage, plan).stopped
    assert log_of(plan) == b"ready\nsaved\n"


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_who_does_not_listen_is_ended_within_ten_seconds(stage: Stage, how: str) -> None:
    plan = stage.plan(Act(says="ready\n", seconds=600, ignores_stop=True))
    handle = start(stage, plan)
    began = stage.now()
    getattr(stage.executor, how)(handle)
    truth = end_of(stage, plan)
    assert stage.now() - began < 10
    assert truth.stopped
    assert outcome_of(truth).state is JobState.STOPPED


def test_a_lost_shim_leaves_no_result_and_nothing_behind(stage: Stage) -> None:
    plan = stage.plan(LONG)
    handle = start(stage, plan)
    stage.lose_shim(plan, handle)
    until(stage, lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ENDED)
    assert stage.executor.read_exit_record(plan.folder) is None
    until(stage, lambda: stage.executor.end_leftovers(plan.folder) == 0)
    assert stage.executor.list_running() == []


def test_a_result_that_the_program_wrote_itself_does_not_count(stage: Stage) -> None:
    plan = stage.plan(Act(says="forging\n", exit_code=7, forges=True))
    stage.executor.start(plan)
    until(stage, lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ENDED)
    truth = stage.executor.read_exit_record(plan.folder)
    assert truth is not None and outcome_of(truth).state is JobState.FAILED


def test_every_byte_of_a_log_arrives_once(stage: Stage) -> None:
    said = "".join(f"{number} ä\r{'x' * (number % 97)}\n" for number in range(500)) + "no newline"
    plan = stage.plan(Act(says=said))
    stage.executor.start(plan)
    end_of(stage, plan)
    assert log_of(plan) == said.encode()
    assert (plan.out / "rank-0.stderr").read_bytes() == b""


def test_who_cannot_be_asked_says_that_he_cannot_tell(stage: Stage) -> None:
    """Never that it is gone: the units stay booked."""
    plan = stage.plan(LONG)
    start(stage, plan)
    executor = stage.silent(plan)
    if executor is None:
        pytest.skip("nobody stands between us and this executor who could be silent")
    assert executor.read_status(plan.folder).observed is ObservedState.UNKNOWN
    try:
        assert executor.list_running() == [] or executor is stage.executor
    except ExecutorUnreachable as silence:
        assert silence.code
    late = stage.plan(LONG)
    with pytest.raises(NotStarted):
        executor.start(late)


def test_what_ended_runs_left_is_forgotten_and_their_results_are_not(stage: Stage) -> None:
    ended, alive = stage.plan(Act(exit_code=3)), stage.plan(LONG)
    stage.executor.start(ended)
    start(stage, alive)
    end_of(stage, ended)
    for known in ([(ended.job, 1), (alive.job, 1)], [(alive.job, 1)], []):
        stage.executor.remove_ended_except(known)
        assert stage.executor.read_status(ended.folder).observed is ObservedState.ENDED
        assert stage.executor.read_status(alive.folder).observed is ObservedState.ALIVE
    truth = stage.executor.read_exit_record(ended.folder)
    assert truth is not None and truth.exit_code == 3
