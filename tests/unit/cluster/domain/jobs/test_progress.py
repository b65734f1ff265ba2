"""A running job's end follows from how fast it gets on, with the range that its pace leaves open."""

from datetime import timedelta
from typing import Any

import pytest

from cluster.domain.jobs.progress import (
    ProgressEstimate,
    ProgressReport,
    estimate_progress,
    has_changed_visibly,
    parse_progress_report,
)
from tests.unit.cluster.domain.placement.queue_simulation import BEGIN, at

NOW = BEGIN.timestamp()


def course(paces: list[float], epochs: float | None = 20.0) -> ProgressReport:
    """One mark per epoch, the last of them now; `paces` are the seconds that each took."""
    times = [NOW - sum(paces[done:]) for done in range(len(paces) + 1)]
    return ProgressReport(epochs, tuple((float(done), time) for done, time in enumerate(times)))


def test_a_steady_pace_tells_the_end_without_a_range() -> None:
    assert estimate_progress(course([60.0] * 10), BEGIN) == ProgressEstimate(0.5, at(600), at(600), at(600))


def test_the_first_epochs_may_have_compiled() -> None:
    found = estimate_progress(course([600.0, *[60.0] * 9]), BEGIN)
    assert found.ends_at == found.earliest_at == at(600)
    assert found.latest_at == at(1140)


def test_who_gets_faster_may_end_earlier() -> None:
    found = estimate_progress(course([60.0] * 16 + [30.0] * 6, 40.0), BEGIN)
    assert found.ends_at and found.earliest_at and found.latest_at
    assert found.earliest_at < found.ends_at < found.latest_at


@pytest.mark.parametrize(
    "known",
    [course([]), course([60.0], None), ProgressReport(20.0, ()), ProgressReport(20.0, ((1, 1), (1, 2)))],
)
def test_where_the_pace_or_the_way_is_not_known_no_end_is_told(known: ProgressReport) -> None:
    assert estimate_progress(known, BEGIN).ends_at is None


def test_an_end_lies_never_behind_and_never_beyond_all_years() -> None:
    late = ProgressReport(2.0, ((0.0, NOW - 900), (1.0, NOW - 800)))
    assert estimate_progress(late, BEGIN).ends_at == BEGIN
    slow = ProgressReport(1e18, ((0.0, NOW - 900), (1.0, NOW)))
    ends_at = estimate_progress(slow, BEGIN).ends_at
    assert ends_at and ends_at - BEGIN < timedelta(days=4000)


@pytest.mark.parametrize(
    "said",
    [
        None, [], {}, {"marks": None}, {"marks": [1]}, {"marks": [[1]]}, {"marks": [["1", 2]]}, {"marks": [{}]},
        {"marks": [[1, float("nan")]]}, {"marks": [[True, 1]]}, {"epochs": "many", "marks": []},
        {"marks": [[10**400, 1]]},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_nothing(said: Any) -> None:
    assert parse_progress_report(said) is None


def test_a_course_is_read_as_it_was_written() -> None:
    assert parse_progress_report({"epochs": 4, "marks": [[1, 10.5], [2, 20]]}) == ProgressReport(
        4.0, ((1.0, 10.5), (2.0, 20.0))
    )


def test_rows_are_written_for_news_only() -> None:
    known = ProgressEstimate(0.5, at(600), at(500), at(700))
    assert not has_changed_visibly(known, ProgressEstimate(0.505, at(620)), BEGIN)
    assert has_changed_visibly(known, ProgressEstimate(0.52, at(600)), BEGIN)
    assert has_changed_visibly(known, ProgressEstimate(0.5, at(640)), BEGIN)
    assert has_changed_visibly(known, ProgressEstimate(0.5, None), BEGIN)
    assert has_changed_visibly(ProgressEstimate(), ProgressEstimate(0.0, at(600)), BEGIN)
