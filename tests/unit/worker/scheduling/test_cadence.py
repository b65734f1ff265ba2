"""When passes run and when periodic work is due; all times are given."""

from dataclasses import replace

import pytest

from worker.scheduling.cadence import (
    BUSY_SECONDS,
    FIRST_AFTER_PERIOD,
    IDLE_SECONDS,
    NEVER,
    PERIODS,
    Cadence,
    PeriodicWork,
)

START = 1000.0


def after_a_pass(took: float, is_woken: bool, has_changed: bool) -> Cadence:
    """One that began at START."""
    cadence = Cadence.at_start(0.0).end_wait(is_woken).begin_pass(START)
    return (cadence.note_change() if has_changed else cadence).end_pass(START + took)


@pytest.mark.parametrize(
    ("took", "is_woken", "has_changed", "not_before"),
    [
        (0.001, False, False, NEVER),  # Its time had come: the next event is answered at once.
        (0.001, False, True, NEVER),
        (0.001, True, True, NEVER),  # The event was worth it.
        (0.001, True, False, START + 0.05),  # In vain: a short rest,
        (0.03, True, False, START + 0.09),  # three times as long as the pass,
        (0.0625, True, False, START + 0.1875),
        (5.0, True, False, START + BUSY_SECONDS),  # and never longer than between two passes of a busy time.
    ],
)
def test_a_pass_that_an_event_caused_in_vain_is_followed_by_a_rest(
    took: float, is_woken: bool, has_changed: bool, not_before: float
) -> None:
    assert after_a_pass(took, is_woken, has_changed).next_pass_not_before == pytest.approx(not_before)


@pytest.mark.parametrize(("has_live_attempts", "seconds"), [(True, BUSY_SECONDS), (False, IDLE_SECONDS)])
def test_the_wait_for_an_event_is_shorter_while_attempts_live(
    has_live_attempts: bool, seconds: float
) -> None:
    assert Cadence.at_start(START).wait_seconds(has_live_attempts) == seconds
    assert 0 < BUSY_SECONDS < IDLE_SECONDS


def test_a_new_pass_has_changed_nothing_yet() -> None:
    worth_it = after_a_pass(0.01, is_woken=True, has_changed=True)
    assert worth_it.begin_pass(START + 1).has_changed is False


def test_the_slowest_pass_is_known_until_it_is_forgotten() -> None:
    cadence = Cadence.at_start(START)
    for began, took in ((START, 0.5), (START + 10, 2.0), (START + 20, 0.25)):
        cadence = cadence.begin_pass(began).end_pass(began + took)
    assert (cadence.pass_seconds, cadence.slowest_pass_seconds) == (0.25, 2.0)
    assert cadence.forget_slowest_pass().slowest_pass_seconds == 0.0
    assert cadence.forget_slowest_pass().pass_seconds == 0.25


@pytest.mark.parametrize("work", PeriodicWork)
def test_work_is_due_once_its_period_is_over(work: PeriodicWork) -> None:
    period = PERIODS[work]
    cadence = Cadence.at_start(START)
    assert cadence.is_due(work, START) is (work not in FIRST_AFTER_PERIOD)
    assert cadence.is_due(work, START + period)
    begun = cadence.begin_work(work, START + 7.0)
    assert not begun.is_due(work, START + 7.0 + 0.9 * period)
    assert begun.is_due(work, START + 7.0 + period)


def test_the_begin_of_one_work_postpones_no_other() -> None:
    cadence = Cadence.at_start(START).begin_work(PeriodicWork.EXPIRY, START)
    assert not cadence.is_due(PeriodicWork.EXPIRY, START)
    assert cadence.is_due(PeriodicWork.ORPHAN_RUNS, START)


def test_work_that_is_made_due_is_due_at_once() -> None:
    cadence = Cadence.at_start(START).begin_work(PeriodicWork.NOTEBOOKS, START)
    assert not cadence.is_due(PeriodicWork.NOTEBOOKS, START)
    assert cadence.make_due(PeriodicWork.NOTEBOOKS).is_due(PeriodicWork.NOTEBOOKS, START)


def test_a_transition_leaves_the_former_value_as_it_was() -> None:
    cadence = Cadence.at_start(START)
    before = replace(cadence, work_began=dict(cadence.work_began))
    cadence.begin_work(PeriodicWork.EXPIRY, START)
    cadence.begin_pass(START).note_change().end_pass(START + 1).end_wait(is_woken=True)
    assert cadence == before
