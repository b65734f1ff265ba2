"""Each event has the people who are told of it."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.notifications.events import (
    WaitWindow,
    is_sweep_told,
    kind_of_job_end,
    term_step,
    wait_window,
)
from cluster.domain.states import JobState, NotificationKind

ENDED, FAILED = NotificationKind.JOB_ENDED, NotificationKind.JOB_FAILED
OWNER, OTHER = 7, 8
NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "stopped_by", "kind"),
    [
        (JobState.FINISHED, None, ENDED),
        (JobState.FINISHED, OWNER, ENDED),
        (JobState.FAILED, None, FAILED),
        (JobState.FAILED, OWNER, FAILED),
        (JobState.STOPPED, OTHER, ENDED),
        (JobState.STOPPED, None, ENDED),
        (JobState.STOPPED, OWNER, None),
        (JobState.WAITING, None, None),
        (JobState.RUNNING, None, None),
        (JobState.STOPPING, OTHER, None),
    ],
)
def test_the_end_of_a_job_is_told_unless_its_user_has_stopped_it(
    state: JobState, stopped_by: int | None, kind: NotificationKind | None
) -> None:
    assert kind_of_job_end(state, OWNER, stopped_by) is kind


@pytest.mark.parametrize(
    ("kinds", "failed", "is_stopped_by_user", "is_told"),
    [
        ({ENDED}, 0, False, True),
        ({ENDED}, 3, False, True),
        ({FAILED}, 0, False, False),
        ({FAILED}, 1, False, True),
        ({ENDED, FAILED}, 1, True, False),
        ({NotificationKind.TERM_ENDS}, 3, False, False),
    ],
)
def test_a_sweep_is_told_to_those_who_want_ends_or_its_failures(
    kinds: set[NotificationKind], failed: int, is_stopped_by_user: bool, is_told: bool
) -> None:
    counts = {JobState.FINISHED: 5, JobState.FAILED: failed}
    assert is_sweep_told(kinds, counts, is_stopped_by_user) is is_told


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("hours", "told_at", "told_until", "window"),
    [
        (4, None, None, WaitWindow(None, ago(4))),
        (4, ago(1), ago(5), None),
        (4, ago(4), ago(8), WaitWindow(ago(8), ago(4))),
        (4, ago(24), ago(28), WaitWindow(ago(28), ago(4))),
        # Another threshold since then: nothing is left out, and nothing is told twice.
        (1, ago(2), ago(6), WaitWindow(ago(6), ago(1))),
        (24, ago(25), ago(26), WaitWindow(ago(26), ago(24))),
        (24, ago(24), ago(20), None),
    ],
)
def test_a_wait_is_told_once_and_waits_together(
    hours: int, told_at: datetime | None, told_until: datetime | None, window: WaitWindow | None
) -> None:
    assert wait_window(hours, told_at, told_until, NOW) == window


@pytest.mark.parametrize(
    ("days_left", "step"), [(30, None), (15, None), (14, 14), (8, 14), (7, 7), (2, 7), (1, 1), (0, 1)]
)
def test_a_term_is_told_in_three_steps(days_left: int, step: int | None) -> None:
    assert term_step(days_left) == step
