"""Nothing expires because somebody set the clock (F15)."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.clock_jumps import ClockJumpDetector

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PAUSE = timedelta(seconds=10)


def watch(*looks: tuple[float, float]) -> ClockJumpDetector:
    """After looks at (wall, steady) seconds from noon and from zero."""
    seen = ClockJumpDetector(NOON, 0.0)
    for wall, steady in looks:
        seen = seen.observe(NOON + timedelta(seconds=wall), steady, PAUSE)
    return seen


@pytest.mark.parametrize("looks", [[(1, 1)], [(30, 1)], [(-29, 1)], [(3600, 3600)], [(1, 1), (600, 600)]])
def test_time_that_really_passed_is_no_jump(looks: list[tuple[float, float]]) -> None:
    seen = watch(*looks)
    assert seen.is_settled and not seen.jump


@pytest.mark.parametrize("set_to", [10 * 365 * 86400, 60, -3600])
def test_after_a_jump_expiry_rests_for_one_lease(set_to: float) -> None:
    jumped = watch((set_to, 1))
    assert not jumped.is_settled
    assert abs(jumped.jump - timedelta(seconds=set_to - 1)) < timedelta(seconds=1)
    assert not watch((set_to, 1), (set_to + 9, 10)).is_settled
    after = watch((set_to, 1), (set_to + 10, 11))
    assert after.is_settled and not after.jump


def test_a_clock_that_is_set_back_and_forth_rests_again_each_time() -> None:
    seen = watch((3600, 1), (3608, 9), (17, 18))
    assert not seen.is_settled
