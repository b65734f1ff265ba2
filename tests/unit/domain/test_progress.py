"""When a training will end, as far as its own words tell."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.progress import Mark, Progress, estimate

START = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def marks(*seconds: float) -> list[Mark]:
    return [Mark(epoch, at(second)) for epoch, second in enumerate(seconds, 1)]


def test_before_anything_is_logged_nothing_is_known() -> None:
    assert estimate([], 10, START, at(5)) == Progress(epochs=10)
    assert estimate([], None, None, at(5)) == Progress()


def test_a_time_limit_is_known_at_once() -> None:
    assert estimate([], 10, START, at(5), time_limit_seconds=60).ends_at == at(60)


def test_the_first_epoch_counts_while_it_is_the_only_one() -> None:
    found = estimate(marks(30), 10, START, at(31))
    assert (found.share, found.ends_at, found.seconds_per_epoch) == (0.1, at(300), 30)


def test_later_epochs_set_the_pace() -> None:
    found = estimate(marks(30, 32, 34, 40), 10, START, at(41))
    assert (found.epoch, found.share, found.seconds_per_epoch) == (4, 0.4, 2)
    assert found.ends_at == at(52)


def test_the_end_is_never_in_the_past_and_never_after_the_limit() -> None:
    assert estimate(marks(30, 32), 4, START, at(500)).ends_at == at(500)
    assert estimate(marks(30, 60), 100, START, at(61), time_limit_seconds=90).ends_at == at(90)


@pytest.mark.parametrize("epochs", [None, 0, 1])
def test_without_a_believable_total_there_is_no_share(epochs: float | None) -> None:
    found = estimate(marks(30, 32), epochs, START, at(33))
    assert (found.epoch, found.share, found.ends_at) == (2, None, None)


def test_nonsense_is_passed_over() -> None:
    said = [Mark(-1, at(1)), Mark(1, at(10)), Mark(1, at(11)), Mark(5, at(2)), Mark(2, at(20))]
    assert estimate(said, 4, START, at(21)).ends_at == at(40)


def test_without_a_start_one_mark_has_no_pace() -> None:
    found = estimate(marks(30), 10, None, at(31))
    assert (found.share, found.ends_at) == (0.1, None)
